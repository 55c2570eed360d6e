"""The loop in a thread of its own: for callers with and without one, and closed when they leave."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from fairmark.work import eventloop


async def numbers(count: int, closed: list[bool] | None = None) -> AsyncGenerator[int, None]:
    try:
        for number in range(count):
            yield number
    finally:
        if closed is not None:
            closed.append(True)


async def here() -> str:
    return threading.current_thread().name


def test_a_synchronous_caller_gets_the_value_and_the_error() -> None:
    async def fail() -> None:
        raise KeyError("this")

    assert eventloop.run(here()) == "fairmark-eventloop"
    with pytest.raises(KeyError, match="this"):
        eventloop.run(fail())


def test_it_works_where_a_loop_runs_already_as_in_a_notebook() -> None:
    async def cell() -> str:
        return eventloop.run(here())

    assert asyncio.run(cell()) == "fairmark-eventloop"


def test_long_lived_things_have_their_home_on_one_loop_whoever_calls() -> None:
    async def loop_id() -> int:
        return id(asyncio.get_running_loop())

    async def twice() -> tuple[int, int]:
        return await eventloop.on_own_loop(loop_id()), await eventloop.on_own_loop(loop_id())

    own = eventloop.run(loop_id())
    assert asyncio.run(twice()) == (own, own)
    assert eventloop.run(twice()) == (own, own)


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_a_generator_is_iterated_to_its_end(count: int) -> None:
    assert list(eventloop.iterate(numbers(count))) == list(range(count))


def test_leaving_early_closes_the_generator() -> None:
    closed: list[bool] = []
    iterator = eventloop.iterate(numbers(100_000, closed))
    assert [next(iterator), next(iterator)] == [0, 1]
    iterator.close()  # type: ignore[attr-defined]
    assert closed == [True]


def test_what_a_generator_raises_comes_after_all_its_values() -> None:
    async def breaks() -> AsyncGenerator[int, None]:
        yield 1
        yield 2
        raise OSError("gone")

    iterator = eventloop.iterate(breaks())
    assert [next(iterator), next(iterator)] == [1, 2]
    with pytest.raises(OSError, match="gone"):
        next(iterator)


def test_the_garbage_collector_is_as_before_when_the_last_stream_has_ended() -> None:
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 11)
    try:
        streams = [eventloop.iterate(numbers(10)) for _ in range(2)]
        for stream in streams:
            next(stream)
        streams[0].close()  # type: ignore[attr-defined]
        assert gc.get_threshold() == (20_000, 11, 11)
        streams[1].close()  # type: ignore[attr-defined]
        assert gc.get_threshold() == (701, 11, 11)
    finally:
        gc.set_threshold(*before)


def test_values_come_in_the_order_of_their_sources_with_so_many_under_way() -> None:
    running = most = 0

    async def start(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20 - number):  # the first takes longest
            await asyncio.sleep(0)
        running -= 1
        return number

    async def collect() -> list[int]:
        return [value async for value in eventloop.in_order(start, numbers(20), at_once=4)]

    assert asyncio.run(collect()) == list(range(20))
    assert most == 4


def test_nothing_is_left_under_way_when_the_reader_leaves() -> None:
    cancelled: list[int] = []

    async def start(number: int) -> int:
        if number == 0:
            return 0
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    async def leave() -> None:
        values = eventloop.in_order(start, numbers(4), at_once=4)
        assert await anext(values) == 0
        await values.aclose()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(leave())
    assert cancelled == [1, 2, 3]


def test_until_gives_the_value_in_time_and_ends_what_is_late() -> None:
    async def ask() -> list[Any]:
        found: list[Any] = [await eventloop.until(time.monotonic() + 60, here())]
        for moment in (time.monotonic() - 1, time.monotonic() + 0.01):
            try:
                await eventloop.until(moment, asyncio.Event().wait())
            except TimeoutError:
                found.append("late")
        return found

    assert asyncio.run(ask()) == ["MainThread", "late", "late"]


@pytest.mark.parametrize(
    ("growing", "sizes"),
    [(False, [4, 4, 2]), (True, [1, 2, 4, 3])],
)
def test_values_come_in_lists_growing_where_the_first_are_wanted_at_once(growing: bool, sizes: list[int]) -> None:
    async def collect(values: Any) -> list[list[int]]:
        return [chunk async for chunk in eventloop.chunks(values, 4, growing)]

    found = asyncio.run(collect(range(10)))
    assert ([len(chunk) for chunk in found], [value for chunk in found for value in chunk]) == (sizes, list(range(10)))
    assert asyncio.run(collect(numbers(3))) == [[0], [1], [2]]


def test_coroutines_together_give_their_values_in_order() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await eventloop.give_way()
        return turns

    async def run() -> list[int]:
        return await eventloop.together(after(turns) for turns in (3, 1, 2))

    assert asyncio.run(run()) == [3, 1, 2]


def test_an_interrupt_of_the_caller_cancels_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    class Interrupted:
        """A future whose waiting is interrupted, as by Ctrl-C."""

        def __init__(self, future: Any) -> None:
            self._future = future

        def result(self) -> None:
            eventloop_runs()
            raise KeyboardInterrupt

        def cancel(self) -> None:
            self._future.cancel()

    def eventloop_runs() -> None:
        asyncio_submit(eventloop.give_way(), eventloop._running_loop()).result()

    asyncio_submit = asyncio.run_coroutine_threadsafe
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", lambda *given: Interrupted(asyncio_submit(*given)))
    with pytest.raises(KeyboardInterrupt):
        eventloop.run(work())
    assert ended.wait(30)
