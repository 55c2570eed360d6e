"""How processes begin and end: with the service, with their work, and never later."""

import asyncio
import json
import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

import fairmark
from fairmark.sandbox import pool as pools
from fairmark.sandbox.base import Outcome
from tests.sandbox.pools import children, grade, is_running, opened, program, rewards, runners_of, until, zygote_of
from tests.sandbox.sources import COUNTS, ENDLESS, GOOD, spec
from tests.sandbox.users import CHECKOUT, USERS, User, environment, home_of, run_as

AT_ONCE = 4


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def test_a_killed_runner_fails_its_grade_and_leaves_its_siblings_alone() -> None:
    async def run() -> None:
        async with opened() as pool:
            assert await rewards(pool, program(COUNTS), {}) == [1.0]
            (sibling,) = await runners_of(pool)
            running = asyncio.create_task(grade(pool, program(ENDLESS), {"loop": True}))
            zygote = await zygote_of(pool)
            await until(lambda: len(children(zygote)) == 2)
            await asyncio.sleep(0.1)
            (victim,) = set(await runners_of(pool, 2)) - {sibling}
            os.kill(victim, signal.SIGKILL)
            assert await running == [Outcome(failure="died", details="the grader's process ended by itself")]
            assert await rewards(pool, program(COUNTS), {}) == [2.0]

    asyncio.run(run())


# Services that grade without end, each under a keeper whom everything it leaves behind falls to.
KILLED = """
import ctypes, os, signal, sys, threading, time
sys.path.insert(0, {checkout!r})
os.environ["FAIRMARK_SANDBOX_RUNNERS"] = "4"
import fairmark
from tests.sandbox.driver import PR_SET_CHILD_SUBREAPER, processes_left
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
grader = {{"type": "python", "name": "g", "source": {source!r}}}


def serve():
    fairmark.grade(grader)
    threading.Thread(target=fairmark.grade, args=(grader, "", {{"loop": True}}), daemon=True).start()
    time.sleep(0.3)
    os.write(theirs, b"x")


for number, end in (
    (signal.SIGKILL, lambda: time.sleep(60)),
    (signal.SIGTERM, lambda: time.sleep(60)),
    (None, lambda: os._exit(0)),
    (None, sys.exit),
):
    ours, theirs = os.pipe()
    service = os.fork()
    if service == 0:
        serve()
        end()
    os.close(theirs)
    assert os.read(ours, 1) == b"x"
    if number is not None:
        os.kill(service, number)
    status = os.waitstatus_to_exitcode(os.waitpid(service, 0)[1])
    print(status, processes_left(), flush=True)
"""


@pytest.mark.parametrize("user", USERS)
def test_nothing_outlives_the_service_however_it_ends(user: User) -> None:
    """Killed, told to end, and by itself without and with a look back."""
    script = KILLED.format(checkout=str(CHECKOUT), source=ENDLESS)
    home = home_of(user)
    try:
        settings = environment(home, FAIRMARK_PYTHON_TIMEOUT_S="60")
        done = run_as(user, [sys.executable, "-c", script], "", settings)
    finally:
        shutil.rmtree(home)
    assert (done.stdout, done.stderr) == ("-9 []\n-15 []\n0 []\n0 []\n", "")


def test_two_hundred_graders_leave_a_bounded_number_of_processes_and_descriptors_and_little_memory() -> None:
    async def run() -> None:
        async with opened(AT_ONCE) as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            zygote = await zygote_of(pool)
            before, memory = descriptors(), resident_mb()
            for number in range(200):
                source = f"def grade(sample, item):\n    return {number}\n"
                assert await rewards(pool, program(source, strict=number % 4 == 0), {}) == [number]
                assert len(children(zygote)) <= pools.MAX_IDLE_RUNNERS + 2 * AT_ONCE
            await until(lambda: len(children(zygote)) <= pools.MAX_IDLE_RUNNERS)
            # A channel and a handle each.
            assert descriptors() - before <= 2 * pools.MAX_IDLE_RUNNERS
            assert resident_mb() - memory < 16

    asyncio.run(run())


def test_a_runner_that_waits_too_long_for_work_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened() as pool:
            assert await rewards(pool, program(COUNTS), {}) == [1.0]
            zygote = await zygote_of(pool)
            await until(lambda: not children(zygote))
            assert await rewards(pool, program(COUNTS), {}) == [1.0]

    monkeypatch.setattr(pools, "IDLE_LIMIT_S", 0.3)
    asyncio.run(run())


def test_a_runner_that_works_again_in_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened() as pool:
            for count in range(1, 7):
                assert await rewards(pool, program(COUNTS), {}) == [count]
                await asyncio.sleep(0.3)

    monkeypatch.setattr(pools, "IDLE_LIMIT_S", 1.2)
    asyncio.run(run())


@pytest.mark.parametrize("strict", [False, True])
def test_a_cancelled_grade_ends_its_runner(strict: bool) -> None:
    async def run() -> None:
        async with opened() as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            (idle,) = await runners_of(pool)
            zygote = await zygote_of(pool)
            running = asyncio.create_task(grade(pool, program(ENDLESS, strict=strict), {"loop": True}))
            await until(lambda: len(children(zygote)) == 2)
            await asyncio.sleep(0.2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert pool.slots.holding == 0
            await until(lambda: len(children(zygote)) == 1)
            assert idle in children(zygote)

    asyncio.run(run())


def test_grades_cancelled_at_any_moment_leave_nothing_running() -> None:
    async def run() -> None:
        async with opened(at_once=2) as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            zygote, before = await zygote_of(pool), descriptors()
            for delay_ms in range(0, 40, 2):
                source = f"# {delay_ms}\n{ENDLESS}"
                running = asyncio.create_task(grade(pool, program(source), {"loop": True}))
                await asyncio.sleep(delay_ms / 1000)
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
            await until(lambda: len(children(zygote)) == 1)
            await until(lambda: descriptors() == before)
            assert await rewards(pool, program(GOOD), {}) == [0.5]

    asyncio.run(run())


def test_closing_ends_everything_even_what_runs() -> None:
    async def run() -> tuple[list[int], list[Outcome]]:
        async with opened() as pool:
            assert await rewards(pool, program(GOOD), {}) == [0.5]
            running = asyncio.create_task(grade(pool, program(ENDLESS), {"loop": True}))
            zygote = await zygote_of(pool)
            await until(lambda: len(children(zygote)) == 2)
            await asyncio.sleep(0.1)
            processes = [zygote, *children(zygote)]
        return processes, await asyncio.wait_for(running, 5)

    processes, (outcome,) = asyncio.run(run())
    assert outcome.failure in {"died", "sandbox"}
    end = time.monotonic() + 5
    while any(map(is_running, processes)):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_result_of_a_killed_grader_names_the_flag_and_its_kind() -> None:
    result = fairmark.grade(spec("import os\ndef grade(sample, item):\n    os._exit(1)\n"))
    errors = {key: value for key, value in json.loads(result.model_dump_json())["metadata"]["errors"].items() if value}
    assert errors == {"python_grader_server_error": True, "python_grader_server_error_type": "died"}
