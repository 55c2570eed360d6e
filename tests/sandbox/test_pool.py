"""What one owner's graders cost the others, and what slow rows cost their own call."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fairmark.sandbox import pool as pools
from fairmark.sandbox.base import MB, Limits, Outcome, Program
from fairmark.sandbox.pool import RunnerPool
from tests.sandbox.pools import children, grade, opened, program, rewards, until, zygote_of

AT_ONCE = 4
LONG = Limits(wall_s=120.0, memory_bytes=256 * MB, disk_bytes=16 * MB, cpus=1)
GOOD = "def grade(sample, item):\n    return 0.5\n"
ENDLESS = "def grade(sample, item):\n    while True:\n        pass\n"
# Each process draws a number of its own and tells it.
WHO = """
import os, time
ME = int.from_bytes(os.urandom(4), "big")
def grade(sample, item):
    time.sleep(item["s"])
    return ME
"""
ECHO = "import time\ndef grade(sample, item):\n    time.sleep(item['s'])\n    return item['n']\n"


def endless(owner: str, number: int = 0, strict: bool = False) -> Program:
    return program(f"# {number}\n{ENDLESS}", owner=owner, limits=LONG, strict=strict)


async def start(pool: RunnerPool, programs: Sequence[Program]) -> "list[asyncio.Task[list[Outcome]]]":
    """Grades that never end; some of them run now, the others wait."""
    tasks = [asyncio.create_task(grade(pool, wanted)) for wanted in programs]
    await until(lambda: pool.slots.holding + pool.slots.waiting >= len(programs))
    return tasks


async def stop(tasks: "list[asyncio.Task[list[Outcome]]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("strict", [False, True])
def test_an_owner_whose_graders_never_end_keeps_nobody_else_waiting(strict: bool) -> None:
    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            tasks = await start(pool, [endless("a", number, strict) for number in range(12)])
            for _ in range(8):
                async with asyncio.timeout(30):
                    assert await rewards(pool, program(GOOD, owner="b", strict=strict), *[{}] * 5) == [0.5] * 5
            assert not any(task.done() for task in tasks)
            assert pool.slots.held("a") == AT_ONCE
            await stop(tasks)

    asyncio.run(scenario())


def test_several_owners_whose_graders_never_end_keep_nobody_else_waiting() -> None:
    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            owners = ["a"] * 12 + ["b", "c", "d"] * 2
            tasks = await start(pool, [endless(owner, number) for number, owner in enumerate(owners)])
            async with asyncio.timeout(30):
                assert await rewards(pool, program(GOOD, owner="e"), {}) == [0.5]
            assert [pool.slots.held(owner) for owner in "abcd"] == [AT_ONCE, 1, 1, 1]
            await stop(tasks)
            assert (pool.slots.holding, pool.slots.waiting) == (0, 0)

    asyncio.run(scenario())


def test_a_strict_program_is_made_ready_only_where_a_slot_is_free() -> None:
    """What runs without a slot would be bounded by nothing."""

    async def scenario() -> None:
        async with opened(at_once=1) as pool:
            wanted = [endless("a", 1, strict=True)] * 2
            tasks = await start(pool, wanted)
            zygote = await zygote_of(pool)
            await until(lambda: len(children(zygote)) == 1)
            tasks[0].cancel()
            await until(lambda: tasks[0].done())
            await until(lambda: len(children(zygote)) == 1)
            assert pool._refilling == {}
            await stop(tasks)

    asyncio.run(scenario())


def test_slow_rows_of_a_source_go_to_several_runners() -> None:
    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            drawn = await rewards(pool, program(WHO), *[{"s": 0.15}] * 12)
            assert AT_ONCE <= len(set(drawn)) <= 2 * AT_ONCE  # the first had more rows than it could do
            assert pool.slots.holding == 0

    asyncio.run(scenario())


def test_rows_that_turn_slow_are_taken_back_from_their_runner() -> None:
    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            quick = [{"s": 0, "n": n} for n in range(100)]
            slow = [{"s": 0.2, "n": n} for n in range(100, 120)]
            assert await rewards(pool, program(ECHO), *quick, *slow) == list(range(120))
            drawn = await rewards(pool, program(WHO), *quick, *slow)
            assert len(set(drawn[100:])) >= AT_ONCE

    asyncio.run(scenario())


def test_quick_rows_of_a_call_stay_with_one_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "SLOW_S", 30.0)  # on a busy machine even quick rows may take long

    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            drawn = await rewards(pool, program(WHO), *[{"s": 0}] * 300)
            assert len(set(drawn)) == 1

    asyncio.run(scenario())


def test_slow_rows_leave_slots_to_other_owners() -> None:
    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            rows = [{"s": 0.05, "n": n} for n in range(200)]
            slow = asyncio.create_task(rewards(pool, program(ECHO, owner="a"), *rows))
            await until(lambda: pool.slots.held("a") == AT_ONCE)
            held: list[int] = []

            async def other(number: int) -> None:
                wanted = program(f"# {number}\n{ECHO}", owner="b")
                assert await rewards(pool, wanted, {"s": 0.1, "n": number}) == [number]
                held.append(pool.slots.held("a"))

            await asyncio.gather(*map(other, range(12)))
            assert min(held) <= AT_ONCE // 2
            assert not slow.done()
            assert await slow == list(range(200))

    asyncio.run(scenario())


@pytest.mark.parametrize("strict", [False, True])
def test_a_cancelled_call_with_many_runners_frees_its_slots_at_once_and_ends_them(strict: bool) -> None:
    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            assert await rewards(pool, program(GOOD, owner="b"), {}) == [0.5]
            zygote = await zygote_of(pool)
            wanted = replace(endless("a"), strict=strict)
            running = asyncio.create_task(grade(pool, wanted, *[{}] * 20))
            await until(lambda: pool.slots.held("a") == AT_ONCE)
            await until(lambda: len(children(zygote)) >= AT_ONCE + 1)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await asyncio.sleep(0)  # the lanes learn of it
            await asyncio.sleep(0)
            assert (pool.slots.holding, pool.slots.waiting) == (0, 0)
            await until(lambda: len(children(zygote)) == 1)

    asyncio.run(scenario())


def test_what_waits_for_a_slot_fails_when_the_sandbox_is_closed_and_starts_nothing() -> None:
    async def scenario() -> list[Any]:
        async with opened(at_once=1) as pool:
            tasks = await start(pool, [endless("a", number) for number in range(4)])
            await zygote_of(pool)
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks), 20)
        backend = pool._backend
        assert backend._zygotes == {}  # type: ignore[attr-defined]
        return [outcome.failure for (outcome,) in outcomes]

    failures = asyncio.run(scenario())
    assert set(failures) <= {"died", "sandbox"}
    assert failures[1:] == ["sandbox"] * 3
