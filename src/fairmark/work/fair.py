"""Slots that owners share fairly: whoever holds few of them is next, and whoever holds none need not wait for those who
hold many."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from itertools import count
from types import TracebackType
from typing import NamedTuple

from fairmark.work import counts

WAITS = counts.histogram(
    "fairmark_wait_seconds", "How long owners waited for a turn, by what it was and by project.", "what", "owner"
)

_weights: dict[str, float] = {}
_tickets = count()


def set_weights(weights: Mapping[str, float]) -> None:
    """From now on an owner of weight 2 has twice as much of all that is scarce as one of weight 1, where both want it.
    Who is not named has 1."""
    _weights.clear()
    _weights.update(weights)


def weight(owner: str) -> float:
    return _weights.get(owner, 1.0)


class FairSlots:
    """So many turns at once, shared by owner. It belongs to one event loop.

    When a slot is free, the owner who holds the fewest for his weight is next; among equals the one who has waited
    longest since his last turn; each owner's own turns are first come, first served, but for those of one piece of
    `work`, which go by their `rank`: so its first part is done first, and not all parts at the end. An owner who is
    alone may hold all `total` slots (or `per_owner`). Beyond them there are `spare` slots for owners who hold none: so
    somebody who holds everything for long keeps nobody from his first turn. Never more than `total + spare` are held.
    """

    def __init__(self, total: int, *, spare: int = 0, per_owner: int | None = None, what: str | None = None) -> None:
        """`what` the slots are, for those who look how long owners wait for them."""
        if total < 1 or spare < 0 or (per_owner is not None and per_owner < 1):
            raise ValueError(f"no slots to share: total {total}, spare {spare}, per_owner {per_owner}")
        self._total = total
        self._spare = spare
        self._per_owner = per_owner
        self._what = what
        self._held: dict[str, int] = {}
        self._holding = 0
        self._waiting: OrderedDict[str, OrderedDict[int, _Place]] = OrderedDict()
        """Owners who wait, the one longest without a turn first. None of them may enter as things stand."""

    def turn(self, owner: str, work: object = None, rank: int = 0) -> "_Turn":
        """A slot for the length of an `async with`. A cancelled wait takes none."""
        return _Turn(self, owner, work, rank)

    async def enter(self, owner: str, work: object = None, rank: int = 0) -> None:
        """Wait for a slot. Each must be left."""
        if self.has_room(owner):
            self._take(owner)
            self._waited(owner, 0.0)
            return
        began = time.monotonic()
        place = _Place(asyncio.get_running_loop().create_future(), work, rank)
        ticket = next(_tickets)
        self._waiting.setdefault(owner, OrderedDict())[ticket] = place
        try:
            await place.turn
        except asyncio.CancelledError:
            if place.turn.done() and not place.turn.cancelled():  # the turn came at the same moment
                self.leave(owner)
            else:
                self._forget(owner, ticket, place)
            raise
        self._waited(owner, time.monotonic() - began)

    def _waited(self, owner: str, seconds: float) -> None:
        if self._what is not None:
            WAITS.add(seconds, self._what, owner)

    def try_enter(self, owner: str) -> bool:
        """Take a slot if there is one at once."""
        if not self.has_room(owner):
            return False
        self._take(owner)
        return True

    def leave(self, owner: str) -> None:
        """Give back a slot of this owner."""
        left = self._held[owner] - 1
        if left:
            self._held[owner] = left
        else:
            del self._held[owner]
        self._holding -= 1
        if self._waiting:
            self._let_in()

    def has_room(self, owner: str) -> bool:
        """Whether a turn of this owner would come at once."""
        held = self._held.get(owner, 0)
        if self._holding < self._total and (self._per_owner is None or held < self._per_owner):
            return True
        return held == 0 and self._holding < self._total + self._spare

    def held(self, owner: str) -> int:
        return self._held.get(owner, 0)

    @property
    def holding(self) -> int:
        """How many slots are held, by all owners."""
        return self._holding

    @property
    def waiting(self) -> int:
        """How many turns are waited for, by all owners."""
        return sum(map(len, self._waiting.values()))

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        """More or fewer from now on. Nobody loses a slot he holds."""
        if total < 1:
            raise ValueError(f"no slots to share: total {total}")
        self._total = total
        self._let_in()

    def _take(self, owner: str) -> None:
        self._held[owner] = self._held.get(owner, 0) + 1
        self._holding += 1

    def _let_in(self) -> None:
        while admissible := [owner for owner in self._waiting if self.has_room(owner)]:
            owner = min(admissible, key=lambda waiting: self.held(waiting) / weight(waiting))
            place = self._next_place(self._waiting[owner])
            if self._waiting[owner]:
                self._waiting.move_to_end(owner)
            else:
                del self._waiting[owner]
            if not place.turn.done():  # a cancelled one is about to find out
                self._take(owner)
                place.turn.set_result(None)

    @staticmethod
    def _next_place(places: "OrderedDict[int, _Place]") -> "_Place":
        """Taken out: the first, or of its work the one of the least rank, whose place in the row the first then has."""
        first, place = places.popitem(last=False)
        if place.work is None:
            return place
        mates = [(other.rank, ticket) for ticket, other in places.items() if other.work is place.work]
        rank, ticket = min(mates, default=(place.rank, first))
        if rank >= place.rank:
            return place
        least, places[ticket] = places[ticket], place
        return least

    def _forget(self, owner: str, ticket: int, place: "_Place") -> None:
        places = self._waiting.get(owner)
        if places is None:
            return
        if places.get(ticket) is not place:  # another one of its work was let in before it
            ticket = next((other for other, waiting in places.items() if waiting is place), ticket)
        if places.get(ticket) is place:
            del places[ticket]
        if not places:
            del self._waiting[owner]


class _Place(NamedTuple):
    turn: "asyncio.Future[None]"
    work: object
    rank: int


class _Turn:
    __slots__ = ("_owner", "_rank", "_slots", "_work")

    def __init__(self, slots: FairSlots, owner: str, work: object, rank: int) -> None:
        self._slots = slots
        self._owner = owner
        self._work = work
        self._rank = rank

    async def __aenter__(self) -> None:
        await self._slots.enter(self._owner, self._work, self._rank)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.leave(self._owner)
