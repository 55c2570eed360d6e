"""A real sandbox for a test, and a look at the processes behind it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fairmark.sandbox.base import MB, Limits, Outcome, Policy, Program
from fairmark.sandbox.bubblewrap import Bubblewrap
from fairmark.sandbox.pool import RunnerPool

LIMITS = Limits(wall_s=10.0, memory_bytes=256 * MB, disk_bytes=16 * MB, cpus=1)


@asynccontextmanager
async def opened(at_once: int = 4) -> AsyncIterator[RunnerPool]:
    """A sandbox of this event loop alone."""
    pool = RunnerPool(Policy(python=LIMITS, function=LIMITS), Bubblewrap(lambda tag: None), at_once)
    try:
        yield pool
    finally:
        await pool.close()


def program(source: str, *, strict: bool = False, owner: str = "", limits: Limits = LIMITS) -> Program:
    return Program(source, "python", limits, strict, owner=owner)


async def grade(pool: RunnerPool, wanted: Program, *items: Any) -> list[Outcome]:
    """The outcomes of grading these items, with no sample; of one empty item where none is given."""
    return await pool.run(wanted, [({}, item) for item in items or ({},)])


async def rewards(pool: RunnerPool, wanted: Program, *items: Any) -> list[float]:
    outcomes = await grade(pool, wanted, *items)
    assert [outcome.failure for outcome in outcomes] == [None] * len(outcomes), outcomes
    return [outcome.reward for outcome in outcomes]


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_running(pid: int) -> bool:
    """Whether a process still does anything; one that waits for its parent to notice its end does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


async def zygote_of(pool: RunnerPool) -> int:
    """The process number of the pool's only zygote: bubblewrap's only child."""
    backend = pool._backend
    assert isinstance(backend, Bubblewrap)
    (task,) = backend._zygotes.values()
    (pid,) = children((await task)._process.pid)
    return pid


async def runners_of(pool: RunnerPool, count: int = 1) -> list[int]:
    """The process numbers of the pool's runners, once there are so many, and nobody who made them or has ended."""
    zygote = await zygote_of(pool)
    await until(lambda: [_depth(pid) for pid in children(zygote)] == [_depth(zygote) + 1] * count)
    return children(zygote)


def _depth(pid: int) -> int:
    """How many namespaces of processes one inside the other a process is in."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(len(line.split()) for line in lines if line.startswith("NSpid:"))


async def until(is_so: Callable[[], bool], patience_s: float = 5.0) -> None:
    """Wait until something is so; fail when it does not become so."""
    end = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < end, "it did not become so in time"
        await asyncio.sleep(0.01)
