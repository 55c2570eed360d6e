"""What needs an event loop. Imported only where a grader waits for something: asyncio costs 25 ms at every start.

Synchronous callers reach graders that wait through one loop in a thread of its own. It lives as long as the process,
so that connections and sandboxes behind it survive from call to call, and it works where the caller already runs a
loop, as notebooks do.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_pid = 0


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's value, for a synchronous caller. An interrupt here cancels it there."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _running_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def iterate(values: AsyncIterator[T]) -> Iterator[T]:
    """The values of an asynchronous generator, for a synchronous caller. Leaving early closes it."""

    async def step() -> tuple[T] | None:
        async for value in values:
            return (value,)
        return None

    try:
        while (found := run(step())) is not None:
            yield found[0]
    finally:
        close = getattr(values, "aclose", None)
        if close:
            run(close())


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The values of coroutines that run side by side, in their order."""
    return await asyncio.gather(*coroutines)


async def in_order(
    start: Callable[[S], Coroutine[Any, Any, T]], sources: Iterable[S] | AsyncIterable[S], at_once: int
) -> AsyncIterator[T]:
    """start(source) for each source, at most so many under way, the values in the order of the sources."""
    tasks: deque[asyncio.Task[T]] = deque()
    try:
        async for source in _each(sources):
            tasks.append(asyncio.create_task(start(source)))
            if len(tasks) >= at_once or tasks[0].done():
                yield await tasks.popleft()
        while tasks:
            yield await tasks.popleft()
    finally:
        for task in tasks:
            task.cancel()


async def give_way() -> None:
    """Let others on the loop have their turn."""
    await asyncio.sleep(0)


async def _each(sources: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(sources, AsyncIterable):
        async for source in sources:
            yield source
    else:
        for source in sources:
            yield source
            await give_way()


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _pid
    with _lock:
        # A forked child inherits the loop but not the thread that runs it.
        if _loop is None or _pid != os.getpid():
            _loop, _pid = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="fairmark-eventloop", daemon=True).start()
        return _loop
