"""Programs of others that take their time: run to their end, watched line by line, and ended with us."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Done(NamedTuple):
    code: int
    lines: list[str]
    """What it printed, on stdout and stderr."""


def run(
    command: Sequence[str | Path],
    folder: Path,
    environment: dict[str, str],
    each_line: Callable[[str], None] = lambda line: None,
    timeout_s: float | None = None,
) -> Done:
    """Run a program in `folder`. Whatever stops us, or the timeout, ends it together with all that it started."""
    # A signal that stopped us between the start and the `try` would leave a child that nobody knows.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    try:
        process = _start(command, folder, environment)
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return Done(127, [f"{command[0]}: {(error.strerror or str(error)).lower()}"])
    assert process.stdout is not None  # noqa: S101  # a pipe was asked for
    timer = threading.Timer(timeout_s or 0, _end, [process])
    lines: list[str] = []
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if timeout_s is not None:
            timer.start()
        for line in process.stdout:
            lines.append(line.rstrip())
            each_line(lines[-1])
        return Done(process.wait(), lines)
    finally:
        timer.cancel()
        _end(process)
        process.stdout.read()  # to its end: the last of those that could still write files is gone
        process.stdout.close()
        process.wait()


def _start(command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603  # commands of ours, no shell
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
