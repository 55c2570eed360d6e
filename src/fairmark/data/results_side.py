"""A results file of `fairmark eval` as one side of a comparison."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fairmark.data.comparison import Side
from fairmark.data.pairing import Column
from fairmark.data.results import StoredResult, no_result_line, read_lines
from fairmark.data.tally import Graded
from fairmark.errors import InvalidData
from fairmark.outcomes import ERROR, FAIL, PASS, SKIP
from fairmark.row import hash_item

DEFAULT_THRESHOLD = 0.5
"""Of a grader that has none: as an eval has it, which always says pass or fail."""


class _Line(msgspec.Struct):
    row: int
    results: dict[str, StoredResult]
    graders: str | None = None
    item: Any = None


def read_side(path: str) -> Side:
    """Raises InvalidData, with the line."""
    side = Side(path)
    decoder = msgspec.json.Decoder(_Line)
    for number, line in read_lines(path):
        try:
            read = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            if not line.endswith(b"\n"):  # of a run that was killed
                break
            raise no_result_line(path, number) from None
        side.mark = read.graders if number == 1 or side.mark == read.graders else None
        add_row(side, read.row, read.item, read.results)
    if not side.columns:
        raise InvalidData(f"{path}: there are no rows in it.")
    return side


def add_line(side: Side, line: bytes) -> None:
    """A line that was read before, and is one."""
    read = msgspec.json.decode(line, type=_Line)
    add_row(side, read.row, read.item, read.results)


def add_row(side: Side, number: int, item: Any, results: Mapping[str, Graded]) -> None:
    """What graders made of a row, by its number from 1; `results` are fresh ones, or read back from a file."""
    item_hash = hash_item(item if isinstance(item, dict) else {})
    side.warned.add({text: None for result in results.values() for text in result.row_warnings})
    for label, result in results.items():
        column = side.columns.get(label)
        if column is None:
            column = side.columns[label] = Column()
        column.add(number - 1, item_hash, _outcome(side, label, result), result.reward)
        for judgement in result.judgements:
            if judgement.cost is not None:
                side.cost = (side.cost or 0.0) + judgement.cost


def _outcome(side: Side, label: str, result: Graded) -> int:
    if result.error is not None:
        return ERROR
    if result.skipped is not None:
        return SKIP
    passed = result.passed
    if passed is None:
        side.without_threshold.add(label)
        passed = result.reward >= DEFAULT_THRESHOLD
    return PASS if passed else FAIL
