"""Rows of a run by their fields, rewards and outcomes together: which they are, in which order, how many."""

import math
import operator
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from fairmark import jsontext
from fairmark.errors import InvalidView
from fairmark.outcomes import GRADED, OUTCOMES
from fairmark.store.evals.facets import Value
from fairmark.store.views.columns import MISSING, TOO_LONG, Columns, FieldColumn
from fairmark.store.views.rows import View

Operation = Literal["is", "not", "has", "gt", "ge", "lt", "le", "missing", "there"]
OPERATIONS: dict[Operation, str] = {
    "is": "is",
    "not": "is not",
    "has": "contains",
    "gt": ">",
    "ge": "≥",
    "lt": "<",
    "le": "≤",
    "missing": "is missing",
    "there": "is there",
}


_COMPARE = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
ANY = -1
MOST_REMEMBERED = 64
"""What was worked out of a run's columns, and is asked for again with the next page."""


class FieldFilter(msgspec.Struct, frozen=True):
    """One thing asked of a field. Texts are compared as they are, but `has` takes large and small letters alike."""

    field: str
    operation: Operation
    value: str = ""


class ScoreRange(msgspec.Struct, frozen=True):
    """Rewards of one criterion from `low` to `high`, both included; what it could not grade is in no range."""

    criterion: int
    low: float
    high: float


class Choice(NamedTuple):
    """Which rows, and in which order. `view` is of a run's page; a text or a reason in it is not looked at."""

    view: View
    fields: tuple[FieldFilter, ...] = ()
    score: ScoreRange | None = None
    split: int | None = None
    """Only rows on which the judges of this criterion were not of one mind; ANY: those of any."""


def choose(columns: Columns, choice: Choice) -> Sequence[int]:
    """The indexes of the rows, in order. Raises InvalidView for a field that no row has, or that is too long."""
    if choice not in columns.remembered:
        if len(columns.remembered) > MOST_REMEMBERED:
            columns.remembered.clear()
        columns.remembered[choice] = array("I", _choose(columns, choice))
    indexes: Sequence[int] = columns.remembered[choice]
    return indexes


def _choose(columns: Columns, choice: Choice) -> list[int]:
    places: Sequence[int] = range(len(columns))
    view = choice.view
    if view.status is not None:
        wanted = OUTCOMES.index(view.status)
        places = [place for place in places if columns.status[place] == wanted]
    if view.criterion is not None and view.outcome is not None:
        outcomes, wanted = _of(columns.outcomes, view.criterion), OUTCOMES.index(view.outcome)
        places = [place for place in places if outcomes[place] == wanted] if outcomes else []
    if choice.score is not None:
        places = _in_range(columns, choice.score, places)
    if choice.split is not None:
        split = splits(columns, choice.split)
        places = [place for place in places if split[place]]
    for asked in choice.fields:
        column = columns.fields.get(asked.field)
        if column is None:
            raise InvalidView(f"No row of this run has a field {jsontext.quote(asked.field)}.")
        fits = _fitting(column, asked)
        places = [place for place in places if fits[column.codes[place]]]
    return _ordered(columns, view, places)


def splits(columns: Columns, criterion: int = ANY) -> Sequence[int]:
    """Of each row 1 where the judges of a criterion, or those of any, were not of one mind about it, and else 0."""
    if criterion != ANY:
        return columns.splits.get(criterion, bytes(len(columns)))
    whole = 0
    for split in columns.splits.values():
        whole |= int.from_bytes(split)
    return whole.to_bytes(len(columns))


def _of(columns: Sequence[Any], criterion: int) -> Any:
    return columns[criterion] if criterion < len(columns) else None


def _in_range(columns: Columns, score: ScoreRange, places: Sequence[int]) -> list[int]:
    outcomes, scores = _of(columns.outcomes, score.criterion), _of(columns.scores, score.criterion)
    if outcomes is None:
        return []
    low, high = score.low, score.high
    return [place for place in places if outcomes[place] in GRADED and low <= scores[place] <= high]


def _fitting(column: FieldColumn, asked: FieldFilter) -> list[bool]:
    """Of each value of the field whether it fits. Raises InvalidView."""
    if asked.operation in ("missing", "there"):
        is_there = asked.operation == "there"
        return [is_there == (code != MISSING) for code in range(len(column.values))]
    if column.has_long and asked.operation != "not":
        message = (
            f"{asked.field} holds long texts, or very many. Search for what you look for, in place of this filter."
        )
        raise InvalidView(message)
    fits = _comparison(asked)
    values = column.values
    # A long text is at least none of those that are asked for by `not`.
    return [False, asked.operation == "not", *(fits(value) for value in values[TOO_LONG + 1 :])]


def _comparison(asked: FieldFilter) -> Callable[[Value], bool]:
    if asked.operation in _COMPARE:
        limit = number_of(asked.value)
        if limit is None:
            raise InvalidView(f"{asked.field}: found {jsontext.quote(asked.value)}. It takes a number.")
        compare = _COMPARE[asked.operation]
        return lambda value: (number := number_of(value)) is not None and bool(compare(number, limit))
    if asked.operation == "has":
        wanted = asked.value.casefold()
        return lambda value: wanted in text_of(value).casefold()
    return lambda value: (text_of(value) == asked.value) == (asked.operation == "is")


def text_of(value: Value) -> str:
    """As people see it on the page."""
    return value if isinstance(value, str) else jsontext.write(value)


def number_of(value: Value) -> float | None:
    """A number, or a text that is one; "nan" is none, for it could not be ordered."""
    if isinstance(value, bool) or value is None or isinstance(value, list):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _ordered(columns: Columns, view: View, places: Sequence[int]) -> list[int]:
    idx = columns.idx
    if view.sort is None:
        return sorted((idx[place] for place in places), reverse=view.descending)
    outcomes, scores = _of(columns.outcomes, view.sort), _of(columns.scores, view.sort)
    if outcomes is None:
        return []
    graded = [place for place in places if outcomes[place] in GRADED]
    graded.sort(key=lambda place: (scores[place], idx[place]), reverse=view.descending)
    # What was not graded has no score to sort by, and comes last in both directions.
    others = sorted((outcomes[place], idx[place]) for place in places if outcomes[place] not in GRADED)
    return [idx[place] for place in graded] + [number for _, number in others]
