"""Tasks of an event loop whose end is always seen to."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class LeavingTasks:
    """Begins tasks, and does what has to be done when one has ended, however it did.

    A `finally` inside a task is not enough: who cancels it before its first step keeps it from ever coming there.
    """

    def __init__(self) -> None:
        self._leaving: set[asyncio.Task[None]] = set()

    def begin(
        self, work: Coroutine[Any, Any, None], let_go: Callable[[], Coroutine[Any, Any, None]], name: str
    ) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(lambda _: self._leave(let_go))
        return task

    def _leave(self, let_go: Callable[[], Coroutine[Any, Any, None]]) -> None:
        leaving = asyncio.create_task(let_go())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def left(self) -> None:
        """Until all that has ended is let go."""
        await asyncio.gather(*self._leaving, return_exceptions=True)
