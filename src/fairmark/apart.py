"""Rows that take a grader long to compute, in a process of their own: the caller's event loop stays free, and whatever
takes too long is killed.

Some metrics take time by the product of both texts' lengths. On a few megabytes that is minutes, which nothing inside
the process could stop.
"""

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from fairmark.errors import GradingFailed, TookTooLong
from fairmark.graders import waits
from fairmark.result import Grade, Result
from fairmark.spec import GraderSpec
from fairmark.work.pool import WORKER

LONG_ROW_BYTES = 100_000
"""A row below this takes no metric longer than some hundredths of a second."""
AT_ONCE = 2

_free: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


def worth_it(spec: GraderSpec, row_bytes: int) -> bool:
    """Whether a row of this length may take this grader long."""
    return row_bytes > LONG_ROW_BYTES and _computes(spec) and not waits(spec)


def _computes(spec: GraderSpec) -> bool:
    """Comparing is quick on any length; measuring is not."""
    return spec.type == "text_similarity" or any(map(_computes, spec.children.values()))


async def grade_apart(spec: GraderSpec, row: Any, timeout_s: float) -> Result:
    """The result of one data row, `{"item": …, "sample": …}`. Never raises for what the row does."""
    try:
        frames = [msgspec.msgpack.encode(spec.echo()), msgspec.msgpack.encode([row])]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _failed(spec, GradingFailed("a long row must not hold broken Unicode or a number beyond 64 bits."))
    async with _turn():
        try:
            async with asyncio.timeout(timeout_s):
                answer = await _ask(frames)
        except TimeoutError:
            return _failed(spec, TookTooLong(f"the row was not graded within {timeout_s:g} s."))
    if answer is None:
        return _failed(spec, GradingFailed("the process that graded the row died; it may have run out of memory."))
    ((*grade, seconds, warnings),) = answer
    return Result(spec, Grade(*grade), seconds, tuple(warnings))


def _failed(spec: GraderSpec, failure: GradingFailed) -> Result:
    return Result(spec, Grade.failed(failure), 0.0)


def _turn() -> asyncio.Semaphore:
    return _free.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))


async def _ask(frames: Sequence[bytes]) -> Any:
    """What a worker answers to these frames; None where it dies over them. Leaving early kills it."""
    worker = await asyncio.create_subprocess_exec(
        sys.executable, *WORKER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdin is not None  # noqa: S101  # both are pipes
    assert worker.stdout is not None  # noqa: S101
    try:
        for frame in frames:
            worker.stdin.write(len(frame).to_bytes(8) + frame)
        await worker.stdin.drain()
        length = int.from_bytes(await worker.stdout.readexactly(8))
        return msgspec.msgpack.decode(await worker.stdout.readexactly(length))
    except (OSError, EOFError):
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
        worker.stdin.close()
        await asyncio.shield(worker.wait())
