"""A coroutine on an event loop and a thread of its own: for what does much that would hold ours."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class Aloof:
    """Runs one. Cancelled here, it is cancelled there, and waited for: it leaves what it does in order."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        there = asyncio.get_running_loop().run_in_executor(self._threads, self._run, work)
        try:
            return await asyncio.shield(there)
        except asyncio.CancelledError:
            self._is_cancelled = True
            if self._loop is not None and self._task is not None:
                with contextlib.suppress(RuntimeError):  # it has ended meanwhile
                    self._loop.call_soon_threadsafe(self._task.cancel)
            await asyncio.wait([there])
            with contextlib.suppress(BaseException):
                there.result()
            raise

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async def main() -> T:
            self._task = asyncio.current_task()
            self._loop = asyncio.get_running_loop()
            if self._is_cancelled:
                raise asyncio.CancelledError
            return await work()

        return asyncio.run(main())
