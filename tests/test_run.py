"""The road from rows to results: one, many, streamed; in order; and nothing a row does stops the rest."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

import fairmark
from fairmark.graders import KINDS
from fairmark.run import CHUNK_ROWS, ROWS_IN_FLIGHT
from tests import kinds

CHECK = {"type": "string_check", "input": "{{sample.output_text}}", "reference": "{{item.answer}}", "operation": "eq"}
WAITING = {"type": "waiting"}


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    with kinds.installed():
        yield


def rows(count: int) -> list[dict[str, Any]]:
    return [{"item": {"answer": str(i), "reward": i}, "sample": str(i - i % 2)} for i in range(count)]


def test_one_grade() -> None:
    result = fairmark.grade(CHECK, "Paris", {"answer": "Paris"})
    assert (result.reward, result.status, result.passed, result.error) == (1.0, "graded", True, None)
    assert 0 < result.execution_time < 10


@pytest.mark.parametrize("count", [0, 1, 2, CHUNK_ROWS - 1, 3 * CHUNK_ROWS + 7])
def test_many_rows_keep_their_order(count: int) -> None:
    results = fairmark.grade_many(CHECK, rows(count))
    assert [result.reward for result in results] == [float(i % 2 == 0) for i in range(count)]


def test_bad_rows_fail_alone_and_in_their_place() -> None:
    mixed: list[Any] = [
        {"item": {"answer": "a"}, "sample": "a"},
        "no row",
        {"item": {"answer": "a"}, "sample": 5},
        {"item": {1: 2}, "sample": object()},
        {"item": {"anser": "a"}, "sample": "a"},
        None,
        {"item": {"answer": "a"}, "sample": "a"},
    ]
    results = fairmark.grade_many(CHECK, mixed)
    assert [result.reward for result in results] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert [result.error for result in results] == [
        None,
        'row: expected an object, found a string ("no row").',
        "sample: expected a string or an object, found a number (5).",
        "sample: expected a string or an object, found a Python object.",
        '{{ item.answer }}: this item has no field "answer". It has: anser.',
        "row: expected an object, found null.",
        None,
    ]
    assert [result.errors["other_error"] for result in results] == [False, True, True, True, False, True, False]
    assert results[4].errors["invalid_variable_error"] is True


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RuntimeError("boom"), "internal error: RuntimeError: boom"),
        (RecursionError(), "the row is nested too deeply."),
        (MemoryError(), "the row needs more memory than there is."),
    ],
)
def test_a_grader_that_breaks_is_recorded_and_the_rest_goes_on(
    error: Exception, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = fairmark.grade_many({"type": "breaking"}, [{"item": {"error": error}}] * 2)
    assert (broken.reward, broken.status, broken.error) == (0.0, "error", text)
    assert broken.errors["other_error"] is True
    assert fine.error == text
    assert bool(caplog.records) is (type(error) is RuntimeError)  # our own fault is logged, with its place


def test_a_stream_takes_rows_as_it_goes() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        while True:
            taken += 1
            yield {"item": {"answer": "a"}, "sample": "a"}

    stream = fairmark.grade_stream(CHECK, endless())
    assert next(stream).reward == 1.0
    assert taken == 1
    for _ in range(5000):
        next(stream)
    assert taken <= 5001 + CHUNK_ROWS


def test_a_wrong_grader_is_told_at_once_not_at_the_first_row() -> None:
    with pytest.raises(fairmark.InvalidGrader):
        fairmark.grade_stream({"type": "no such"}, iter([]))


def test_a_failing_source_of_rows_raises_its_own_error() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield {"item": {"answer": "a"}, "sample": "a"}
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        fairmark.grade_many(CHECK, source())


def test_the_asynchronous_doors_give_the_same() -> None:
    async def both() -> None:
        assert (await fairmark.agrade(CHECK, "a", {"answer": "a"})).reward == 1.0
        many = await fairmark.agrade_many(CHECK, rows(600))
        assert [r.reward for r in many] == [r.reward for r in fairmark.grade_many(CHECK, rows(600))]

        async def asynchronously() -> AsyncIterator[dict[str, Any]]:
            for row in rows(600):
                yield row

        streamed = [r.reward async for r in fairmark.agrade_stream(CHECK, asynchronously())]
        assert streamed == [r.reward for r in many]

    asyncio.run(both())


def test_a_waiting_grader_works_through_the_synchronous_door_even_inside_a_running_loop() -> None:
    async def notebook() -> float:
        return fairmark.grade(WAITING, item={"reward": 0.25}).reward

    assert asyncio.run(notebook()) == 0.25
    assert fairmark.grade(WAITING, item={"reward": 0.5}).reward == 0.5


def test_waiting_rows_overlap_stay_in_order_and_are_bounded() -> None:
    count = ROWS_IN_FLIGHT + 200
    slow_first = [{"item": {"reward": i, "seconds": 0.5 if i == 0 else 0.2}} for i in range(count)]
    results = fairmark.grade_many(WAITING, slow_first)
    assert [result.reward for result in results] == list(range(count))
    assert 1 < kinds.Watch.most <= ROWS_IN_FLIGHT


def test_a_failure_while_waiting_is_recorded_on_its_row() -> None:
    results = fairmark.grade_many(WAITING, [{"item": {"fail": "gone"}}, {"item": {"reward": 1.0}}])
    assert [(result.reward, result.error) for result in results] == [(0.0, "gone"), (1.0, None)]


def test_leaving_a_stream_early_stops_what_is_under_way() -> None:
    async def leave() -> None:
        stream = fairmark.agrade_stream(WAITING, ({"item": {"seconds": 60 * (i > 0)}} for i in range(10)))
        await anext(stream)
        assert kinds.Watch.running > 0
        await stream.aclose()
        await asyncio.sleep(0)

    asyncio.run(leave())
    assert kinds.Watch.running == 0
    assert kinds.Watch.cancelled > 0


def test_the_components_of_a_multi_grader_wait_side_by_side() -> None:
    grader = {
        "type": "multi",
        "graders": {"a": {"type": "meeting"}, "b": {"type": "meeting"}},
        "calculate_output": "a+b",
    }
    assert fairmark.grade(grader).reward == 2.0


def test_warnings_of_a_row_stand_on_its_result() -> None:
    (result,) = fairmark.grade_many(CHECK, [{"item": {"answer": ""}}])
    assert result.reward == 1.0
    assert result.warnings == ("this row has no sample: sample.output_text is the empty text",)
    assert fairmark.grade(CHECK, "", {"answer": ""}).warnings == ()


def test_the_callers_garbage_collection_is_as_it_was_after_streams_that_overlap_or_end_early() -> None:
    rows = [{"item": {}, "sample": str(n)} for n in range(50)]
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    try:
        first, second = (fairmark.grade_stream({"type": "waiting"}, rows) for _ in range(2))
        next(first)
        next(second)
        assert gc.get_threshold() == (20_000, 11, 12)
        first.close()  # type: ignore[attr-defined]  # a generator
        assert gc.get_threshold() == (20_000, 11, 12)
        assert len(list(second)) == 49
        assert gc.get_threshold() == (701, 11, 12)
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("deadline_s", [0, -1, True, "5", float("nan"), float("inf")])
def test_a_deadline_that_is_none_is_refused_before_anything_runs(deadline_s: Any) -> None:
    with pytest.raises(ValueError, match=r"deadline_s: found .*\. It takes seconds, more than 0\."):
        fairmark.grade_many(CHECK, rows(1), deadline_s=deadline_s)


def test_what_is_not_graded_by_the_deadline_is_stopped_and_says_so() -> None:
    kinds.Watch.cancelled = 0
    given = [{"item": {"reward": 1.0}}] * 40 + [{"item": {"seconds": 3600}}] * 3
    results = fairmark.grade_many(WAITING, given, deadline_s=1)
    assert [result.status for result in results[:32]] == ["graded"] * 32
    assert {result.error for result in results[40:]} == {
        "not graded: the deadline of 1 s for the whole call has passed."
    }
    assert all(result.errors["unresponsive_reward_error"] for result in results[40:])
    assert kinds.Watch.running == 0
    assert kinds.Watch.cancelled == 3


def test_rows_that_come_after_the_deadline_are_not_begun() -> None:
    async def late() -> AsyncIterator[Any]:
        yield {"item": {"seconds": 3600}}
        await asyncio.sleep(0.2)
        yield {"item": {"answer": "1"}, "sample": "1"}

    async def grade(grader: dict[str, Any]) -> list[str]:
        return [result.status for result in await fairmark.agrade_many(grader, late(), deadline_s=0.1)]

    assert asyncio.run(grade(WAITING)) == ["error", "error"]
    assert asyncio.run(grade(CHECK)) == ["error", "error"]


def test_a_computation_without_end_is_killed_at_the_deadline() -> None:
    fuzzy = {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference}}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.5,
    }
    endless = {"item": {"reference": "ab" * 5_000_000}, "sample": "ba" * 5_000_000}
    easy = {"item": {"reference": "same"}, "sample": "same"}
    results = fairmark.grade_many(fuzzy, [easy, endless, easy], deadline_s=2)
    assert [result.status for result in results] == ["graded", "error", "error"]
    assert results[1].errors["unresponsive_reward_error"] is True


def test_with_time_enough_a_deadline_changes_nothing() -> None:
    assert [r.reward for r in fairmark.grade_many(CHECK, rows(100), deadline_s=100)] == [
        r.reward for r in fairmark.grade_many(CHECK, rows(100))
    ]


def test_with_a_deadline_few_rows_are_handed_over_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not done in time fails with those it was handed over with."""
    sizes: list[int] = []
    many = replace(KINDS["waiting"], rows_at_once=256)

    async def note(spec: Any, rows: Any, ctx: Any) -> Any:
        sizes.append(len(rows))
        assert many.batch is not None
        return await many.batch(spec, rows, ctx)

    monkeypatch.setitem(KINDS, "waiting", replace(many, batch=note))
    fairmark.grade_many(WAITING, rows(100), deadline_s=100)
    assert max(sizes) == 32
    sizes.clear()
    fairmark.grade_many(WAITING, rows(100))
    assert max(sizes) == 100


def test_rows_come_while_later_ones_of_the_same_stream_never_end() -> None:
    source = "import time\ndef grade(sample, item):\n    time.sleep(item['s'])\n    return 0.5\n"
    rows = [{"item": {"s": 0.0 if number < 64 else 600.0}, "sample": ""} for number in range(256)]
    stream = fairmark.grade_stream({"type": "python", "source": source}, rows)
    assert [result.reward for result in islice(stream, 64)] == [0.5] * 64
    stream.close()  # type: ignore[attr-defined]  # a generator
