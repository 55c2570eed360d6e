"""Reads give way to writes, and go on beside them.

On SQLite writes go one after the other, each in several trips to a thread and back. What reads make of their rows fills
the event loop between those trips: beside 150 readers a tenth of the writes got through, although each side has its own
connections. So while writes come, reads go one at a time, and rest after each for a multiple of what it took.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator

REST = 2.0
"""How long reads rest beside writes, in multiples of what the last one took."""
LONGEST_TURN_S = 0.02
"""A read that takes longer keeps no other from beginning: by then it is SQLite that works, in its thread."""
LINGER_S = 0.05
"""For how long after a write another one is expected: whoever stores one thing after the other pauses in between."""


class Turns:
    """Which reads may go. `most`: at once, where nobody writes. Lives on one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._writes = 0
        self._one_at_a_time = asyncio.Lock()
        self._written_at = float("-inf")
        self._free_at = 0.0
        self._last: object = None
        self._timer: asyncio.TimerHandle | None = None

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        """One at a time, first come, first served."""
        self._writes += 1
        try:
            async with self._one_at_a_time:
                yield
        finally:
            self._writes -= 1
            self._written_at = time.monotonic()

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        await self._enter()
        turn = self._last = object()
        began = time.monotonic()
        self._free_at = began + LONGEST_TURN_S
        try:
            yield
        finally:
            now = time.monotonic()
            if self._last is turn and now < self._free_at:
                self._free_at = now + REST * (now - began)
            self._leave()

    async def _enter(self) -> None:
        if not self._waiting and self._delay() <= 0:
            self._inside += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._let_in()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        self._inside -= 1
        self._let_in()

    def _delay(self) -> float:
        """Seconds until the next read may go; infinite where one has to end first."""
        if self._inside >= self._most:
            return float("inf")
        now = time.monotonic()
        lingers = self._written_at + LINGER_S - now
        if not self._writes and lingers <= 0:
            return 0.0
        rest = self._free_at - now
        return rest if self._writes else min(rest, lingers)

    def _let_in(self) -> None:
        """Those that may go now. One beside writes, because each takes its turn when it goes on."""
        while self._waiting:
            if self._waiting[0].done():  # cancelled
                self._waiting.popleft()
                continue
            delay = self._delay()
            if delay > 0:
                self._wake_in(delay)
                return
            self._inside += 1
            self._free_at = time.monotonic() + LONGEST_TURN_S
            self._waiting.popleft().set_result(None)

    def _wake_in(self, delay: float) -> None:
        if delay == float("inf"):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay, self._let_in)
