"""The process that trains, seen from its worker: it tells what it does in lines of JSON, and dies with its worker.

Its standard input is kept open: a line asks it to stop at the next step, the end of it makes it end at once. So nothing
is left where a worker is killed. What it says to people goes to a log file.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.training.folder import JobFolder

COMMAND = (sys.executable, "-m", "fairmark.training.grpo")
ENDS_WITHIN_S = 10.0
LONGEST_LINE = 4_000_000
TAIL_BYTES = 4000
STOP = b"stop\n"


class TrainerProcess:
    def __init__(self, folder: JobFolder, command: Sequence[str] = COMMAND) -> None:
        with folder.log.open("ab") as log:
            self._log_begins = log.tell()
            self._process = subprocess.Popen(  # noqa: S603  # our own module
                [*command, str(folder.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder.path,
                env=offline_environment(),
                start_new_session=True,  # so that it can be ended with all that it started
            )
        self._log = folder.log
        self._told: queue.Queue[dict[str, Any] | None] = queue.Queue(maxsize=1000)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._has_ended = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has ended and all that it told was taken."""
        return self._has_ended

    def next(self, within_s: float) -> dict[str, Any] | None:
        """What it tells next; None where that is nothing within this time, or where it has ended."""
        try:
            told = self._told.get(timeout=within_s)
        except queue.Empty:
            return None
        if told is None:
            self._has_ended = True
        return told

    def ask_to_stop(self) -> None:
        """It saves a checkpoint after the step it is in, and ends."""
        assert self._process.stdin is not None  # noqa: S101  # asked for above
        with contextlib.suppress(OSError, ValueError):  # it is gone already
            self._process.stdin.write(STOP)
            self._process.stdin.flush()

    def end(self) -> int:
        """Its exit code; it is gone after this, with all that it started."""
        try:
            return self._process.wait(ENDS_WITHIN_S if self._has_ended else 0)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._drain()
        return self._process.wait(ENDS_WITHIN_S)

    def _drain(self) -> None:
        """Lets the reader come to its end."""
        until = time.monotonic() + ENDS_WITHIN_S
        while self._reader.is_alive() and time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                self._told.get(timeout=0.05)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def tail(self) -> str:
        """The last lines it said to people."""
        with self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_begins, size - TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
        return "\n".join(line for line in lines[-12:] if line.strip())

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  # asked for above
        with contextlib.suppress(OSError, ValueError):
            while line := self._process.stdout.readline(LONGEST_LINE):
                with contextlib.suppress(jsontext.NotJson):
                    told = jsontext.decode(line)
                    if isinstance(told, dict):
                        self._told.put(told)
        self._told.put(None)


def ended_in_words(code: int) -> str:
    if code >= 0:
        return f"it ended with exit code {code}"
    number = -code
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    why = ", which the system sends where memory runs out" if number == signal.SIGKILL else ""
    return f"it was ended by {name}{why}"


def offline_environment() -> dict[str, str]:
    """Models are folders here, so that nothing has to be fetched; and nobody is told of it."""
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    own = {name: value for name, value in os.environ.items() if name != "FAIRMARK_API_KEY"}
    offline = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {**offline, **own, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
