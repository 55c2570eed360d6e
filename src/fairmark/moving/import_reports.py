"""What came of an import, as it is kept and shown: bounded, and without the folders of the server."""

import dataclasses
from typing import Any

from fairmark.moving.files.notes import KINDS, FileReport
from fairmark.moving.import_requests import ImportRequest
from fairmark.moving.report import MovingReport

MOST = 500
"""Of each list: the rest is only counted."""
_LISTS = ("problems", "not_gradable", "decisions", "judges", "notes")


def file_report(report: MovingReport, converted: FileReport, filename: str) -> MovingReport:
    """The report of a file that was made into an archive: what is in it now, and what became of each part."""
    notes = [f"{words}: {note}" for kind, words in KINDS.items() for note in converted.of_kind(kind)]
    more = sum(converted.left_out.values())
    notes += [f"and {more:,} more of these"] if more else []
    starts = [f"{len(converted.starts)} runs can be started over its rows."] if converted.starts else []
    return dataclasses.replace(
        report, source=converted.format, base_url=filename, notes=[*notes, *starts, *report.notes]
    )


def stored(report: MovingReport, request: ImportRequest) -> dict[str, Any]:
    """As JSON values: no more than so many of each list, how many there are of each, and the aliases to paste."""
    kept = report.dump()
    kept["totals"] = {name: len(kept[name]) for name in _LISTS}
    for name in _LISTS:
        kept[name] = kept[name][:MOST]
    for command in ("go_on", "load", "stopped"):
        del kept[command]
    return {**kept, "archive": request.archive, "aliases": report.aliases()}
