"""Single rows that go on together."""

import asyncio
import multiprocessing
import threading
from typing import Any

import pytest

from fairmark import FakeJudge, run
from fairmark.errors import TookTooLong
from fairmark.registry.specify import specify
from fairmark.result import Grade, Result
from fairmark.trainers import gather
from fairmark.trainers.gather import CallOfThread, Gatherer
from fairmark.work import eventloop

EXACT = specify(
    {"type": "string_check", "name": "exact", "operation": "eq", "input": "{{sample.output_text}}", "reference": "x"}
)
CODE = specify({"type": "python", "name": "code", "source": "def grade(sample, item):\n    return item['n']\n"})


def count_batches(monkeypatch: Any) -> list[int]:
    sizes: list[int] = []
    plain = run.agrade_many

    async def counted(spec: Any, rows: Any, **more: Any) -> Any:
        sizes.append(len(rows))
        return await plain(spec, rows, **more)

    monkeypatch.setattr(gather, "agrade_many", counted)
    return sizes


def test_calls_that_come_together_are_graded_together(monkeypatch: Any) -> None:
    sizes = count_batches(monkeypatch)
    gatherer = Gatherer(CODE, 60)

    async def ask() -> list[float]:
        results = await asyncio.gather(*(gatherer.agrade({"item": {"n": n}, "sample": ""}) for n in range(300)))
        return [result.reward for result in results]

    assert asyncio.run(ask()) == [float(n) for n in range(300)]
    assert sum(sizes) == 300
    assert len(sizes) < 100


def test_a_lone_call_goes_at_once(monkeypatch: Any) -> None:
    monkeypatch.setattr(gather, "WAIT_S", 3600)
    gatherer = Gatherer(EXACT, 60)
    assert [gatherer.grade({"item": {}, "sample": "x"}).reward for _ in range(3)] == [1.0] * 3


def test_those_who_were_answered_together_go_together_again(monkeypatch: Any) -> None:
    """However they come back: threads do one after the other."""
    monkeypatch.setattr(gather, "WAIT_S", 3600)
    sizes = count_batches(monkeypatch)
    gatherer = Gatherer(EXACT, 60)

    async def ask_twice(n: int) -> None:
        for pauses in (0, n):
            for _ in range(pauses):
                await asyncio.sleep(0)
            await gatherer.agrade({"item": {}, "sample": "x"})

    async def ask() -> None:
        await asyncio.gather(*map(ask_twice, range(8)))

    eventloop.run(ask())
    assert sizes == [8, 8]


def test_those_who_waited_meanwhile_go_together_with_those_who_were_answered(monkeypatch: Any) -> None:
    monkeypatch.setattr(gather, "WAIT_S", 5)
    sizes = count_batches(monkeypatch)
    counted = gather.agrade_many  # type: ignore[attr-defined]  # not a name that others take from there
    gatherer = Gatherer(EXACT, 60)

    async def only_when_others_wait(spec: Any, rows: Any, **more: Any) -> Any:
        while not sizes and len(gatherer._waiting) < 3:
            await asyncio.sleep(0)
        return await counted(spec, rows, **more)

    monkeypatch.setattr(gather, "agrade_many", only_when_others_wait)

    async def ask(times: int) -> None:
        for _ in range(times):
            await gatherer.agrade({"item": {}, "sample": "x"})

    async def ask_all() -> None:
        first = asyncio.create_task(ask(2))
        while not gatherer._under_way:
            await asyncio.sleep(0)
        await asyncio.gather(first, *(ask(1) for _ in range(3)))

    eventloop.run(ask_all())
    assert sizes == [1, 4]


def test_nobody_waits_for_long_for_those_who_do_not_come_again(monkeypatch: Any) -> None:
    sizes = count_batches(monkeypatch)
    gatherer = Gatherer(EXACT, 60)

    async def ask(count: int) -> None:
        await asyncio.gather(*(gatherer.agrade({"item": {}, "sample": "x"}) for _ in range(count)))

    for count in (4, 1, 1):
        eventloop.run(ask(count))
    assert sizes == [4, 1, 1]


def test_threads_share_a_batch() -> None:
    gatherer = Gatherer(CODE, 60)
    rewards: dict[int, float] = {}

    def ask(n: int) -> None:
        rewards[n] = gatherer.grade({"item": {"n": n}, "sample": ""}).reward

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert rewards == {n: float(n) for n in range(32)}


def test_who_is_cancelled_leaves_the_others_alone() -> None:
    gatherer = Gatherer(CODE, 60)

    async def ask() -> float:
        first = asyncio.create_task(gatherer.agrade({"item": {"n": 1}, "sample": ""}))
        second = asyncio.create_task(gatherer.agrade({"item": {"n": 2}, "sample": ""}))
        await asyncio.sleep(0)
        first.cancel()
        return (await second).reward

    assert asyncio.run(ask()) == 2.0


def test_a_slow_row_holds_up_no_other(monkeypatch: Any) -> None:
    """The first batch ends only once another has begun."""
    plain = run.agrade_many
    second_began = threading.Event()
    begun: list[int] = []

    async def graded(spec: Any, rows: Any, **more: Any) -> Any:
        begun.append(len(rows))
        if len(begun) == 1:
            await asyncio.to_thread(second_began.wait, 60)
        else:
            second_began.set()
        return await plain(spec, rows, **more)

    monkeypatch.setattr(gather, "agrade_many", graded)
    gatherer = Gatherer(EXACT, 60)

    async def ask() -> list[float]:
        first = asyncio.create_task(gatherer.agrade({"item": {}, "sample": "x"}))
        while not begun:
            await asyncio.sleep(0)
        results = await asyncio.gather(first, *(gatherer.agrade({"item": {}, "sample": "y"}) for _ in range(3)))
        return [result.reward for result in results]

    assert asyncio.run(ask()) == [1.0, 0.0, 0.0, 0.0]


def test_a_question_that_takes_long_holds_up_no_other_that_came_with_it() -> None:
    """The judge answers the first question only once the second is answered."""
    second_answered = threading.Event()

    class Slow(FakeJudge):
        async def ask(self, questions: Any, budget: Any) -> Any:
            if "slow" in str(questions):
                await asyncio.to_thread(second_answered.wait, 60)
            return await super().ask(questions, budget)

    judged = specify(
        {"type": "score_model", "name": "tone", "model": "judge", "input": [{"role": "user", "content": "{{item.q}}"}]}
    )
    gatherer = Gatherer(judged, 60, Slow([0.5] * 2))

    gatherer._woken = True  # nobody looks until both are there
    slow, quick = (gatherer._put(CallOfThread({"item": {"q": word}, "sample": ""})) for word in ("slow", "quick"))
    eventloop.call(gatherer._look)
    try:
        assert quick.wait(30).reward == 0.5
    finally:
        second_answered.set()
    assert slow.wait(30).reward == 0.5


def test_a_row_that_never_ends_goes_on_alone(monkeypatch: Any) -> None:
    """Those that came with it are answered, while it has its whole deadline."""
    monkeypatch.setattr(gather, "COMPANY_S", 1.0)
    sizes = count_batches(monkeypatch)
    source = "def grade(sample, item):\n    while item['loops']:\n        pass\n    return 1.0\n"
    gatherer = Gatherer(specify({"type": "python", "name": "code", "source": source}), 6)
    gatherer._woken = True  # nobody looks until all are there
    looping, *others = (gatherer._put(CallOfThread({"item": {"loops": n == 0}, "sample": ""})) for n in range(8))
    eventloop.call(gatherer._look)
    assert [call.wait(60).reward for call in others] == [1.0] * 7
    assert looping.wait(60).status == "error"
    assert sizes[0] == 8
    assert 1 in sizes[1:]


def test_half_of_a_short_deadline_is_left_to_those_who_were_held_up(monkeypatch: Any) -> None:
    """In company the first row takes all that it may; alone, each has what is left."""
    allowed: list[tuple[int, float]] = []
    plain = run.agrade_many

    async def graded(spec: Any, rows: Any, deadline_s: float, **more: Any) -> Any:
        allowed.append((len(rows), deadline_s))
        if len(rows) == 1:
            return await plain(spec, rows, deadline_s=deadline_s, **more)
        return [Result(spec, Grade.failed(TookTooLong("held up")), 0.0) for _ in rows]

    monkeypatch.setattr(gather, "agrade_many", graded)
    gatherer = Gatherer(CODE, 1.5)
    gatherer._woken = True  # nobody looks until both are there
    calls = [gatherer._put(CallOfThread({"item": {"n": n}, "sample": ""})) for n in range(2)]
    eventloop.call(gatherer._look)
    results = [call.wait(60) for call in calls]
    assert [(result.reward, result.status) for result in results] == [(0.0, "graded"), (1.0, "graded")]
    assert allowed[0] == (2, 0.75)
    assert [rows for rows, _ in allowed] == [2, 1, 1]


def test_what_breaks_the_grading_fails_its_rows_and_nobody_waits(monkeypatch: Any) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise OSError("no more files")

    monkeypatch.setattr(gather, "agrade_many", broken)
    result = Gatherer(EXACT, 60).grade({"item": {}, "sample": "x"})
    assert (result.status, result.error) == ("error", "not graded: OSError: no more files")


def test_a_forked_child_grades_whatever_was_under_way() -> None:
    gatherer = Gatherer(EXACT, 60)
    gatherer.grade({"item": {}, "sample": "x"})
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    child = context.Process(target=lambda: told.put(gatherer.grade({"item": {}, "sample": "x"}).reward))
    with gatherer._lock, eventloop._lock:
        child.start()
    child.join(60)
    try:
        assert (child.exitcode, told.get() if child.exitcode == 0 else None) == (0, 1.0)
    finally:
        child.kill()
        child.join()


def test_a_loop_that_was_closed_meanwhile_holds_up_nobody(monkeypatch: Any) -> None:
    plain = run.agrade_many
    closed = threading.Event()

    async def graded(spec: Any, rows: Any, **more: Any) -> Any:
        await asyncio.to_thread(closed.wait, 60)
        return await plain(spec, rows, **more)

    monkeypatch.setattr(gather, "agrade_many", graded)
    gatherer = Gatherer(EXACT, 60)
    loop = asyncio.new_event_loop()
    gatherer._woken = True  # nobody looks until both are there
    task = loop.create_task(gatherer.agrade({"item": {}, "sample": "x"}))
    loop.run_until_complete(asyncio.sleep(0))
    still = gatherer._put(CallOfThread({"item": {}, "sample": "x"}))
    eventloop.call(gatherer._look)
    task.cancel()
    loop.close()
    closed.set()
    assert still.wait(30).reward == 1.0


def test_who_waits_no_longer_is_told() -> None:
    with pytest.raises(TimeoutError):
        CallOfThread({}).wait(0.01)
