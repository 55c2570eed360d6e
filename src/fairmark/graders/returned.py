"""What the functions of another package's kind return, looked at before it is believed.

Ours are held by types and tests; nobody knows of others'. A reward that is no number must end on its row, as an error.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed
from fairmark.result import Grade
from fairmark.row import Row


def one(name: str, pure: Callable[[Any, Row, Context], Any]) -> Callable[[Any, Row, Context], Grade]:
    """The same function, which fails where it returns no grade."""

    def grade(spec: Any, row: Row, ctx: Context) -> Grade:
        return _grade(name, pure(spec, row, ctx))

    return grade


def many(
    name: str, batch: Callable[[Any, Sequence[Row], Context], Awaitable[Any]]
) -> Callable[[Any, Sequence[Row], Context], Awaitable[list[Grade]]]:
    """The same function, which fails where it does not return a list of one grade a row."""

    async def grade(spec: Any, rows: Sequence[Row], ctx: Context) -> list[Grade]:
        grades = await batch(spec, rows, ctx)
        if not isinstance(grades, list) or len(grades) != len(rows):
            shown = jsontext.describe(grades)
            raise GradingFailed(f"the kind {name} returned {shown}. It should be a list of {len(rows)} grades.")
        return [_alone(name, grade) for grade in grades]

    return grade


def _alone(name: str, grade: object) -> Grade:
    """A grade among others: what is wrong with it is no fault of theirs."""
    try:
        return _grade(name, grade)
    except GradingFailed as failure:
        return Grade.failed(failure)


def _grade(name: str, grade: object) -> Grade:
    if not isinstance(grade, Grade):
        raise GradingFailed(f"the kind {name} returned {jsontext.describe(grade)}. It should be a Grade.")
    reward: Any = grade.reward
    if not isinstance(reward, (int, float)) or not math.isfinite(reward):
        shown = jsontext.describe(reward)
        raise GradingFailed(f"the kind {name} returned a reward that is {shown}. It should be a finite number.")
    return grade if type(reward) is float else grade._replace(reward=float(reward))
