"""A look at the first rows of a data file, before a run of it: what is in them, and what of them will not do."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fairmark.data.dataset import DataFile, DataRow
from fairmark.errors import InvalidData
from fairmark.web.runs.mapping import ColumnMapping

ROWS_SHOWN = 5
ROWS_READ = 1_000
PROBLEMS_SHOWN = 5
COLUMNS_SHOWN = 12
COLUMNS_OFFERED = 200
UNMAPPED = ColumnMapping({})


class Missing(NamedTuple):
    """A field of the items that somebody needs, and that rows do not have."""

    field: str
    needed_by: tuple[str, ...]
    rows: int


class Preview(NamedTuple):
    rows: Sequence[DataRow]
    columns: Sequence[str]
    """The fields of the items, in the order in which they appear, the first of them."""
    more_columns: int
    rows_read: int
    is_all: bool
    """Whether those are all."""
    sampled: int
    """How many of them bring a model's answer."""
    problems: Sequence[str]
    """What cannot be read, the first of it. A run is not begun with such rows."""
    missing: Sequence[Missing]
    offered: Sequence[str]
    """The columns that a field can be taken from."""


def look(
    path: Path,
    name: str,
    needs: Sequence[tuple[str, Iterable[str]]],
    is_part: bool = False,
    mapped: ColumnMapping = UNMAPPED,
) -> Preview:
    """`name` is what the file is called, `needs` who needs which fields. Raises InvalidData for the whole file.

    `is_part`: the file is only the beginning of one, and its last row may be cut off. `mapped`: fields that are taken
    from columns of other names.
    """
    rows: list[DataRow] = []
    problems: list[str] = []
    all_rows = _rows(path, name, mapped)
    read = list(islice(all_rows, ROWS_READ + 1))
    is_all = len(read) <= ROWS_READ and not is_part
    read = read[:-1] if is_part or not is_all else read
    columns: dict[str, None] = {}
    absent: Counter[str] = Counter()
    needed = {field for _, fields in needs for field in fields}
    for row in read:
        if isinstance(row, InvalidData):
            problems.append(str(row))
            continue
        rows.append(row)
        columns.update(dict.fromkeys(map(str, row.item)))
        absent.update(field for field in needed if field not in row.item)
    missing = [
        Missing(field, tuple(who for who, fields in needs if field in fields), rows)
        for field, rows in sorted(absent.items())
    ]
    sampled = sum(row.sample is not None for row in rows)
    return Preview(
        rows[:ROWS_SHOWN],
        list(columns)[:COLUMNS_SHOWN],
        max(0, len(columns) - COLUMNS_SHOWN),
        len(read),
        is_all,
        sampled,
        problems[:PROBLEMS_SHOWN],
        missing,
        [column for column in columns if column not in mapped.fields or column in mapped.fields.values()][
            :COLUMNS_OFFERED
        ],
    )


def _rows(path: Path, name: str, mapped: ColumnMapping) -> Iterator[DataRow | InvalidData]:
    try:
        yield from DataFile(str(path), mapped.split, name)
    except InvalidData as error:
        raise InvalidData(str(error).removeprefix(f"{path}: ")) from None
