"""One worker process, seen from the side that asks it."""

import subprocess
import sys
from typing import Any

from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.work.frames import CANNOT_BE_SENT, UNKNOWN_GRADER, WORKER, pack_order, read_results, receive, send


class NotSent(Exception):
    """Rows hold values that cannot go to another process; the worker is as good as before."""


class WorkerDied(Exception):
    """The worker ended before it answered, or could not be started. `knew_grader`: it could read the grader."""

    def __init__(self, knew_grader: bool = True) -> None:
        super().__init__()
        self.knew_grader = knew_grader


class WorkerProcess:
    """Asked one order at a time, by one thread at a time. `kill` may come from any thread: the order then ends."""

    def __init__(self) -> None:
        self._known: GraderSpec | None = None
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
                [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError:
            pass  # told when it is asked

    @property
    def alive(self) -> bool:
        return self._process is not None

    def knows(self, spec: GraderSpec) -> bool:
        """Whether the grader of its last order was this one."""
        return self._known is spec

    def grade(self, spec: GraderSpec, rows: list[Any]) -> list[Result]:
        """The results of data rows, `{"item": …, "sample": …}` each. Raises NotSent or WorkerDied."""
        process = self._process
        if process is None:
            raise WorkerDied
        try:
            order = pack_order(None if spec is self._known else spec, rows)
        except CANNOT_BE_SENT as error:
            raise NotSent from error
        try:
            send(process.stdin, order)
            answer = receive(process.stdout)
        except (OSError, EOFError, ValueError):  # ValueError: its pipes were closed meanwhile
            raise WorkerDied(knew_grader=self.stop() != UNKNOWN_GRADER) from None
        self._known = spec
        return read_results(spec, answer)

    def kill(self) -> None:
        """Ends what it is doing; whoever waits for it is told."""
        if self._process is not None:
            self._process.kill()  # it holds nothing that could be lost

    def stop(self) -> int:
        """How it ended: a signal's number below 0, or its own word."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass  # what was buffered for a worker that is gone
        return process.returncode
