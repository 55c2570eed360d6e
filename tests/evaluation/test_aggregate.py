"""What the rows of a callable add up to: means, the share of passes, and its own word about all rows."""

import math
from collections.abc import Callable
from typing import Any

import pytest

import fairmark

Rows = list[dict[str, Any]]

DATA: Rows = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def evaluate(function: Callable[..., Any], data: Rows = DATA, **more: Any) -> dict[str, Any]:
    return fairmark.evaluate(data=data, evaluators={"e": function}, **more)


def test_means_leave_out_what_is_missing_and_columns_that_hold_text() -> None:
    def judge(n: int) -> dict[str, Any]:
        return {
            "some": n if n > 1 else None,
            "nan": float(n) if n > 1 else math.nan,
            "yes": n == 1,
            "mixed": n if n > 1 else "not applicable",
            "nothing": None,
            "huge": 10**400,
            "a_threshold": 3,
        }

    assert evaluate(judge)["metrics"] == {"e.some": 2.5, "e.nan": 2.5, "e.yes": pytest.approx(1 / 3)}


def test_the_share_of_passes_is_rounded_and_counts_all_rows() -> None:
    def judge(n: int) -> dict[str, Any]:
        return {"x_result": "pass" if n < 3 else "fail", "list_result": [n]}

    assert evaluate(judge)["metrics"] == {"e.binary_aggregate": 0.67}


class Aggregating:
    """A callable with a word of its own about all rows."""

    def __init__(self, row: Callable[[str], Any], all_rows: Callable[[list[Any]], Any]) -> None:
        self._row, self._all_rows = row, all_rows

    def __call__(self, *, q: str) -> Any:
        return self._row(q)

    def __aggregate__(self, rows: list[Any]) -> Any:
        return self._all_rows(rows)


def test_what_aggregate_returns_goes_before_the_means() -> None:
    scalars = Aggregating(len, lambda rows: {"total": sum(rows), "output": 99})
    assert evaluate(scalars)["metrics"] == {"e.output": 99, "e.total": 3}
    objects = Aggregating(lambda q: {"len": 1, "q": q}, lambda rows: {"all": "".join(row["q"] for row in rows)})
    assert evaluate(objects)["metrics"] == {"e.len": 1.0, "e.all": "abc"}


def test_an_aggregate_that_fails_costs_only_its_metrics() -> None:
    with pytest.warns(UserWarning, match="e: __aggregate__ raised ZeroDivisionError: division by zero"):
        assert evaluate(Aggregating(len, lambda rows: 1 / 0))["metrics"] == {"e.output": 1.0}
    with pytest.warns(UserWarning, match="e: __aggregate__ returned a int, not a dict"):
        assert evaluate(Aggregating(len, lambda rows: 5))["metrics"] == {"e.output": 1.0}
