"""Zygotes: replaced when they die, bounded in number, and none stopped for another while it works."""

import asyncio
import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from fairmark.sandbox import bubblewrap
from fairmark.sandbox.base import Program
from fairmark.sandbox.zygotes import Zygote
from tests.sandbox.pools import children, grade, is_running, opened, program, rewards, until, zygote_of
from tests.sandbox.sources import COUNTS, ENDLESS, GOOD


def test_a_killed_zygote_fails_the_grade_that_runs_and_no_other() -> None:
    async def run() -> None:
        async with opened() as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            running = asyncio.create_task(grade(pool, program(ENDLESS), {"loop": True}))
            killed = await zygote_of(pool)
            await until(lambda: len(children(killed)) == 2)
            await asyncio.sleep(0.1)
            os.kill(killed, signal.SIGKILL)
            (outcome,) = await running
            assert (outcome.reward, outcome.failure) == (0.0, "died")
            await until(lambda: not is_running(killed))
            await asyncio.sleep(0.1)
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            assert await zygote_of(pool) != killed

    asyncio.run(run())


def test_a_killed_bubblewrap_is_replaced_and_what_was_inside_ends() -> None:
    async def run() -> None:
        async with opened() as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            zygote = await zygote_of(pool)
            inside = [zygote, *children(zygote)]
            parent = int(Path(f"/proc/{zygote}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(parent, signal.SIGKILL)
            await until(lambda: not is_running(parent))
            assert await rewards(pool, program(COUNTS), {}) == [1.0]
            await until(lambda: not any(map(is_running, inside)))

    asyncio.run(run())


def test_different_profiles_leave_a_bounded_number_of_zygotes() -> None:
    async def run() -> None:
        async with opened() as pool:
            backend = pool._backend
            assert isinstance(backend, bubblewrap.Bubblewrap)
            for package in ("json", "csv", "html", "wave", "bz2", "lzma", "zlib", "gzip"):
                wanted = replace(program(GOOD), packages=frozenset({package}))
                assert await rewards(pool, wanted, {}) == [0.5]
                assert len(backend._zygotes) <= bubblewrap.MAX_ZYGOTES

    asyncio.run(run())


def test_a_zygote_that_forks_for_somebody_is_not_stopped_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    busy: list[bool] = []
    order = Zygote._order

    async def watched(zygote: Zygote, wanted: Program) -> tuple[socket.socket, int]:
        busy.append(zygote.is_busy)
        return await order(zygote, wanted)

    async def run() -> None:
        async with opened() as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]

    monkeypatch.setattr(Zygote, "_order", watched)
    asyncio.run(run())
    assert busy == [True, True]  # for the probe, and for the program


def test_closing_while_the_first_zygote_starts_leaves_no_process() -> None:
    async def run() -> None:
        before = set(children(os.getpid()))
        async with opened() as pool:
            waiting = asyncio.create_task(grade(pool, program(GOOD)))
            await until(lambda: set(children(os.getpid())) > before)
        await asyncio.gather(waiting, return_exceptions=True)
        await until(lambda: set(children(os.getpid())) <= before)

    asyncio.run(run())
