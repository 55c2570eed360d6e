"""Limits that several processes hold together. Two boards on one memory stand for two processes."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from fairmark.work import board as boards
from fairmark.work import together
from fairmark.work.board import Board
from fairmark.work.bucket import Bucket
from fairmark.work.fair import FairSlots
from fairmark.work.together import SharedSlots

T = TypeVar("T")
In = Callable[[int, Callable[[], T]], T]


@pytest.fixture
def within() -> Iterator[In[T]]:
    """Makes something as one of two processes would."""
    memory = Board.make(2)

    def make(row: int, what: Callable[[], T]) -> T:
        boards.share(Board(memory.fileno, 2, row))
        try:
            return what()
        finally:
            boards.share(None)

    yield make
    memory.close()


def test_alone_they_are_plain_ones() -> None:
    assert type(together.slots("name", 3)) is FairSlots
    assert type(together.bucket("name", 60, 1)) is Bucket


def test_a_rate_counts_what_other_processes_took(within: In[Bucket]) -> None:
    one, other = (within(row, lambda: together.bucket("key", 60, 10)) for row in (0, 1))
    now = 1000.0
    for bucket in (one, other, one, other):
        assert bucket.delay(2, now) == 0
        bucket.take(2)
    assert one.delay(2, now) == 0
    one.take(2)
    for bucket in (one, other):
        assert bucket.delay(1, now) == pytest.approx(1.0)
    assert other.delay(1, now + 1) == 0


def test_a_process_that_is_begun_anew_gives_nothing_back(within: In[Bucket]) -> None:
    one, other = (within(row, lambda: together.bucket("key", 60, 10)) for row in (0, 1))
    assert other.delay(6, 0.0) == 0
    other.take(6)
    assert one.delay(4, 0.0) == 0
    within(0, lambda: boards.shared().clear(1))  # type: ignore[union-attr, arg-type, return-value]
    assert one.delay(5, 0.0) == pytest.approx(1.0)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_slots_are_never_held_by_more_than_there_are(within: In[FairSlots]) -> None:
    async def scene() -> None:
        one, other = (within(row, lambda: together.slots("judge", 3)) for row in (0, 1))
        inside = most = 0

        async def hold(slots: FairSlots, owner: str) -> None:
            nonlocal inside, most
            async with slots.turn(owner):
                inside += 1
                most = max(most, inside)
                await settle()
                inside -= 1

        async with asyncio.timeout(30):
            await asyncio.gather(*(hold(slots, str(turn % 3)) for turn in range(60) for slots in (one, other)))
        assert most == 3
        assert (one.holding, other.holding) == (0, 0)
        assert isinstance(one, SharedSlots)
        assert one._everywhere.total == 0
        assert one._wanted.total == 0

    asyncio.run(scene())


def test_a_process_that_holds_all_gives_way_to_one_that_has_none(within: In[FairSlots]) -> None:
    async def scene() -> None:
        one, other = (within(row, lambda: together.slots("judge", 4)) for row in (0, 1))
        for _ in range(4):
            await one.enter("a")
        queued = [asyncio.create_task(one.enter("a")) for _ in range(3)]
        wanting = asyncio.create_task(other.enter("b"))
        await settle()
        assert not other.try_enter("c")
        one.leave("a")
        async with asyncio.timeout(30):
            await wanting
        assert not any(task.done() for task in queued)
        other.leave("b")
        async with asyncio.timeout(30):
            await queued[0]
        for task in queued[1:]:
            task.cancel()
        await asyncio.gather(*queued, return_exceptions=True)
        assert isinstance(one, SharedSlots)
        assert (one._everywhere.own, one.holding) == (4, 4)

    asyncio.run(scene())


def test_whoever_stops_waiting_for_another_process_holds_nothing(within: In[FairSlots]) -> None:
    async def scene() -> None:
        one, other = (within(row, lambda: together.slots("judge", 1)) for row in (0, 1))
        assert one.try_enter("a")
        waiting = asyncio.create_task(other.enter("b"))
        await settle()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert other.holding == 0
        one.leave("a")
        assert other.try_enter("b")
        assert not one.try_enter("a")

    asyncio.run(scene())
