"""More than one core for graders that compute: worker processes that grade chunks of rows.

A worker is a plain `python -m fairmark.work.worker`: no fork of the caller's threads and devices, no second import of
the caller's script. Chunks go in and grades come out by its pipes, as msgpack. It ends when its pipe does, so nothing
is left behind however the caller ends. Whatever a worker cannot take or does not answer is graded in the process of
the caller.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.work.process import NotSent, WorkerDied, WorkerProcess

WORTH_STARTING_S = 0.25
"""Seconds of work seen before workers are started: starting them costs about as much."""
WORTH_SENDING_S = 40e-6
"""Seconds a row must take: a row costs about a quarter of this to send there and back."""

Chunk = list[Any]
GradeHere = Callable[[Chunk], list[Result]]


class Pool:
    """Workers for one grader. They start when the first chunk is sent and end with the last."""

    def __init__(self, spec: GraderSpec, workers: int | None) -> None:
        self._spec = spec
        self._size = cores() if workers is None else workers
        self._seen_rows = 0
        self._seen_s = 0.0
        self._workers: list[WorkerProcess] = []

    def pays(self, rows: int, seconds: float) -> bool:
        """Told what a chunk took here: whether the rest should go to workers."""
        self._seen_rows += rows
        self._seen_s += seconds
        if self._size < 2 or self._seen_s < WORTH_STARTING_S:
            return False
        return self._seen_s / self._seen_rows > WORTH_SENDING_S

    def grade(self, chunks: Iterable[Chunk], here: GradeHere) -> Iterator[Result]:
        """The results of the chunks, in their order. `here` grades what no worker does."""
        idle: SimpleQueue[WorkerProcess] = SimpleQueue()
        waiting: deque[tuple[Chunk, Future[list[Result] | None]]] = deque()
        threads: ThreadPoolExecutor | None = None
        try:
            for chunk in chunks:
                if threads is None:
                    threads = ThreadPoolExecutor(self._size)
                    self._workers = [WorkerProcess() for _ in range(self._size)]
                    for worker in self._workers:
                        idle.put(worker)
                waiting.append((chunk, threads.submit(_ask, idle, self._spec, chunk)))
                if len(waiting) > 2 * self._size:
                    yield from _collect(waiting, here)
            while waiting:
                yield from _collect(waiting, here)
        finally:
            for worker in self._workers:
                worker.stop()
            if threads is not None:
                threads.shutdown(cancel_futures=True)


def _ask(idle: SimpleQueue[WorkerProcess], spec: GraderSpec, chunk: Chunk) -> list[Result] | None:
    """The chunk's results; None where the worker cannot tell them."""
    worker = idle.get()
    try:
        return worker.grade(spec, chunk)
    except (NotSent, WorkerDied):
        return None
    finally:
        idle.put(worker)


def _collect(waiting: "deque[tuple[Chunk, Future[list[Result] | None]]]", here: GradeHere) -> list[Result]:
    chunk, future = waiting.popleft()
    return future.result() or here(chunk)


_cores: int | None = None


def use_cores(count: int) -> None:
    """From now on this process uses so many: others like it have the rest."""
    global _cores
    _cores = count


def cores() -> int:
    if _cores is not None:
        return _cores
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
