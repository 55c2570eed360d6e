"""A callable of the user, asked about every row. It runs in this process, on several rows at once."""

import asyncio
import contextvars
import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

AT_ONCE = 10
"""Rows under way at once: what they wait for is mostly a model somewhere."""

Outcome = dict[str, Any] | Exception
"""What a callable made of a row, by column, or what it raised."""


class Calls:
    """One callable over all rows; `arguments(index)` gives what it is called with."""

    def __init__(
        self, function: Callable[..., Any], arguments: Callable[[int], dict[str, Any]], count: int, *, strict: bool
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._outcomes: list[Outcome] = [{}] * count
        self._strict = strict
        self._failed = False
        self._stopped = False

    def run(self) -> list[Outcome]:
        """The outcomes in the order of the rows. If `strict`, no row is begun once one has failed."""
        context = contextvars.copy_context()
        threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fairmark-evaluate")
        try:
            if _is_asynchronous(self._function):
                # One loop for all rows, because clients belong to the loop they were first used on. Not the engine's
                # own: a coroutine that calls fairmark.grade would wait for itself there.
                work = [threads.submit(context.run, asyncio.run, self._work_together())]
            else:
                work = [threads.submit(context.copy().run, self._work, first) for first in range(AT_ONCE)]
            for task in work:
                task.result()
        finally:
            self._stopped = True  # after an interrupt no row is begun
            threads.shutdown(wait=False)
        return self._outcomes

    def _work(self, first: int) -> None:
        """Every tenth row, from this one on."""
        for index in range(first, len(self._outcomes), AT_ONCE):
            if self._stopped:
                return
            try:
                value = self._function(**self._arguments(index))
                self._outcomes[index] = _columns(asyncio.run(_value(value)) if inspect.isawaitable(value) else value)
            except Exception as error:
                self._fail(index, error)

    async def _work_together(self) -> None:
        await asyncio.gather(*map(self._work_waiting, range(AT_ONCE)))

    async def _work_waiting(self, first: int) -> None:
        for index in range(first, len(self._outcomes), AT_ONCE):
            if self._stopped:
                return
            try:
                self._outcomes[index] = _columns(await self._function(**self._arguments(index)))
            except Exception as error:
                self._fail(index, error)
            except asyncio.CancelledError:  # something inside gave up; nobody here cancels
                self._fail(index, RuntimeError("the call was cancelled"))

    def _fail(self, index: int, error: Exception) -> None:
        # A traceback keeps alive all that its frames hold: one is enough to look into.
        self._outcomes[index] = error.with_traceback(None) if self._failed else error
        self._failed = True
        self._stopped = self._stopped or self._strict


def _is_asynchronous(function: Callable[..., Any]) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  # its kind is asked for, not whether it is there
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


async def _value(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _columns(value: Any) -> dict[str, Any]:
    """What a callable returned, as columns: an object's members, or anything else as `output`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if not isinstance(value, Mapping):
        value = {"output": value}
    return {str(name): _plain(cell) for name, cell in value.items()}


def _plain(value: Any) -> Any:
    """A number or truth value of numpy as Python's own, so that it counts and can be saved."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value
