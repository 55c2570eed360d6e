"""The `fairmark` command as a process of its own, forked by a process that has its imports behind it.

A cold start of Python with all of Fairmark takes most of a second of a core, and the suite runs the command many
hundred times. What is forked here has its own arguments, environment, folder and streams, and is signalled, waited for
and killed like any other process. Tests of the start itself ask for a `cold` one. Servers of all kinds are started this
way, because nothing of it outlives the tests, however they end. What calls `fairmark` by its name, as examples in a
shell do, has it forked too, with `folder` on its PATH.
"""

import atexit
import contextlib
import json
import os
import select
import shutil
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


# The `fairmark` of `folder`: hands its streams to the zygote, and ends as what is forked there does.
LAUNCHER = """#!{python} -ISs
import array, os, signal, sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket
from _json import encode_basestring_ascii as text

if any(name.startswith({cold_for!r}) for name in os.environ):
    os.execv({cold!r}, sys.argv)
end, told = os.pipe()
words = ", ".join(map(text, sys.argv[1:]))
environment = ", ".join(text(name) + ": " + text(value) for name, value in os.environ.items())
order = '{{"arguments": [' + words + '], "cwd": ' + text(os.getcwd()) + ', "env": {{' + environment + "}}}}"
caller = socket(AF_UNIX, SOCK_SEQPACKET)
caller.connect({address!r})
caller.sendmsg([order.encode()], [(SOL_SOCKET, SCM_RIGHTS, array.array("i", [0, 1, 2, told]))])
os.close(told)
pid = int(caller.recv(32))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: os.kill(pid, number))
code = int(os.read(end, 16))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


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
            with contextlib.suppress(ProcessLookupError):  # it has ended, and its end will be told in a moment
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
        self.folder = Path(tempfile.mkdtemp(prefix="fairmark-command-"))
        """What has it on its PATH calls `fairmark` by its name and has it forked here."""
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.bind(str(self.folder / "door"))
            door.listen(64)
            passed = [theirs.fileno(), door.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, "-P", ZYGOTE, *map(str, passed)],
                stdin=subprocess.DEVNULL,
                pass_fds=passed,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
            )
        launcher = self.folder / "fairmark"
        launcher.write_text(_launcher(self.folder / "door"))
        launcher.chmod(0o755)
        atexit.register(self.stop)

    def stop(self) -> None:
        self._control.close()
        self._process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)  # it may be stopped twice

    def fork(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Sequence[int], **more: str
    ) -> tuple[int, int]:
        """(the command's pid, where its exit code will be told)."""
        return self._order({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), **more}, streams)

    def start(
        self,
        program: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        streams: Sequence[int],
        user: tuple[int, int] | None = None,
    ) -> tuple[int, int]:
        """The same for any program, as another user and group where they are named."""
        return self._order({"program": list(program), "cwd": str(cwd), "env": dict(env), "user": user}, streams)

    def _order(self, what: Mapping[str, Any], streams: Sequence[int]) -> tuple[int, int]:
        order = json.dumps(what).encode()
        end, told = os.pipe()
        try:
            with self._lock:
                socket.send_fds(self._control, [order], [*streams, told])
                return int(self._control.recv(32)), end
        finally:
            os.close(told)


def _launcher(door: Path) -> str:
    # A shell may have a language of its own: what we write is UTF-8 in all of them.
    cold_for = tuple(name for name in READ_AT_START if name not in ("LANG", "LC_", "TERM"))
    return LAUNCHER.format(python=sys.executable, address=str(door), cold_for=cold_for, cold=str(COLD))


_zygotes: dict[int, Zygote] = {}


def folder() -> Path:
    """Has a `fairmark` for the PATH of shells and scripts that is forked, as those of `start` and `run` are."""
    return _zygote().folder


def start(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stderr: IO[Any],
    cold: bool = False,
    enter: Sequence[str] = (),
) -> Command:
    """The command, with nothing to read and its output in a pipe. `enter` is a command that starts others."""
    out, theirs = os.pipe()
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # a device, not a file
        streams = [nothing.fileno(), theirs, stderr.fileno()]
        try:
            if cold or enter or _is_for_python(env):
                forked = _zygote().start([*(enter and _found(enter)), str(COLD), *arguments], cwd, env, streams)
            else:
                forked = _zygote().fork(arguments, cwd, env, streams)
        finally:
            os.close(theirs)
    return Command(*forked, arguments, os.fdopen(out, encoding="utf-8"))


def start_program(
    program: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: IO[Any], user: tuple[int, int] | None = None
) -> Command:
    """Any program, with nothing to read and all that it says in a file."""
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # a device, not a file
        streams = [nothing.fileno(), output.fileno(), output.fileno()]
        return Command(*_zygote().start(_found(program), cwd, env, streams, user), program[1:])


def _found(program: Sequence[str]) -> list[str]:
    path = shutil.which(program[0])
    assert path, f"{program[0]} is not installed"
    return [path, *program[1:]]


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
    return _forked(arguments, cwd, env, stdin, timeout_s)


def python(
    code: str, *arguments: str, env: Mapping[str, str], cwd: Path = Path("/"), stdin: str = "", timeout_s: float = 120
) -> "subprocess.CompletedProcess[str]":
    """As `python -c`, where Fairmark is imported already: for code that does not ask what is imported."""
    return _forked(arguments, cwd, env, stdin, timeout_s, code=code)


def _forked(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: str, timeout_s: float, **more: str
) -> "subprocess.CompletedProcess[str]":
    with _text() as read, _text() as said, _text() as complained:
        read.write(stdin)
        read.seek(0)
        streams = [read.fileno(), said.fileno(), complained.fileno()]
        command = Command(*_zygote().fork(arguments, cwd, env, streams, **more), arguments)
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
