"""Worker processes for rows that would hold an event loop which others need too. Owners share them fairly.

They start when they are needed and end when nobody needed them for a while, or with this process: each ends when its
pipe does.
"""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.work import counts
from fairmark.work.eventloop import on_own_loop
from fairmark.work.fair import FairSlots
from fairmark.work.pool import cores
from fairmark.work.process import WorkerProcess

IDLE_S = 60.0
SPARE = 2
"""Workers beyond the number of cores, for owners who have none while others hold all of them for long."""


STARTS = counts.counter("fairmark_worker_starts_total", "Worker processes started for rows that compute.")
KILLS = counts.counter("fairmark_worker_kills_total", "Worker processes killed at a limit, or because nobody waited.")


class Crew:
    """As many workers as cores. It lives on the process's own event loop; `grade` may be called on any."""

    def __init__(self, size: int | None = None) -> None:
        self._size = size or cores()
        self._slots = FairSlots(self._size, spare=SPARE, what="worker")
        self._threads = ThreadPoolExecutor(self._size + SPARE, "fairmark-crew")
        self._idle: list[tuple[WorkerProcess, asyncio.TimerHandle]] = []

    async def grade_all(self, owner: str, spec: GraderSpec, rows: list[Any], timeout_s: float) -> list[Result]:
        """The results of data rows, `{"item": …, "sample": …}` each, by one worker.

        Raises NotSent, WorkerDied, or TimeoutError where it took longer; the time spent in the queue does not count.
        Leaving early kills what is being done.
        """
        return await on_own_loop(self._grade(owner, spec, rows, timeout_s))

    async def _grade(self, owner: str, spec: GraderSpec, rows: list[Any], timeout_s: float) -> list[Result]:
        async with self._slots.turn(owner):
            worker = self._take(spec)
            asked = asyncio.get_running_loop().run_in_executor(self._threads, worker.grade, spec, rows)
            try:
                async with asyncio.timeout(timeout_s):
                    return await asyncio.shield(asked)
            finally:
                if not asked.done():
                    KILLS.add()
                    worker.kill()
                    await asyncio.wait([asked])
                    asked.exception()  # that it died is no news
                    worker.stop()
                self._give_back(worker)

    def _take(self, spec: GraderSpec) -> WorkerProcess:
        """One that knows the grader, if there is one: another has to read it first."""
        if not self._idle:
            STARTS.add()
            return WorkerProcess()
        knowing = (place for place, (worker, _) in enumerate(self._idle) if worker.knows(spec))
        worker, ending = self._idle.pop(next(knowing, -1))
        ending.cancel()
        return worker

    def _give_back(self, worker: WorkerProcess) -> None:
        if worker.alive:
            ending = asyncio.get_running_loop().call_later(IDLE_S, self._end, worker)
            self._idle.append((worker, ending))

    def _end(self, worker: WorkerProcess) -> None:
        self._idle = [(other, ending) for other, ending in self._idle if other is not worker]
        worker.stop()


_crew: tuple[int, Crew] | None = None


def crew() -> Crew:
    """The crew of this process. A forked child has one of its own: it must not use its parent's pipes."""
    global _crew
    if _crew is None or _crew[0] != os.getpid():
        _crew = (os.getpid(), Crew())
    return _crew[1]
