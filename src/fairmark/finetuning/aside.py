"""Work on whole files beside the event loop: in threads, of which projects have fair shares, and stopped when asked."""

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fairmark.store.base.contents import NewContent
from fairmark.work.fair import FairSlots

AT_ONCE = 2
"""Files that are gone through at the same time, of all projects."""
SPARE = 2
"""More of them for projects that have none, while others hold those for long."""

WORK_S, REST_S = 0.004, 0.002
"""A thread that computes rests so long after so much work: the event loop needs the interpreter, too."""

T = TypeVar("T")
Stopped = Callable[[], bool]
"""Whether nobody waits for the work any more. To be asked after each row: it also makes the work rest now and then."""


class WorkStopped(Exception):  # a message inside this room
    """Nobody waits for this any more."""


class Aside:
    """Lives on one event loop."""

    def __init__(self) -> None:
        self._slots = FairSlots(AT_ONCE, spare=SPARE)

    async def run(self, project: str, work: Callable[[Stopped], T]) -> T:
        """What `work` gives. Whoever is cancelled meanwhile waits until it has ended, which it does soon."""
        stop = threading.Event()
        async with self._slots.turn(project):
            task = asyncio.ensure_future(asyncio.to_thread(work, _Turns(stop)))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                stop.set()
                await asyncio.wait([task])
                task.cancelled() or task.exception()  # which is nobody's now
                raise


class _Turns:
    """Asked after each row by the thread that works."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._rests_at = time.monotonic() + WORK_S

    def __call__(self) -> bool:
        if time.monotonic() < self._rests_at:
            return self._stop.is_set()
        stopped = self._stop.wait(REST_S)
        self._rests_at = time.monotonic() + WORK_S
        return stopped


def write_file(path: Path, fill: Callable[[Callable[[bytes], None]], None]) -> int:
    """Writes a file of the store: all of it or nothing, whoever else writes the same at the moment; how many bytes.

    `fill` is given what writes. Raises StoreUnavailable or DiskFull where the disk takes no more.
    """
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    content = NewContent(own)
    written = 0

    def write(data: bytes) -> None:
        nonlocal written
        content.write(data)
        written += len(data)

    content.open()
    try:
        fill(write)
        content.finish()
        os.replace(own, path)  # noqa: PTH105  # as Path.replace, and clearer beside the other two
    except BaseException:
        content.discard()
        raise
    return written
