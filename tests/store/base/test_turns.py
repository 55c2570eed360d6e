"""Reads give way to writes, and go on beside them."""

import asyncio
from contextlib import AsyncExitStack

from fairmark.store.base.turns import Turns


class Reader:
    """A read that goes on until it is told to end."""

    def __init__(self, turns: Turns) -> None:
        self.inside = False
        self._may_end = asyncio.Event()
        self._task = asyncio.create_task(self._read(turns))

    async def _read(self, turns: Turns) -> None:
        async with turns.read():
            self.inside = True
            await self._may_end.wait()
        self.inside = False

    async def end(self) -> None:
        self._may_end.set()
        await self._task

    async def cancel(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def until_inside(readers: list[Reader], count: int) -> None:
    async with asyncio.timeout(30):
        while sum(reader.inside for reader in readers) < count:
            await asyncio.sleep(0.001)


async def test_without_writes_as_many_reads_go_at_once_as_there_are_connections() -> None:
    turns = Turns(3)
    readers = [Reader(turns) for _ in range(5)]
    await settle()
    assert [reader.inside for reader in readers] == [True, True, True, False, False]
    await readers[0].end()
    await settle()
    assert readers[3].inside
    for reader in readers[1:]:
        await reader.end()


async def test_beside_a_write_reads_go_one_at_a_time() -> None:
    turns = Turns(3)
    async with turns.write():
        readers = [Reader(turns) for _ in range(3)]
        await settle()
        assert [reader.inside for reader in readers] == [True, False, False]
        await readers[0].end()
        await settle()
        assert not readers[1].inside  # it rests first
        await until_inside(readers[1:], 1)
        for reader in readers[1:]:
            await reader.end()


async def test_a_read_that_takes_long_keeps_no_other_from_beginning() -> None:
    turns = Turns(3)
    async with turns.write():
        readers = [Reader(turns) for _ in range(3)]
        await until_inside(readers, 3)
        for reader in readers:
            await reader.end()


async def test_a_write_waits_for_no_read() -> None:
    turns = Turns(2)
    readers = [Reader(turns) for _ in range(4)]
    await settle()
    async with asyncio.timeout(30), turns.write():
        pass
    for reader in readers:
        await reader.end()


async def test_writes_go_one_at_a_time_in_their_order() -> None:
    turns = Turns(2)
    order = []

    async def write(name: int) -> None:
        async with turns.write():
            order.append(name)
            await asyncio.sleep(0)
            order.append(name)

    await asyncio.gather(*(write(name) for name in range(3)))
    assert order == [0, 0, 1, 1, 2, 2]


async def test_reads_all_go_again_some_time_after_the_last_write() -> None:
    turns = Turns(3)
    async with turns.write():
        pass
    readers = [Reader(turns) for _ in range(3)]
    await until_inside(readers, 3)
    for reader in readers:
        await reader.end()


async def test_a_read_that_is_given_up_while_it_waits_leaves_its_place_to_others() -> None:
    turns = Turns(1)
    first, second, third = (Reader(turns) for _ in range(3))
    await settle()
    await second.cancel()
    await first.end()
    await until_inside([third], 1)
    # Also one that is let in at the moment it is given up.
    fourth, fifth = Reader(turns), Reader(turns)
    await settle()
    ending = asyncio.create_task(third.end())
    await fourth.cancel()
    await ending
    await until_inside([fifth], 1)
    await fifth.end()


async def test_many_reads_and_writes_at_once_all_get_their_turn() -> None:
    turns = Turns(2)
    done = []

    async def one(number: int) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(turns.write() if number % 10 == 0 else turns.read())
            await asyncio.sleep(0)
            done.append(number)

    async with asyncio.timeout(60):
        await asyncio.gather(*(one(number) for number in range(300)))
    assert sorted(done) == list(range(300))
