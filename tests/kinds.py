"""Kinds for tests of the engine: one that waits, one that breaks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from fairmark.context import Context
from fairmark.errors import GradingFailed
from fairmark.graders import KINDS, GradeRows, Kind
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec


class Waiting(GraderSpec):
    """Waits as long as the item says, then gives the item's reward."""

    type: Literal["waiting"]


class Breaking(GraderSpec):
    """Raises what no grader should."""

    type: Literal["breaking"]


class Meeting(GraderSpec):
    """Two of these finish only if both are under way at once."""

    type: Literal["meeting"]


class Watch:
    """How many waiting grades were under way at once, and how many were cut off."""

    running = 0
    most = 0
    cancelled = 0


async def wait(spec: Waiting, row: Row, ctx: Context) -> Grade:
    Watch.running += 1
    Watch.most = max(Watch.most, Watch.running)
    try:
        await asyncio.sleep(row.item.get("seconds", 0))
    except asyncio.CancelledError:
        Watch.cancelled += 1
        raise
    finally:
        Watch.running -= 1
    if "fail" in row.item:
        raise GradingFailed(row.item["fail"])
    return Grade(row.item.get("reward", 1.0))


def break_down(spec: Breaking, row: Row, ctx: Context) -> Grade:
    raise row.item.get("error", RuntimeError("boom"))


_meeting: list[asyncio.Event] = []


async def meet(spec: Meeting, row: Row, ctx: Context) -> Grade:
    if _meeting:
        _meeting.pop().set()
    else:
        arrived = asyncio.Event()
        _meeting.append(arrived)
        await asyncio.wait_for(arrived.wait(), timeout=30)
    return Grade(1.0)


def each(grade: Callable[[Any, Row, Context], Awaitable[Grade]]) -> GradeRows:
    """A function of one row as one of many."""

    async def one(spec: Any, row: Row, ctx: Context) -> Grade:
        try:
            return await grade(spec, row, ctx)
        except GradingFailed as failure:
            return Grade.failed(failure)

    async def all_of_them(spec: Any, rows: Sequence[Row], ctx: Context) -> list[Grade]:
        return list(await asyncio.gather(*(one(spec, row, ctx) for row in rows)))

    return all_of_them


@contextmanager
def installed() -> Iterator[None]:
    """The kinds above stand in the table for a while."""
    KINDS["waiting"] = Kind(Waiting, batch=each(wait), waits=lambda spec: True)
    KINDS["breaking"] = Kind(Breaking, pure=break_down)
    KINDS["meeting"] = Kind(Meeting, batch=each(meet), waits=lambda spec: True)
    Watch.running = Watch.most = Watch.cancelled = 0
    try:
        yield
    finally:
        for name in ("waiting", "breaking", "meeting"):
            del KINDS[name]
