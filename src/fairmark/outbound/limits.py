"""How much may be under way: concurrency and rates that give way to a server that says it is too much, and a breaker
for one that does not answer at all."""

import asyncio
import logging
import math
import time

from fairmark.work import together
from fairmark.work.bucket import Bucket
from fairmark.work.fair import FairSlots

log = logging.getLogger("fairmark.outbound")


class CallGate:
    """Lets questions through: so many at once, so many and so many tokens a minute, none during a pause.

    Owners share it fairly: whoever has the fewest inside is next, and `spare` places beyond the limit are for those who
    have none. Among the questions of one owner it is first come, first served. When the server says that it is too
    much, fewer go at once; each success lets a fraction more.
    """

    def __init__(
        self,
        most: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        spare: int = 0,
        cut: float = 0.7,
        name: str | None = None,
    ) -> None:
        """`cut`: what share of those at once is left where the server says that it is too much. `name`: gates of one
        name hold their limits together, in all processes of a server."""
        self._cut = cut
        self._most = max(1, most)
        self._limit = float(self._most)
        plain = FairSlots(self._most, spare=spare, what="endpoint")
        self._places = plain if name is None else together.slots(name, self._most, spare)
        self._front = FairSlots(1)
        """Who has a place and waits for a rate or the end of a pause: one does, the others wait behind."""
        self._paused_until = 0.0
        self._throttled_at = -math.inf
        self._requests = _evenly(name and f"{name}, requests", requests_per_minute)
        self._tokens = _evenly(name and f"{name}, tokens", tokens_per_minute)
        self.line = together.line(name)
        self.line.on_pause = self._hold_back

    async def enter(self, tokens: float = 0.0, owner: str = "") -> None:
        """Waits for a place. Each must be left."""
        if not self._places.try_enter(owner):
            await self._places.enter(owner)
        if self._front.holding or self._delay(tokens) > 0:
            try:
                async with self._front.turn(owner):
                    while (delay := self._delay(tokens)) > 0:
                        await asyncio.sleep(delay)
                    self._pay(tokens)
            except asyncio.CancelledError:
                self._places.leave(owner)
                raise
        else:
            self._pay(tokens)

    def leave(self, owner: str = "", *, good: bool = False) -> None:
        if good and self._limit < self._most:
            self._set_limit(min(self._most, self._limit + 1 / self._limit))
        self._places.leave(owner)

    def correct(self, tokens: float) -> None:
        """What a question turned out to need beyond what was said when it went in."""
        self._tokens.take(tokens)

    def throttle(self, pause_s: float) -> None:
        """The server says that it is too much: nobody goes in for a while, and fewer at once from then on."""
        self.line.throttled(pause_s)
        self._hold_back(pause_s)

    def _hold_back(self, pause_s: float) -> None:
        now = time.monotonic()
        self.pause(pause_s)
        # Many questions under way are told the same; that is one message.
        if now - self._throttled_at > 1.0:
            self._throttled_at = now
            self._set_limit(max(1.0, min(self._limit, self._places.holding) * self._cut))

    def pause(self, pause_s: float) -> None:
        """Nobody goes in for a while."""
        self._paused_until = max(self._paused_until, time.monotonic() + pause_s)

    def _set_limit(self, limit: float) -> None:
        self._limit = limit
        if self._places.total != int(limit):
            self._places.total = int(limit)

    def _delay(self, tokens: float) -> float:
        now = time.monotonic()
        return max(self._paused_until - now, self._requests.delay(1.0, now), self._tokens.delay(tokens, now))

    def _pay(self, tokens: float) -> None:
        self._requests.take(1.0)
        self._tokens.take(tokens)


def _evenly(name: str | None, a_minute: float | None) -> Bucket:
    return Bucket.evenly(a_minute) if name is None else together.bucket(name, a_minute, (a_minute or 0.0) / 60)


class Breaker:
    """Knows when a server is dead: it failed on many different questions, over some time, and answered none between.

    Then nobody asks it but one every few seconds, who tries; the others wait until it answers again. The same question
    counts once, however often it is asked: it may be the question that the server cannot bear.
    """

    FAILURES = 10
    OVER_S = 3.0
    PAUSE_S = 5.0

    def __init__(self, where: str, line: together.Line | None = None) -> None:
        """`line`: to other processes that ask the same server; they share what they know of it."""
        self._where = where
        self._line = line or together.Line()
        self._line.on_death = self._open
        self._line.on_life = self._close
        self._failed: set[int] = set()
        self._since = 0.0
        self._last = ""
        self._tried_at = 0.0
        self._closed: asyncio.Event | None = None
        """While it is open: set when the server answers again."""

    @property
    def is_open(self) -> bool:
        return self._closed is not None

    @property
    def why(self) -> str:
        return (
            f"the server answered none of the last {len(self._failed)} different questions, so that only one every "
            f"{self.PAUSE_S:g} s is sent there. The last time: {self._last}"
        )

    async def passed(self, within_s: float) -> bool:
        """Waits until the server may be asked; true for the one who tries whether it answers again. Raises TimeoutError
        where that takes longer than there is time."""
        ends_at = time.monotonic() + within_s
        while (closed := self._closed) is not None:
            now = time.monotonic()
            if now >= ends_at:
                raise TimeoutError
            if now - self._tried_at >= self.PAUSE_S:
                self._tried_at = now  # who gives up meanwhile is followed by the next after another pause
                if await self._line.may_try():
                    return True
                continue
            pause_s = min(ends_at, self._tried_at + self.PAUSE_S) - now
            try:
                async with asyncio.timeout(pause_s):
                    await closed.wait()
            except TimeoutError:
                continue
        return False

    def answered(self) -> None:
        self._line.answered()
        self._close()

    def _close(self) -> None:
        if self._failed:
            self._failed.clear()
        if self._closed is not None:
            log.warning("%s answers again.", self._where)
            self._closed.set()
            self._closed = None

    def failed(self, question: int, how: str) -> None:
        """`question` is equal for equal questions."""
        now = time.monotonic()
        if not self._failed:
            self._since = now
        self._last = how
        if len(self._failed) < self.FAILURES:
            self._failed.add(question)
        if self._closed is not None:
            self._tried_at = now
        elif len(self._failed) >= self.FAILURES and now - self._since >= self.OVER_S:
            self._open(how)
            self._line.died(how)

    def _open(self, how: str) -> None:
        if self._closed is None:
            self._closed, self._tried_at, self._last = asyncio.Event(), time.monotonic(), how
            log.warning("%s does not answer. What is to be asked there waits. The last time: %s", self._where, how)
