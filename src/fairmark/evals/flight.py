"""How many rows are under way, of all runs together, so that many runs fit into one memory and none waits for another.

A run has some rows to itself. More come out of what all runs share, up to a limit; the run whose project has the least
of that is next. So runs whose models hang may hold all that is shared, and a run that could work still goes on.
"""

import asyncio
from collections import Counter

from fairmark.work.fair import weight


class Flight:
    """What the runs of one engine share. Lives on one event loop."""

    def __init__(self, shared: int = 16_384, own: int = 128, most: int = 2048) -> None:
        """`own` rows of each run are its own, and it has `most` at most; `shared` rows are for all of them."""
        self.own = own
        self.most = most
        self._left = shared
        self._borrowed: Counter[str] = Counter()
        self._waiting: dict[RunShare, asyncio.Future[None]] = {}

    def share(self, project: str, chunk_rows: int) -> "RunShare":
        """For a run that takes so many rows at a time."""
        return RunShare(self, project, chunk_rows)

    def borrow(self, share: "RunShare") -> bool:
        if self._left < share.chunk_rows:
            return False
        self._left -= share.chunk_rows
        self._borrowed[share.project] += share.chunk_rows
        return True

    def give_back(self, share: "RunShare") -> None:
        self._left += share.chunk_rows
        self._borrowed[share.project] -= share.chunk_rows
        ready = [other for other in self._waiting if other.may_borrow and self._left >= other.chunk_rows]
        if ready:
            self.wake(min(ready, key=lambda other: self._borrowed[other.project] / weight(other.project)))

    async def wait(self, share: "RunShare") -> None:
        woken = self._waiting[share] = asyncio.get_running_loop().create_future()
        try:
            await woken
        finally:
            del self._waiting[share]

    def wake(self, share: "RunShare") -> None:
        woken = self._waiting.get(share)
        if woken is not None and not woken.done():
            woken.set_result(None)


class RunShare:
    """One run's chunks of rows. One task enters, any leave."""

    def __init__(self, flight: Flight, project: str, chunk_rows: int) -> None:
        self.project = project
        self.chunk_rows = chunk_rows
        self._flight = flight
        # A few at least, however large the chunks are: one that is slow must not hold up the others.
        self._own = max(4, flight.own // chunk_rows)
        self._most = max(4, flight.most // chunk_rows)
        self._inside = 0
        self._borrowed = 0

    @property
    def may_borrow(self) -> bool:
        return self._inside < self._most

    async def enter(self) -> None:
        """Waits until there is room for another chunk. Each must be left."""
        while True:
            if self._inside - self._borrowed < self._own:
                break
            if self.may_borrow and self._flight.borrow(self):
                self._borrowed += 1
                break
            await self._flight.wait(self)
        self._inside += 1

    def leave(self) -> None:
        self._inside -= 1
        if self._borrowed:
            self._borrowed -= 1
            self._flight.give_back(self)
        self._flight.wake(self)
