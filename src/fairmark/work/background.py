"""What waits somewhere to be done is claimed there and worked off in the background, each in a task of its own."""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from fairmark.errors import StoreUnavailable
from fairmark.work.tasks import LeavingTasks

LOOK_EVERY_S = 1.0
"""How often what another server made, or left behind, is looked for."""


class Claimable(Protocol):
    @property
    def id(self) -> str: ...


Claimed = TypeVar("Claimed", bound=Claimable)


class Background(ABC, Generic[Claimed]):
    """Lives on one event loop. What ends there, however it does, is given back, and the next one is looked for."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        """`what` it looks for, in the plural, for the log."""
        self._log = log
        self._what = what
        self._news = asyncio.Event()
        self._working: dict[str, tuple[Claimed, asyncio.Task[None]]] = {}
        self._tasks = LeavingTasks()
        self._pump: asyncio.Task[None] | None = None

    @abstractmethod
    async def _claim(self) -> Claimed | None:
        """The next one to begin now, if there is one."""

    @abstractmethod
    async def _release(self, claimed: Claimed) -> None:
        """It is nobody's any more."""

    @abstractmethod
    async def _work_off(self, claimed: Claimed) -> None:
        """All of it. Cancelled, it stays where it stands."""

    async def start(self) -> None:
        self._pump = asyncio.create_task(self._find_work())

    async def stop(self) -> None:
        """Leaves everything where it stands; the next start goes on with it."""
        tasks = [task for _, task in self._working.values()]
        tasks += [self._pump] if self._pump is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._tasks.left()

    def wake(self) -> None:
        """There is something to do."""
        self._news.set()

    async def _find_work(self) -> None:
        while True:
            try:
                while (claimed := await self._claim()) is not None:
                    self._begin(claimed)
            except StoreUnavailable as error:
                self._log.warning("the store cannot be reached: %s", error)
            except Exception:  # whatever it was, the next ones need somebody who looks for them
                self._log.exception("%s could not be looked for", self._what)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()
            self._news.clear()

    def _begin(self, claimed: Claimed) -> None:
        task = self._tasks.begin(self._work_off(claimed), lambda: self._let_go(claimed), claimed.id)
        self._working[claimed.id] = (claimed, task)

    async def _let_go(self, claimed: Claimed) -> None:
        with contextlib.suppress(StoreUnavailable):
            await self._release(claimed)
        del self._working[claimed.id]
        self._news.set()
