"""Rows that were copied into a file of their run's own, because what they come from may change or go meanwhile.

A line is `{"item": {…}, "sample": …}`, beside which may stand `shown`, what the output item shows as its sample, and
`absent`, why there is none. `Store.row_files` keeps such files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairmark import jsontext, longjson
from fairmark.errors import InvalidSource
from fairmark.evals.source import Sampling, SourceRow, read_row


def copied_row(
    item: dict[str, Any], sample: Any, shown: dict[str, Any] | None = None, absent: str | None = None
) -> bytes:
    """A line of such a file, without its end. The fields are those of SourceRow."""
    row: dict[str, Any] = {"item": item, "sample": sample}
    if shown is not None:
        row["shown"] = shown
    if absent is not None:
        row["absent"] = absent
    return jsontext.encode(row)


class CopiedRows:
    """The rows of such a file, read line by line. With `sampling` their samples are got anew."""

    def __init__(self, path: Path, sampling: Sampling | None) -> None:
        self.path = path
        self.sampling = sampling

    def rows(self) -> Iterator[SourceRow]:
        """Raises InvalidSource where somebody took the file away."""
        try:
            with self.path.open("rb") as file:
                for position, line in enumerate(file):
                    row = read_row(line)
                    sample = longjson.whole(row["sample"])
                    yield SourceRow(position, row["item"], sample, row.get("shown"), row.get("absent"))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InvalidSource(".source", f"the run's own copy of its rows cannot be read: {reason}.") from None
