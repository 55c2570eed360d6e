"""Exchanges on their way into the store. The answer has gone by then: nobody waits for this.

What waits here is in memory only: a process that is killed loses what it has not stored yet, which is as a rule what
ended within the last tenth of a second. Nobody was told that it is stored. Whoever asks for what is stored waits until
all that ended before is there.
"""

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable

from fairmark.completions.exchange import Exchange, NotKept, Unkept, read
from fairmark.errors import StoreUnavailable
from fairmark.settings import Settings
from fairmark.store import CompletionLimits, NewCompletion, Store

MOST_WAITING = 2_000
MOST_WAITING_BYTES = 128_000_000
"""Of exchanges that are under way and wait to be stored, all together."""
AT_ONCE = 64
AT_ONCE_BYTES = 16_000_000
TRIES = 20
RETRY_S = 0.5
SETTLED_WITHIN_S = 5.0
STOP_WITHIN_S = 10.0

log = logging.getLogger("fairmark.completions")


class Keeper:
    """Stores exchanges, a few at a time, in the order in which they ended. Lives on the server's event loop."""

    def __init__(self, store: Store, settings: Settings, count: Callable[[str], None]) -> None:
        """`count` is told what became of each, for metrics."""
        self._store = store
        self.most_bytes = settings.completion_mb * 1_000_000
        days = settings.completion_days
        self._limits = CompletionLimits(
            settings.completions_at_most, settings.completions_at_most_mb * 1_000_000, int(days * 86_400)
        )
        self._count = count
        self._waiting: deque[Exchange] = deque()
        self._held_bytes = 0
        self._unsettled: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._told: set[tuple[str, str]] = set()
        self.ask_others: Callable[[str], Awaitable[object]] = _nobody
        """Awaits `settled_here` of the others."""

    def hold(self, size: int) -> bool:
        """Room for a part of an answer that may be stored; each must be let go. False where others have filled it."""
        if self._held_bytes + size > MOST_WAITING_BYTES:
            return False
        self._held_bytes += size
        return True

    def let_go(self, size: int) -> None:
        self._held_bytes -= size

    def expect(self, project: str) -> None:
        """An exchange is about to end: whoever asks for it from now on waits for it. `keep` or `give_up` follows."""
        self._unsettled[project] += 1

    def keep(self, exchange: Exchange) -> None:
        """It is stored soon, if there is room. It was expected, and room for it is held."""
        if len(self._waiting) >= MOST_WAITING:
            self.let_go(exchange.size)
            self.give_up(exchange.project, "busy")
            return
        self._waiting.append(exchange)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    def give_up(self, project: str, why: Unkept) -> None:
        """What was expected is not stored."""
        self._tell(project, why)
        self._settle(project)

    def _settle(self, project: str) -> None:
        self._unsettled[project] -= 1
        if not self._unsettled[project]:
            del self._unsettled[project]
        self._changed.set()

    async def settled(self, project: str) -> None:
        """Returns when all exchanges of the project that have ended are stored, or after a while: here, and in the
        server's other processes."""
        asked = asyncio.ensure_future(self.ask_others(project))
        try:
            await self.settled_here(project)
            await asked
        finally:
            asked.cancel()

    async def settled_here(self, project: str) -> None:
        """The same of this process."""
        if project not in self._unsettled:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLED_WITHIN_S):
                while project in self._unsettled:
                    self._changed.clear()
                    await self._changed.wait()

    async def _write(self) -> None:
        while self._waiting:
            batch: list[Exchange] = []
            size = 0
            while self._waiting and len(batch) < AT_ONCE and size < AT_ONCE_BYTES:
                batch.append(self._waiting.popleft())
                size += batch[-1].size
            fates: list[str] = ["store_unavailable"] * len(batch)
            try:
                fates = await self._store_batch(batch)
            except Exception:  # whatever it was, the next ones need somebody who stores them
                log.exception("completions could not be stored")
            finally:
                for exchange, fate in zip(batch, fates, strict=True):
                    self.let_go(exchange.size)
                    self._tell(exchange.project, fate)
                    self._settle(exchange.project)

    async def _store_batch(self, batch: list[Exchange]) -> list[str]:
        fates: list[str] = []
        made: list[NewCompletion] = []
        for result in await asyncio.to_thread(_read_all, batch, self.most_bytes):
            fates.append("stored" if isinstance(result, NewCompletion) else result)
            if isinstance(result, NewCompletion):
                made.append(result)
        if not made:
            return fates
        kept = iter(await self._patiently(made))
        return [next(kept) if fate == "stored" else fate for fate in fates]

    async def _patiently(self, made: list[NewCompletion]) -> list[str]:
        for left in range(TRIES, 0, -1):
            try:
                return list(await self._store.completions.keep(made, self._limits))
            except StoreUnavailable as error:
                if left == 1:
                    log.warning("%d completions are not stored: %s", len(made), error)
                    break
                await asyncio.sleep(RETRY_S)
        return ["store_unavailable"] * len(made)

    def _tell(self, project: str, fate: str) -> None:
        self._count(fate)
        if fate == "stored":
            self._told.discard((project, "project_full"))
        elif (project, fate) not in self._told and len(self._told) < 1000:
            self._told.add((project, fate))
            log.warning("project %s: completions are not stored: %s. It is told once.", project, _WHY.get(fate, fate))

    async def stop(self) -> None:
        """Stores what waits, within a while."""
        if self._writing is not None and not self._writing.done():
            await asyncio.wait([self._writing], timeout=STOP_WITHIN_S)
            self._writing.cancel()


async def _nobody(project: str) -> None:
    """There are no others."""


_WHY = {
    "too_large": "one is longer than completion_mb",
    "broken": "a stream did not come to its end",
    "unreadable": "an answer is none of the API's, or is not final",
    "busy": "more end than can be stored",
    "project_full": "the project holds as many as completions_at_most and completions_at_most_mb allow; delete some",
    "store_unavailable": "the store cannot be reached",
}


def _read_all(batch: list[Exchange], most_bytes: int) -> list[NewCompletion | str]:
    made: list[NewCompletion | str] = []
    for exchange in batch:
        try:
            made.append(read(exchange, most_bytes))
        except NotKept as error:
            made.append(error.why)
        except Exception:  # an answer of a form that nobody thought of; its neighbours are stored
            log.exception("an answer cannot be read")
            made.append("unreadable")
    return made
