"""How much may be under way: concurrency and rates that give way to a server that says it is too much, and a breaker
for one that does not answer at all."""

import asyncio
import math
import time
from collections import deque

from fairmark.errors import JudgeFailed


class Gate:
    """Lets questions through: so many at once, so many and so many tokens a minute, none during a pause.

    When the server says that it is too much, fewer go at once; each success lets a fraction more. First come, first
    served.
    """

    def __init__(
        self, most: int, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._most = max(1, most)
        self._limit = float(self._most)
        self._inside = 0
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()
        self._paused_until = 0.0
        self._throttled_at = -math.inf
        self._requests = _Rate(requests_per_minute)
        self._tokens = _Rate(tokens_per_minute)
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, tokens: float = 0.0) -> None:
        """Waits for a place. Each must be left."""
        if not self._waiting and self._inside < int(self._limit) and self._delay(tokens) <= 0:
            self._take(tokens)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append((place, tokens))
        self._let_in()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            else:
                self._let_in()  # somebody smaller may have waited behind
            raise

    def leave(self, *, good: bool = False) -> None:
        self._inside -= 1
        if good and self._limit < self._most:
            self._limit = min(self._most, self._limit + 1 / self._limit)
        self._let_in()

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def correct(self, tokens: float) -> None:
        """What a question turned out to need beyond what was said when it went in."""
        self._tokens.take(tokens)

    def throttle(self, pause_s: float) -> None:
        """The server says that it is too much: nobody goes in for a while, and fewer at once from then on."""
        now = time.monotonic()
        self._paused_until = max(self._paused_until, now + pause_s)
        # Many questions under way are told the same; that is one message.
        if now - self._throttled_at > 1.0:
            self._throttled_at = now
            self._limit = max(1.0, min(self._limit, self._inside) * 0.7)

    def _delay(self, tokens: float) -> float:
        now = time.monotonic()
        return max(self._paused_until - now, self._requests.delay(1.0, now), self._tokens.delay(tokens, now))

    def _take(self, tokens: float) -> None:
        self._inside += 1
        self._requests.take(1.0)
        self._tokens.take(tokens)

    def _let_in(self) -> None:
        while self._waiting:
            place, tokens = self._waiting[0]
            if not place.done():
                if self._inside >= int(self._limit):
                    return
                delay = self._delay(tokens)
                if delay > 0:
                    self._wake_in(delay)
                    return
                self._take(tokens)
                place.set_result(None)
            self._waiting.popleft()

    def _wake_in(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay, self._let_in)


class _Rate:
    """A bucket that fills evenly. It holds what may go within a second, so that the first do not wait."""

    __slots__ = ("_a_second", "_at", "_level", "_most")

    def __init__(self, a_minute: float | None) -> None:
        self._a_second = a_minute / 60 if a_minute else 0.0
        self._level = self._most = max(1.0, self._a_second)
        self._at = time.monotonic()

    def delay(self, amount: float, now: float) -> float:
        """Seconds until there is enough. More than the bucket holds goes when it is full, and is then owed."""
        if not self._a_second:
            return 0.0
        self._level = min(self._most, self._level + (now - self._at) * self._a_second)
        self._at = now
        missing = min(amount, self._most) - self._level
        return missing / self._a_second if missing > 1e-6 else 0.0  # what rounding leaves is nothing to wait for

    def take(self, amount: float) -> None:
        if self._a_second:
            self._level -= amount


class Breaker:
    """Knows when an endpoint is dead: many failures in a row, over some time, and no answer between them.

    Then questions fail at once instead of waiting one by one; after a pause the next are tried again.
    """

    FAILURES = 10
    OVER_S = 3.0
    PAUSE_S = 15.0

    def __init__(self, where: str) -> None:
        self._where = where
        self._failures = 0
        self._since = 0.0
        self._open_until = 0.0
        self._last = ""

    def check(self) -> None:
        """Raises JudgeFailed where the endpoint is given up for now."""
        if self._open_until and time.monotonic() < self._open_until:
            raise JudgeFailed(
                f"{self._where} did not answer {self._failures} times in a row, so it is not asked for "
                f"{self.PAUSE_S:g} s. The last time: {self._last}"
            )

    def answered(self) -> None:
        self._failures = 0
        self._open_until = 0.0

    def failed(self, how: str) -> None:
        now = time.monotonic()
        if not self._failures:
            self._since = now
        self._failures += 1
        self._last = how
        if self._failures >= self.FAILURES and now - self._since >= self.OVER_S:
            self._open_until = now + self.PAUSE_S
