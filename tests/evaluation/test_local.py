"""Callables of the user as target and as local evaluators: their columns, and the rows they fail on."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

import fairmark

Rows = list[dict[str, Any]]

DATA: Rows = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]

UPPER = {"type": "string_check", "input": "{{item.q}}", "operation": "eq", "reference": "{{item.__outputs.r}}"}


def evaluate(function: Callable[..., Any], data: Rows = DATA, **more: Any) -> dict[str, Any]:
    return fairmark.evaluate(data=data, evaluators={"e": function}, **more)


def outputs(result: dict[str, Any], name: str = "outputs.e.output") -> list[Any]:
    return [row[name] for row in result["rows"]]


async def later(q: str) -> str:
    await asyncio.sleep(0)
    return q


def test_a_raising_row_has_nan_and_the_others_go_on() -> None:
    def fail_on_b(q: str) -> dict[str, Any]:
        if q == "b":
            raise ValueError("no b, please")
        return {"i": 3, "ok": True, "s": "t", "x_result": "pass"}

    with pytest.warns(UserWarning, match=r"^e: 1 of 3 rows failed\. Row 2: ValueError: no b, please$"):
        result = evaluate(fail_on_b)
    assert [outputs(result, f"outputs.e.{name}")[0] for name in ("i", "ok", "s")] == [3, True, "t"]
    assert all(math.isnan(outputs(result, f"outputs.e.{name}")[1]) for name in ("i", "ok", "s"))
    assert result["metrics"] == {"e.i": 3.0, "e.ok": 1.0, "e.binary_aggregate": 0.67}
    with pytest.raises(fairmark.EvaluationFailed, match=r"^e: Row 2: ValueError: no b, please$") as caught:
        evaluate(fail_on_b, fail_on_evaluator_errors=True)
    assert isinstance(caught.value.__cause__, ValueError)


def upper(q: str, n: int = 9, **more: Any) -> dict[str, Any]:
    return {"r": q.upper(), "n": n, "more": sorted(more), "d": {"u": q}}


def test_a_target_gets_what_it_requires_and_adds_columns() -> None:
    result = evaluate(lambda q, r, n, **more: [q, r, n, sorted(more)], target=upper)
    assert result["rows"][1] == {
        "inputs.q": "b",
        "inputs.n": 2,
        "inputs.line_number": 1,
        "outputs.r": "B",
        "outputs.n": 9,
        "outputs.more": [],
        "outputs.d": {"u": "b"},
        "outputs.d.u": "b",
        "outputs.e.output": ["b", "B", 9, ["d", "line_number", "more"]],
    }


def test_a_scalar_target_makes_the_column_output() -> None:
    result = evaluate(lambda output: output, target=later)
    assert outputs(result, "outputs.output") == outputs(result) == ["a", "b", "c"]


def test_a_row_that_the_target_fails_on_is_left_without_its_columns() -> None:
    def fail_on_b(q: str) -> dict[str, str]:
        if q == "b":
            raise ValueError("no b")
        return {"r": q}

    with pytest.warns(UserWarning, match="1 of 3 rows") as warned:
        result = fairmark.evaluate(data=DATA, target=fail_on_b, evaluators={"e": lambda r: r == r, "g": UPPER})
    assert [str(each.message).partition(". ")[0] for each in warned] == [
        "target: 1 of 3 rows failed",
        "g: 1 of 3 rows could not be graded",
    ]
    assert math.isnan(outputs(result, "outputs.r")[1])
    assert outputs(result) == [True, False, True]
    assert outputs(result, "outputs.g.passed") == [True, False, True]


def test_a_target_that_fails_on_every_row_is_an_error() -> None:
    with pytest.raises(fairmark.EvaluationFailed, match=r"^target: it failed on every row\. Row 1: ZeroDivisionError:"):
        evaluate(lambda q: q, target=lambda n: 1 / 0)
