"""A file that the service does not give, made of the output items of a run over it.

The rows are those that the run has read, in their order. Marked `rebuilt` where the run came to its end and none of its
rows is an error, else `partial`: rows may be missing.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from fairmark import jsontext
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.pull.pages import Unreadable, read_head

Mark = Literal["rebuilt", "partial"]
FILES = "files.jsonl"


class _Row(NamedTuple):
    number: int
    begin: int
    length: int


def rebuild(archive: Archive, file_id: str, run_ids: Sequence[str]) -> Mark | None:
    """The file's content in its place and its mark in the list of files; None where no run has any items."""
    best: tuple[tuple[bool, int], str, list[_Row]] | None = None
    for run_id in run_ids:
        rows = _rows(archive, run_id)
        rank = (_is_whole(archive, run_id, len(rows)), len(rows))
        if rows and (best is None or rank > best[0]):
            best = (rank, run_id, rows)
    if best is None:
        return None
    (is_whole, _), run_id, rows = best
    mark: Mark = "rebuilt" if is_whole else "partial"
    size = _write_rows(archive, file_id, run_id, rows)
    _write_mark(archive, file_id, {"mark": mark, "run_id": run_id, "rows": len(rows), "bytes": size})
    return mark


def _is_whole(archive: Archive, run_id: str, rows: int) -> bool:
    try:
        run = read_head(archive.read(part_name("runs", run_id, ".json")) or b"")
    except Unreadable:
        return False
    counts: Any = run.result_counts if isinstance(run.result_counts, dict) else {}
    return bool(run.status == "completed" and counts.get("errored") == 0 and counts.get("total") == rows)


class _Item(msgspec.Struct):
    datasource_item_id: Any = None
    datasource_item: msgspec.Raw = msgspec.Raw(b"null")


def _item(line: bytes) -> tuple[Any, bytes]:
    """(the row's number, the row)"""
    try:
        item = msgspec.json.decode(line, type=_Item)
        return item.datasource_item_id, bytes(item.datasource_item)
    except (msgspec.MsgspecError, RecursionError):
        value = jsontext.decode(line)
        if not isinstance(value, dict):
            return None, b"null"
        return value.get("datasource_item_id"), jsontext.encode(value.get("datasource_item"))


def _rows(archive: Archive, run_id: str) -> list[_Row]:
    """Where the items of a run are, in the order of the rows; of two about the same row the last."""
    rows: dict[int, _Row] = {}
    begin = 0
    try:
        with archive.path(part_name("items", run_id, ".jsonl")).open("rb") as file:
            for line in file:
                index, row = _item(line) if line.strip() else (None, b"null")
                if isinstance(index, int) and row != b"null":
                    rows[index] = _Row(index, begin, len(line))
                begin += len(line)
    except (FileNotFoundError, jsontext.NotJson):
        return []
    return [rows[index] for index in sorted(rows)]


def _write_rows(archive: Archive, file_id: str, run_id: str, rows: Sequence[_Row]) -> int:
    items = archive.path(part_name("items", run_id, ".jsonl"))
    with items.open("rb") as file, archive.writing(part_name("files", file_id)) as out:
        for row in rows:
            file.seek(row.begin)
            out.write(b'{"item": ' + _item(file.read(row.length))[1] + b"}\n")
        return out.tell()


def _write_mark(archive: Archive, file_id: str, mark: dict[str, Any]) -> None:
    """Beside what the service said of the file, or alone where it said nothing."""
    with archive.writing(FILES) as out:
        is_there = False
        for line in archive.lines(FILES):
            if read_head(line).id == file_id:
                is_there = True
                file = jsontext.decode(line)
                line = jsontext.encode({**file, "rebuilt": mark})
            out.write(line + b"\n")
        if not is_there:
            out.write(jsontext.encode(_stand_in(archive, file_id, mark)) + b"\n")


def _stand_in(archive: Archive, file_id: str, mark: dict[str, Any]) -> dict[str, Any]:
    """A file's object where the service has none: as old as the run that read it."""
    run = read_head(archive.read(part_name("runs", mark["run_id"], ".json")) or b"{}")
    return {
        "object": "file",
        "id": file_id,
        "bytes": mark["bytes"],
        "created_at": int(run.time),
        "filename": f"{file_id}.jsonl",
        "purpose": "evals",
        "status": "processed",
        "rebuilt": mark,
    }
