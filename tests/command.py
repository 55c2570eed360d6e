"""The `fairmark` command as a process of its own, forked by a process that has its imports behind it.

A cold start of Python with all of Fairmark takes most of a second of a core, and the suite runs the command many
hundred times. What is forked here has its own arguments, environment, folder and streams, and is signalled, waited for
and killed like any other process. Tests of the start itself ask for a `cold` one.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

COLD = Path(sys.executable).parent / "fairmark"
ZYGOTE = Path(__file__).with_name("zygote.py")
# What Python itself reads when it starts: too late for a forked process.
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "TERM", "FORCE_COLOR", "PY_COLORS", "NO_COLOR")


class Command:
    """Like subprocess.Popen, as far as it goes; its parent is the zygote."""

    def __init__(self, pid: int, end: int, arguments: Sequence[str], stdout: IO[str] | None = None) -> None:
        self.pid = pid
        self.args = [str(COLD), *arguments]
        self.returncode: int | None = None
        self.stdout = stdout
        self._end = end

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], timeout_s)[0]:
            told = os.read(self._end, 16)
            assert told, "the zygote is gone"
            self.returncode = int(told)
            os.close(self._end)
        return self.returncode


class Zygote:
    """The process that forks. It ends, and all that it has forked with it, when this process does."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", ZYGOTE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={"PATH": "/usr/bin:/bin", **_measuring()},
            )
        atexit.register(self.stop)

    def stop(self) -> None:
        self._control.close()
        self._process.wait(60)

    def fork(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Sequence[int]
    ) -> tuple[int, int]:
        """(the command's pid, where its exit code will be told)."""
        order = json.dumps({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}).encode()
        end, told = os.pipe()
        try:
            with self._lock:
                socket.send_fds(self._control, [order], [*streams, told])
                return int(self._control.recv(32)), end
        finally:
            os.close(told)


def _measuring() -> dict[str, str]:
    """What makes a process of Python measure its coverage, where this one does."""
    return {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_PROCESS_")}


_zygotes: dict[int, Zygote] = {}


def start(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], stderr: IO[Any], cold: bool = False
) -> "Command | subprocess.Popen[str]":
    """The command, with nothing to read and its output in a pipe."""
    if cold or _is_for_python(env):
        return subprocess.Popen(
            [COLD, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, cwd=cwd, env=env, text=True,
        )  # fmt: skip
    out, theirs = os.pipe()
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # a device, not a file
        try:
            forked = _zygote().fork(arguments, cwd, env, [nothing.fileno(), theirs, stderr.fileno()])
        finally:
            os.close(theirs)
    return Command(*forked, arguments, os.fdopen(out, encoding="utf-8"))


def run(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str = "",
    timeout_s: float = 120,
    cold: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """The command's exit code and all it said."""
    if cold or _is_for_python(env):
        return subprocess.run(
            [COLD, *arguments],
            input=stdin, capture_output=True, text=True, cwd=cwd, env=env, timeout=timeout_s, check=False,
        )  # fmt: skip
    with _text() as read, _text() as said, _text() as complained:
        read.write(stdin)
        read.seek(0)
        streams = [read.fileno(), said.fileno(), complained.fileno()]
        command = Command(*_zygote().fork(arguments, cwd, env, streams), arguments)
        try:
            code = command.wait(timeout_s)
        finally:
            command.kill()
        said.seek(0)
        complained.seek(0)
        return subprocess.CompletedProcess([str(COLD), *arguments], code, said.read(), complained.read())


def _is_for_python(env: Mapping[str, str]) -> bool:
    return any(name.startswith(READ_AT_START) for name in env)


def _text() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8")


def _zygote() -> Zygote:
    """One for this process; a fork of it needs its own."""
    if os.getpid() not in _zygotes:
        _zygotes[os.getpid()] = Zygote()
    return _zygotes[os.getpid()]
