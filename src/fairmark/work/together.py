"""Limits that all processes of one server, or of a cluster, hold together: rates, and slots. In a process that is alone
they are as plain ones are."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from fairmark.work import board
from fairmark.work.board import Board, SharedNumber
from fairmark.work.bucket import Bucket
from fairmark.work.fair import FairSlots

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_EVERY_S = 0.005
"""How often it is looked whether another process has left a slot."""


class Line:
    """What the limits of one name tell those of other processes, and hear from them. This one leads nowhere."""

    def __init__(self) -> None:
        self.on_pause: Callable[[float], None] = lambda pause_s: None
        """Called where another was told to pause."""
        self.on_death: Callable[[str], None] = lambda why: None
        """Called where others say that the server is dead; `on_life`, where it has answered one of them."""
        self.on_life: Callable[[], None] = lambda: None

    def throttled(self, pause_s: float) -> None:
        """The server has said that it is too much."""

    def answered(self) -> None:
        """The server has answered."""

    def died(self, why: str) -> None:
        """The server does not answer any more."""

    async def may_try(self) -> bool:
        """Whether this process is the one that tries whether it answers again."""
        return True


class Sharing(Protocol):
    """Others with whom limits are held together, in place of the processes of a server."""

    def bucket(self, name: str, a_minute: float | None, holds: float) -> Bucket: ...

    def slots(self, name: str, total: int, spare: int = 0) -> FairSlots: ...

    def line(self, name: str) -> Line: ...


_sharing: Sharing | None = None


def use(sharing: Sharing | None) -> None:
    """From now on limits are held together with these. What was made before stays as it is."""
    global _sharing
    _sharing = sharing


def line(name: str | None) -> Line:
    """The line of limits of this name."""
    return Line() if name is None or _sharing is None else _sharing.line(name)


def bucket(name: str, a_minute: float | None, holds: float) -> Bucket:
    """A rate of this name."""
    if _sharing is not None:
        return _sharing.bucket(name, a_minute, holds)
    shared = board.shared()
    taken = shared.column(f"taken {name}") if shared is not None and a_minute else None
    return Bucket(a_minute, holds) if taken is None else SharedBucket(a_minute, holds, taken)


def slots(name: str, total: int, spare: int = 0) -> FairSlots:
    """Slots of this name."""
    if _sharing is not None:
        return _sharing.slots(name, total, spare)
    shared = board.shared()
    if shared is not None:
        held, wanted = shared.column(f"held {name}"), shared.column(f"wanted {name}")
        if held is not None and wanted is not None:
            return SharedSlots(total, spare, shared, held, wanted)
    return FairSlots(total, spare=spare, what="judge")


class SharedBucket(Bucket):
    """What others take is taken from this one too, when it is next looked at: two who look at the same moment may both
    go, and the next waits the longer."""

    __slots__ = ("_known", "_taken")

    def __init__(self, a_minute: float | None, holds: float, taken: SharedNumber) -> None:
        super().__init__(a_minute, holds)
        self._taken = taken
        self._known = sum(taken.others)

    def delay(self, amount: float, now: float) -> float:
        taken = sum(self._taken.others)
        super().delay(amount, now)  # fills it up to now
        super().take(max(0.0, taken - self._known))  # less than before where a process was begun anew
        self._known = taken
        return super().delay(amount, now)

    def take(self, amount: float) -> None:
        super().take(amount)
        self._taken.add(amount)


class SharedSlots(FairSlots):
    """Never more than `total + spare` are held by all processes together.

    Within a process owners share them fairly. A process that holds its part of them, or more, takes none while another
    wants one and has less than its part.
    """

    def __init__(self, total: int, spare: int, shared: Board, held: SharedNumber, wanted: SharedNumber) -> None:
        super().__init__(total, spare=spare, what="judge")
        self._most = total + spare
        self._board = shared
        self._everywhere = held
        self._wanted = wanted
        self._front = asyncio.Lock()
        self._left = asyncio.Event()

    async def enter(self, owner: str, work: object = None, rank: int = 0) -> None:
        await super().enter(owner, work, rank)
        try:
            if not self._front.locked() and self._try():
                return
            self._wanted.add(1)
            try:
                async with self._front:
                    while not self._try():
                        await self._news()
            finally:
                self._wanted.add(-1)
        except BaseException:
            super().leave(owner)
            raise

    def try_enter(self, owner: str) -> bool:
        if self._front.locked() or not super().try_enter(owner):
            return False
        if self._try():
            return True
        super().leave(owner)
        return False

    def leave(self, owner: str) -> None:
        self._everywhere.add(-1)
        self._left.set()
        super().leave(owner)

    def _try(self) -> bool:
        with self._board.locked():
            own, others = self._everywhere.own, self._everywhere.others
            if own + sum(others) >= self._most:
                return False
            part = max(1, self._most // self._board.rows)
            if own >= part and any(
                wanted and held < part for wanted, held in zip(self._wanted.others, others, strict=True)
            ):
                return False
            self._everywhere.add(1)
            return True

    async def _news(self) -> None:
        self._left.clear()
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await self._left.wait()
        except TimeoutError:
            pass
