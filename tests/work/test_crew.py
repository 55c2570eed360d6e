"""The crew: rows graded in other processes, fairly by owner, and killed when they take too long or nobody waits."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairmark.parse import parse
from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.work import crew as crews
from fairmark.work import eventloop
from fairmark.work.crew import Crew
from fairmark.work.process import NotSent, WorkerDied

FUZZY = parse(
    {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference}}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.5,
    }
)
EASY = {"item": {"reference": "one two"}, "sample": "one two"}
ENDLESS = {"item": {"reference": "ab" * 5_000_000}, "sample": "ba" * 5_000_000}
"""Hours of work for any computer."""


def workers() -> list[int]:
    """The processes that any of our threads has started."""
    return sorted(
        int(pid) for thread in Path("/proc/self/task").iterdir() for pid in (thread / "children").read_text().split()
    )


async def one(crew: Crew, owner: str, spec: GraderSpec, row: Any, timeout_s: float) -> Result:
    return (await crew.grade_all(owner, spec, [row], timeout_s))[0]


async def until(condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew(1)
    yield made
    eventloop.run(end(made))


async def end(crew: Crew) -> None:
    for worker, ending in list(crew._idle):
        ending.cancel()
        crew._end(worker)
    crew._threads.shutdown()


@asynccontextmanager
async def started(work: Any) -> AsyncIterator[asyncio.Task[Any]]:
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_a_worker_is_used_again_for_the_same_grader_and_for_others(crew: Crew) -> None:
    async def grade() -> None:
        exact = parse({"type": "string_check", "input": "a", "reference": "b", "operation": "eq"})
        assert (await one(crew, "a", FUZZY, EASY, 30)).reward == 1.0
        first = crew._idle[0][0]
        assert (await one(crew, "b", exact, EASY, 30)).reward == 0.0
        assert (await one(crew, "a", FUZZY, {"item": {}, "sample": "x"}, 30)).errors["invalid_variable_error"] is True
        assert [worker for worker, _ in crew._idle] == [first]

    asyncio.run(grade())


def test_what_takes_longer_than_it_may_is_killed_and_the_next_row_is_graded(crew: Crew) -> None:
    async def grade() -> None:
        with pytest.raises(TimeoutError):
            await one(crew, "a", FUZZY, ENDLESS, 0.5)
        assert (await one(crew, "a", FUZZY, EASY, 30)).reward == 1.0

    before = workers()
    asyncio.run(grade())
    assert len(workers()) == len(before) + 1  # the one that is idle; the killed one is gone


def test_who_stops_waiting_ends_the_work(crew: Crew) -> None:
    async def leave() -> None:
        async with started(one(crew, "a", FUZZY, ENDLESS, 100)):
            await until(lambda: crew._slots.holding == 1)
        await until(lambda: crew._slots.holding == 0)

    before = workers()
    asyncio.run(leave())
    assert workers() == before


def test_somebody_else_need_not_wait_for_one_who_holds_everything(crew: Crew) -> None:
    async def compete() -> None:
        async with started(one(crew, "heavy", FUZZY, ENDLESS, 100)), started(one(crew, "heavy", FUZZY, ENDLESS, 100)):
            await until(lambda: crew._slots.holding == 1)
            async with asyncio.timeout(60):
                assert (await one(crew, "light", FUZZY, EASY, 30)).reward == 1.0
            assert crew._slots.held("heavy") == 1

    asyncio.run(compete())


def test_a_worker_that_dies_is_told_and_replaced(crew: Crew) -> None:
    async def kill() -> None:
        await one(crew, "a", FUZZY, EASY, 30)
        crew._idle[0][0].kill()
        with pytest.raises(WorkerDied) as death:
            await one(crew, "a", FUZZY, EASY, 30)
        assert death.value.knew_grader
        assert (await one(crew, "a", FUZZY, EASY, 30)).reward == 1.0

    asyncio.run(kill())


def test_values_that_no_process_can_be_sent_are_told(crew: Crew) -> None:
    async def send() -> None:
        with pytest.raises(NotSent):
            await one(crew, "a", FUZZY, {"item": {"reference": "half \ud83d"}, "sample": "x"}, 30)
        assert (await one(crew, "a", FUZZY, EASY, 30)).reward == 1.0

    asyncio.run(send())


def test_workers_that_nobody_needs_end(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "IDLE_S", 0.01)
    before = workers()

    async def grade() -> None:
        await one(crew, "a", FUZZY, EASY, 30)
        await until(lambda: not crew._idle and workers() == before)

    asyncio.run(grade())


def test_many_rows_leave_no_process_and_no_descriptor_behind(crew: Crew) -> None:
    async def grade(count: int) -> None:
        await asyncio.gather(*(one(crew, str(row % 3), FUZZY, EASY, 30) for row in range(count)))

    asyncio.run(grade(5))
    processes, descriptors = len(workers()), len(list(Path("/proc/self/fd").iterdir()))
    asyncio.run(grade(200))
    assert (len(workers()), len(list(Path("/proc/self/fd").iterdir()))) == (processes, descriptors)


def test_rows_that_go_together_come_back_in_their_order_from_one_worker(crew: Crew) -> None:
    rows: list[Any] = [{"item": {"reference": str(number)}, "sample": str(number // 2)} for number in range(20)]
    graded = asyncio.run(crew.grade_all("a", FUZZY, rows, 30))
    assert [result.reward == 1.0 for result in graded] == [row["item"]["reference"] == row["sample"] for row in rows]
    assert len(crew._idle) == 1


def test_a_worker_that_knows_the_grader_is_asked_before_the_others() -> None:
    exact = parse({"type": "string_check", "input": "a", "reference": "b", "operation": "eq"})
    crew = Crew(2)

    async def grade() -> None:
        await asyncio.gather(one(crew, "a", FUZZY, EASY, 30), one(crew, "a", exact, EASY, 30))
        knowing = {spec: [worker for worker, _ in crew._idle if worker.knows(spec)] for spec in (FUZZY, exact)}
        assert [len(workers) for workers in knowing.values()] == [1, 1]
        for spec in (FUZZY, exact, FUZZY, FUZZY, exact):
            await one(crew, "a", spec, EASY, 30)
        assert knowing == {spec: [worker for worker, _ in crew._idle if worker.knows(spec)] for spec in (FUZZY, exact)}

    try:
        asyncio.run(grade())
    finally:
        eventloop.run(end(crew))
