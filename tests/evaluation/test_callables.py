"""evaluate: callables of the user, as local evaluators and as targets; column mapping; their metrics."""

import asyncio
import dataclasses
import math
import threading
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


def mapped(**mapping: str) -> dict[str, Any]:
    return {"e": {"column_mapping": mapping}}


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


class Model:
    """A callable that can be dumped, as pydantic models with a `__call__` can; it is no grader."""

    def __call__(self, q: str) -> str:
        return q

    def model_dump(self) -> None:
        raise AssertionError("it must not be called")


def test_a_callable_that_can_be_dumped_is_no_grader() -> None:
    assert outputs(evaluate(Model())) == ["a", "b", "c"]


def test_arguments_are_the_columns_by_their_names() -> None:
    assert outputs(evaluate(lambda q, n=9, other=5: f"{q}{n}{other}")) == ["a15", "b25", "c35"]
    assert outputs(evaluate(lambda *some, **anything: [*some, *sorted(anything)])) == [["n", "q"]] * 3


def test_leaves_inside_objects_come_by_their_last_name_unless_a_column_has_it() -> None:
    rows: Rows = [{"q": "top", "o": {"q": "leaf", "i": {"x": 1}}}]
    assert outputs(evaluate(lambda q, x: [q, x], rows)) == [["top", 1]]


def test_a_mapping_of_its_own_names_columns_and_leaves_out_the_rest() -> None:
    function = lambda q, z, n=9, **more: [q, z, n, sorted(more)]  # noqa: E731
    result = evaluate(function, evaluator_config=mapped(z="${data.n}"))
    assert outputs(result) == [["a", 1, 9, []], ["b", 2, 9, []], ["c", 3, 9, []]]


def test_the_default_mapping_adds_to_the_columns() -> None:
    config = {"default": {"column_mapping": {"z": "${data.n}"}}, "e": {}}
    assert outputs(evaluate(lambda q, z, n: f"{q}{z}{n}", evaluator_config=config)) == ["a11", "b22", "c33"]


def test_a_mapping_reaches_into_objects_and_a_row_without_the_leaf_gets_nan() -> None:
    rows: Rows = [{"o": {"a": {"b": 1}}}, {"o": {"a": 5}}, {"o.a.b": 3}]
    found = outputs(evaluate(lambda x: x, rows, evaluator_config=mapped(x="${data.o.a.b}")))
    assert found[::2] == [1, 3]
    assert math.isnan(found[1])


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


def test_a_mapping_chooses_between_data_and_target() -> None:
    config = mapped(old="${data.n}", new="${target.n}", inner="${target.d.u}")
    result = evaluate(lambda old, new, inner: [old, new, inner], target=upper, evaluator_config=config)
    assert outputs(result) == [[1, 9, "a"], [2, 9, "b"], [3, 9, "c"]]


def test_a_mapping_of_its_own_does_not_hide_the_target() -> None:
    result = evaluate(lambda q, r="", n=0: f"{q}{r}{n}", target=upper, evaluator_config=mapped(n="${data.n}"))
    assert outputs(result) == ["aA1", "bB2", "cC3"]


def test_a_scalar_target_makes_the_column_output() -> None:
    result = evaluate(lambda output: output, target=later)
    assert outputs(result, "outputs.output") == outputs(result) == ["a", "b", "c"]


def test_graders_see_the_target_under_outputs_or_where_a_mapping_puts_it() -> None:
    mapping = {"b": {"column_mapping": {"ignored": "${target.r}"}}}
    bare = {"type": "string_check", "input": "{{item.r}}", "operation": "eq", "reference": "B"}
    dotted = {**bare, "input": '{{item["__outputs.r"]}}'}
    graders = {"a": {**UPPER, "reference": "b"}, "b": bare, "c": dotted, "d": {**bare, "input": "{{item.__outputs.r}}"}}
    result = fairmark.evaluate(data=DATA, target=upper, evaluators=graders, evaluator_config=mapping)
    assert [result["rows"][1][f"outputs.{label}.passed"] for label in "abcd"] == [True] * 4
    assert [result["rows"][0][f"outputs.{label}.passed"] for label in "abcd"] == [False] * 4
    first = result["rows"][0]
    assert (first["q"], first["line_number"], first["__outputs.r"], first["__outputs.d.u"]) == ("a", 0, "A", "a")


def test_a_mapping_renames_nothing_for_a_grader() -> None:
    grader = {"type": "string_check", "input": "{{item.alias}}", "operation": "eq", "reference": "a"}
    with pytest.warns(UserWarning, match='this item has no field "alias"'):
        fairmark.evaluate(data=DATA, evaluators={"e": grader}, evaluator_config=mapped(alias="${data.q}"))


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
