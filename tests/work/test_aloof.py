"""A coroutine on an event loop of its own: its value, its errors, and an end when its caller is cancelled."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fairmark.work.aloof import Aloof


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def running() -> None:
        asyncio.run(test())

    return running


@in_a_loop
async def test_it_runs_in_another_thread_and_gives_its_value_or_raises() -> None:
    async def thread() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    async def wrong() -> None:
        raise ValueError("wrong")

    with ThreadPoolExecutor(1, "apart") as threads:
        assert (await Aloof(threads).run(thread)).startswith("apart")
        with pytest.raises(ValueError, match="wrong"):
            await Aloof(threads).run(wrong)


@in_a_loop
async def test_cancelled_here_it_puts_things_in_order_there_before_the_caller_goes_on() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with ThreadPoolExecutor(1) as threads:
        task = asyncio.create_task(Aloof(threads).run(work))
        assert await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()


@in_a_loop
async def test_cancelled_while_no_thread_is_free_it_never_begins() -> None:
    free, begun = threading.Event(), []

    async def work() -> None:
        begun.append(True)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(free.wait, 30)
        task = asyncio.create_task(Aloof(threads).run(work))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        free.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert begun == []
