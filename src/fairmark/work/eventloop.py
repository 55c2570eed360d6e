"""What needs an event loop. Imported only where a grader waits for something: asyncio costs 25 ms at every start.

Synchronous callers reach graders that wait through one loop in a thread of its own. It lives as long as the process,
so that connections and sandboxes behind it survive from call to call, and it works where the caller already runs a
loop, as notebooks do.
"""

import asyncio
import gc
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from fairmark.work.forks import ProcessLock

S = TypeVar("S")
T = TypeVar("T")

_lock = ProcessLock()
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


def call(function: Callable[[], object]) -> None:
    """Calls it on the loop, soon, for whoever does not wait for it."""
    _running_loop().call_soon_threadsafe(function)


def iterate(values: AsyncGenerator[T, None]) -> Iterator[T]:
    """The values of an asynchronous generator, for a synchronous caller. Leaving early closes it.

    The loop works ahead while the caller works, and hands over all it has at once: a way to another thread and back
    costs more than many a grade.
    """
    with _fewer_collections:
        ahead = run(_Ahead.start(values))
        try:
            while batch := run(ahead.take()):
                yield from batch
        finally:
            run(ahead.close())


class _FewerCollections:
    """While many rows are under way, Python looks for garbage in circles less often.

    Each row under way is some hundred living objects, which every look goes through in vain: a fifth of the time that
    thousands of questions to judges take. What the caller has set stands again when the last stream has ended.
    """

    OBJECTS = 20_000

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._streams = 0
        self._before = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._streams += 1
            if self._streams == 1:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < self.OBJECTS:  # 0 is never
                    gc.set_threshold(self.OBJECTS, *self._before[1:])

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._streams -= 1
            if self._streams == 0:
                gc.set_threshold(*self._before)


_fewer_collections = _FewerCollections()


class _Ahead:
    """A generator that is worked through ahead of its consumer, up to a limit. Lives on the loop."""

    MOST = 1024

    def __init__(self, values: AsyncGenerator[Any, None]) -> None:
        self._values = values
        self._found: list[Any] = []
        self._error: Exception | None = None
        self._ended = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task = asyncio.create_task(self._work())

    @classmethod
    async def start(cls, values: AsyncGenerator[Any, None]) -> "_Ahead":
        return cls(values)

    async def _work(self) -> None:
        try:
            async for value in self._values:
                self._found.append(value)
                self._news.set()
                if len(self._found) >= self.MOST:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:
            self._error = error
        finally:
            self._ended = True
            self._news.set()

    async def take(self) -> list[Any]:
        """All that was found since, at least one value; nothing when there is no more. Raises what the values raise."""
        while not self._found and not self._ended:
            self._news.clear()
            await self._news.wait()
        batch, self._found = self._found, []
        self._room.set()
        if not batch and self._error is not None:
            raise self._error
        return batch

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._values.aclose()


async def on_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's value, computed on the process's own loop, where long-lived things have their home."""
    own = _running_loop()
    if asyncio.get_running_loop() is own:
        return await coroutine
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, own))


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The values of coroutines that run side by side, in their order."""
    return await asyncio.gather(*coroutines)


async def in_order(
    start: Callable[[S], Coroutine[Any, Any, T]], sources: AsyncIterable[S], at_once: int | Callable[[], int]
) -> AsyncGenerator[T, None]:
    """start(source) for each source, at most so many under way, the values in the order of the sources.

    `at_once` may be asked anew for each source.
    """
    tasks: deque[asyncio.Task[T]] = deque()
    try:
        async for source in sources:
            tasks.append(asyncio.create_task(start(source)))
            while tasks and (tasks[0].done() or len(tasks) >= (at_once() if callable(at_once) else at_once)):
                yield await tasks.popleft()
        while tasks:
            yield await tasks.popleft()
    finally:
        for task in tasks:
            task.cancel()


async def give_way() -> None:
    """Let others on the loop have their turn."""
    await asyncio.sleep(0)


async def aside(functions: Iterable[Callable[[], object]]) -> None:
    """Calls them in a thread, one after the other."""
    for function in functions:
        await asyncio.to_thread(function)


async def until(moment: float, coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's value, or TimeoutError where it is not there by a moment of the monotonic clock."""
    left = moment - time.monotonic()
    if left <= 0:
        coroutine.close()
        raise TimeoutError
    async with asyncio.timeout(left):
        return await coroutine


async def chunks(values: Iterable[T] | AsyncIterable[T], size: int, growing: bool = False) -> AsyncIterator[list[T]]:
    """The values in lists of up to so many; `growing` from one on, so that the first come at once.

    An asynchronous source gives lists of one: it may pause at any time.
    """
    if isinstance(values, AsyncIterable):
        async for value in values:
            yield [value]
        return
    iterator = iter(values)
    count = 1 if growing else size
    while chunk := list(islice(iterator, count)):
        yield chunk
        await give_way()
        count = min(2 * count, size)


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _pid
    with _lock:
        # A forked child inherits the loop but not the thread that runs it.
        if _loop is None or _pid != os.getpid():
            _loop, _pid = _new_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="fairmark-eventloop", daemon=True).start()
        return _loop


def _new_loop() -> asyncio.AbstractEventLoop:
    """A fifth less work for each question to a judge, where uvloop is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
