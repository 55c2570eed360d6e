"""Slots that owners share fairly: whoever holds few of them is next, and whoever holds none need not wait for those who
hold many."""

import asyncio
from collections import OrderedDict
from types import TracebackType


class FairSlots:
    """So many turns at once, shared by owner. It belongs to one event loop.

    When a slot is free, the owner who holds the fewest is next; among equals the one who has waited longest since his
    last turn; each owner's own turns are first come, first served. An owner who is alone may hold all `total` slots
    (or `per_owner`). Beyond them there are `spare` slots for owners who hold none: so somebody who holds everything
    for long keeps nobody from his first turn. Never more than `total + spare` are held.
    """

    def __init__(self, total: int, *, spare: int = 0, per_owner: int | None = None) -> None:
        if total < 1 or spare < 0 or (per_owner is not None and per_owner < 1):
            raise ValueError(f"no slots to share: total {total}, spare {spare}, per_owner {per_owner}")
        self._total = total
        self._spare = spare
        self._per_owner = per_owner
        self._held: dict[str, int] = {}
        self._holding = 0
        self._waiting: OrderedDict[str, OrderedDict[asyncio.Future[None], None]] = OrderedDict()
        """Owners who wait, the one longest without a turn first. None of them may enter as things stand."""

    def turn(self, owner: str) -> "_Turn":
        """A slot for the length of an `async with`. A cancelled wait takes none."""
        return _Turn(self, owner)

    def enter_now(self, owner: str) -> bool:
        """Take a slot where there is room; false where it has to be waited for."""
        if not self.has_room(owner):
            return False
        self._take(owner)
        return True

    async def enter(self, owner: str) -> None:
        """Wait for a slot. Each must be left."""
        if self.enter_now(owner):
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, OrderedDict())[place] = None
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the turn came at the same moment
                self.leave(owner)
            else:
                self._forget(owner, place)
            raise

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
            owner = min(admissible, key=self.held)
            place, _ = self._waiting[owner].popitem(last=False)
            if self._waiting[owner]:
                self._waiting.move_to_end(owner)
            else:
                del self._waiting[owner]
            if not place.done():  # a cancelled one is about to find out
                self._take(owner)
                place.set_result(None)

    def _forget(self, owner: str, place: "asyncio.Future[None]") -> None:
        places = self._waiting.get(owner)
        if places is not None and places.pop(place, place) is None and not places:
            del self._waiting[owner]


class _Turn:
    __slots__ = ("_owner", "_slots")

    def __init__(self, slots: FairSlots, owner: str) -> None:
        self._slots = slots
        self._owner = owner

    async def __aenter__(self) -> None:
        await self._slots.enter(self._owner)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.leave(self._owner)
