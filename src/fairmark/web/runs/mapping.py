"""Which column of a file is which field: rows whose fields have other names than criteria and prompts ask for.

A file that is mapped is written anew, as JSONL: the run's own rows then say what it graded.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.data.dataset import DataFile
from fairmark.errors import InvalidData
from fairmark.row import split_row
from fairmark.store.base.contents import NewContent

PREFIX = "map."
SAMPLE = "map_sample"


class ColumnMapping(NamedTuple):
    """Fields that are taken from columns of other names, and the column that holds the answers, if one is named."""

    fields: Mapping[str, str]
    sample: str = ""

    @property
    def is_plain(self) -> bool:
        return not self.fields and not self.sample

    def split(self, row: Any) -> tuple[Any, Any]:
        """The item and the sample of a data row. What a row does not have it lacks under its new name too."""
        item, sample = split_row(row)
        if self.is_plain or not isinstance(item, Mapping):
            return item, sample
        renamed = {field: item[column] for field, column in self.fields.items() if column in item}
        if self.sample:
            sample = _sample(item.get(self.sample))
        return {**item, **renamed}, sample


def read(form: Mapping[str, Any]) -> ColumnMapping:
    """As a form names them: `map.answer` is the column of the field answer."""
    fields = {
        name.removeprefix(PREFIX): value
        for name, value in form.items()
        if name.startswith(PREFIX) and isinstance(value, str) and value and value != name.removeprefix(PREFIX)
    }
    sample = form.get(SAMPLE)
    return ColumnMapping(fields, sample if isinstance(sample, str) else "")


def suggested(field: str, columns: list[str]) -> str:
    """The one column that differs by large letters or signs only; guesses beyond that would be wrong now and then."""
    same = [column for column in columns if _plain(column) == _plain(field)]
    return same[0] if len(same) == 1 and field not in columns else ""


def rewrite(path: Path, name: str, columns: ColumnMapping, content: NewContent) -> int:
    """Writes the file with its fields renamed. Returns how many bytes it has. Raises InvalidData for a row of it."""
    content.open()
    written = 0
    for line in _lines(path, name, columns):
        content.write(line)
        written += len(line)
    content.finish()
    return written


def _lines(path: Path, name: str, columns: ColumnMapping) -> Iterator[bytes]:
    for row in DataFile(str(path), columns.split, name):
        if isinstance(row, InvalidData):
            raise InvalidData(str(row).removeprefix(f"{path}: "))
        sample = {} if row.sample is None else {"sample": row.sample}
        yield jsontext.encode({"item": row.item, **sample}) + b"\n"


def _sample(value: Any) -> Any:
    """A number that is an answer is its text."""
    return value if value is None or isinstance(value, (str, Mapping, list)) else jsontext.encode(value).decode()


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
