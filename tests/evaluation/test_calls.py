"""A callable over all rows: of any sort, ten rows at once, and what one row does stops no other."""

import asyncio
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import pytest

import fairmark

Rows = list[dict[str, Any]]

DATA: Rows = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def evaluate(function: Callable[..., Any], data: Rows = DATA, **more: Any) -> dict[str, Any]:
    return fairmark.evaluate(data=data, evaluators={"e": function}, **more)


def outputs(result: dict[str, Any], name: str = "outputs.e.output") -> list[Any]:
    return [row[name] for row in result["rows"]]


class Point:
    """Called like a function, and a coroutine function at that."""

    async def __call__(self, *, q: str) -> str:
        await asyncio.sleep(0)
        return q


async def later(q: str) -> str:
    await asyncio.sleep(0)
    return q


FUNCTIONS: list[Callable[..., Any]] = [lambda q: q, later, Point(), lambda q: later(q)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_callable_may_be_of_any_sort_and_a_scalar_is_its_output(function: Callable[..., Any]) -> None:
    assert outputs(evaluate(function)) == ["a", "b", "c"]


@dataclasses.dataclass
class Verdict:
    score: int
    text: str


@pytest.mark.parametrize("value", [{"score": 2, "text": "t"}, Verdict(2, "t")])
def test_the_members_of_an_object_are_columns(value: Any) -> None:
    result = evaluate(lambda q: value)
    assert outputs(result, "outputs.e.score") == [2, 2, 2]
    assert outputs(result, "outputs.e.text") == ["t", "t", "t"]
    assert result["metrics"] == {"e.score": 2.0}


def test_after_a_failure_that_must_stop_no_row_is_begun() -> None:
    begun: list[int] = []

    async def fail(n: int) -> None:
        begun.append(n)
        await asyncio.sleep(0)
        raise ValueError

    with pytest.raises(fairmark.EvaluationFailed):
        evaluate(fail, [{"n": n} for n in range(100)], fail_on_evaluator_errors=True)
    assert sorted(begun) == list(range(10))


def test_a_cancelled_call_fails_its_row_alone() -> None:
    async def give_up(q: str) -> str:
        if q == "b":
            raise asyncio.CancelledError
        return q

    with pytest.warns(UserWarning, match="Row 2: RuntimeError: the call was cancelled"):
        assert outputs(evaluate(give_up))[::2] == ["a", "c"]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_ten_rows_are_under_way_at_once(asynchronous: bool) -> None:
    together = threading.Barrier(10)
    arrived: list[int] = []

    def meet(n: int) -> int:
        return together.wait(timeout=30) * 0 + n

    async def ameet(n: int) -> int:
        arrived.append(n)
        async with asyncio.timeout(30):
            while len(arrived) < 10:
                await asyncio.sleep(0)
        return n

    rows: Rows = [{"n": n} for n in range(10)]
    assert outputs(evaluate(ameet if asynchronous else meet, rows)) == list(range(10))


def test_all_rows_of_a_coroutine_function_share_one_loop_that_may_grade() -> None:
    loops = set()

    async def judge(q: str) -> float:
        loops.add(asyncio.get_running_loop())
        return fairmark.grade({"type": "python", "source": "def grade(sample, item): return 0.25"}, q).reward

    assert outputs(evaluate(judge)) == [0.25, 0.25, 0.25]
    assert len(loops) == 1


def test_it_works_where_a_loop_is_already_running() -> None:
    async def notebook() -> dict[str, Any]:
        return evaluate(later)

    assert outputs(asyncio.run(notebook())) == ["a", "b", "c"]
