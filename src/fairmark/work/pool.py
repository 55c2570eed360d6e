"""More than one core for graders that compute: worker processes that grade chunks of rows.

A worker is a plain `python -m fairmark.work.worker`: no fork of the caller's threads and devices, no second import of
the caller's script. Chunks go in and grades come out by its pipes, as msgpack. It ends when its pipe does, so nothing
is left behind however the caller ends. Whatever a worker cannot take or does not answer is graded in the process of
the caller.
"""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import IO, Any

import msgspec

from fairmark.result import Grade, Result
from fairmark.spec import GraderSpec

WORKER = ("-m", "fairmark.work.worker", "fairmark.run:grade_stream")
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
        self._size = _cores() if workers is None else workers
        self._seen_rows = 0
        self._seen_s = 0.0
        self._workers: list[_Worker] = []

    def pays(self, rows: int, seconds: float) -> bool:
        """Told what a chunk took here: whether the rest should go to workers."""
        self._seen_rows += rows
        self._seen_s += seconds
        if self._size < 2 or self._seen_s < WORTH_STARTING_S:
            return False
        return self._seen_s / self._seen_rows > WORTH_SENDING_S

    def grade(self, chunks: Iterable[Chunk], here: GradeHere) -> Iterator[Result]:
        """The results of the chunks, in their order. `here` grades what no worker does."""
        idle: SimpleQueue[_Worker] = SimpleQueue()
        waiting: deque[tuple[Chunk, Future[list[Result] | None]]] = deque()
        threads: ThreadPoolExecutor | None = None
        try:
            for chunk in chunks:
                if threads is None:
                    threads = ThreadPoolExecutor(self._size)
                    self._workers = [_Worker(self._spec) for _ in range(self._size)]
                    for worker in self._workers:
                        idle.put(worker)
                waiting.append((chunk, threads.submit(_ask, idle, chunk)))
                if len(waiting) > 2 * self._size:
                    yield from _collect(waiting, here)
            while waiting:
                yield from _collect(waiting, here)
        finally:
            for worker in self._workers:
                worker.stop()
            if threads is not None:
                threads.shutdown(cancel_futures=True)


def _ask(idle: "SimpleQueue[_Worker]", chunk: Chunk) -> list[Result] | None:
    worker = idle.get()
    try:
        return worker.grade(chunk)
    finally:
        idle.put(worker)


def _collect(waiting: "deque[tuple[Chunk, Future[list[Result] | None]]]", here: GradeHere) -> list[Result]:
    chunk, future = waiting.popleft()
    return future.result() or here(chunk)


class _Worker:
    """One worker process, asked one chunk at a time."""

    def __init__(self, spec: GraderSpec) -> None:
        self._spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
                [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            send(self._process.stdin, msgspec.msgpack.encode(spec.echo()))
        except (OSError, ValueError):
            self.stop()

    def grade(self, chunk: Chunk) -> list[Result] | None:
        """The chunk's results, or None where this worker cannot tell them."""
        process = self._process
        if process is None:
            return None
        try:
            frame = msgspec.msgpack.encode(chunk, enc_hook=_plain)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None  # values that msgpack cannot carry, such as lone surrogates or numbers beyond 64 bits
        try:
            send(process.stdin, frame)
            answer = msgspec.msgpack.decode(receive(process.stdout))
        except (OSError, EOFError, ValueError):
            self.stop()
            return None
        return [Result(self._spec, Grade(*grade), seconds, tuple(warnings)) for *grade, seconds, warnings in answer]

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # it holds nothing that could be lost
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass  # what was buffered for a worker that is gone


def _plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def send(pipe: IO[bytes] | None, frame: bytes) -> None:
    """Write one frame: its length in eight bytes, then itself."""
    if pipe is None:
        raise EOFError
    pipe.write(len(frame).to_bytes(8) + frame)
    pipe.flush()


def receive(pipe: IO[bytes] | None) -> bytes:
    """Read one frame. EOFError where the other side is gone."""
    header = pipe.read(8) if pipe else b""
    frame = pipe.read(int.from_bytes(header)) if pipe and len(header) == 8 else b""
    if not header or len(frame) < int.from_bytes(header):
        raise EOFError
    return frame
