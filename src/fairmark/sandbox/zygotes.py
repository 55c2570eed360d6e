"""A zygote from outside: bubblewrap around an interpreter that has a profile's packages imported and forks runners."""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

from fairmark.sandbox import seccomp
from fairmark.sandbox.base import Outcome, Program
from fairmark.sandbox.runners import ForeignProcess, Runner, RunnerGone

START_LIMIT_S = 60.0
"""How long a zygote may take to import its packages."""
SPAWN_LIMIT_S = 10.0
ORDERS_AT_ONCE = 16
"""Runners that a zygote is asked for before the first has come; the socket holds about fifty orders."""
UNPRIVILEGED = 65534
"""The user that root turns into inside."""

ORDER = struct.Struct("6q")
"""As the zygote reads it: what a runner may have of everything, and the number it is."""

CAP_SYS_ADMIN = 21

INSIDE = Path(__file__).with_name("inside")
ENVIRONMENT = {
    "HOME": "/tmp",  # the runner's own
    "LANG": "C.UTF-8",
    "NLTK_DATA": "/image/nltk_data",
    # One thread each: a zygote that has threads cannot be forked safely.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JOBLIB_MULTIPROCESSING": "0",
}


class CannotIsolate(Exception):
    """This machine cannot run untrusted code safely. The message says why and what to do."""


class Profile(NamedTuple):
    """What a zygote has inside: an image, and those of its packages that are imported already."""

    image: Path | None
    packages: frozenset[str]


class Zygote:
    """A running zygote. Runners are asked of it one at a time; each comes with its channel and its handle."""

    def __init__(self, process: "subprocess.Popen[bytes]", control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._numbers = itertools.count()
        self._orders = asyncio.Semaphore(ORDERS_AT_ONCE)
        self._starting = 0
        self._runners: WeakSet[Runner] = WeakSet()

    @classmethod
    async def start(cls, profile: Profile) -> "Zygote":
        program = seccomp.program().hex()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        # The zygote needs /proc to name the users of its namespaces. It is handed over open and mounted nowhere: a
        # container may forbid to mount it, and no runner ever has a way to it.
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        try:
            process = subprocess.Popen(  # noqa: S603  # bubblewrap, with arguments of ours
                [*command(profile), str(theirs.fileno()), str(proc)],
                pass_fds=[theirs.fileno(), proc],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                **_another_user(),
            )
        finally:
            theirs.close()
            os.close(proc)
        zygote = cls(process, ours)
        loop = asyncio.get_running_loop()
        start = {
            "uid": UNPRIVILEGED,
            "environment": ENVIRONMENT,
            "path": ["/image/site-packages"] if profile.image else [],
            "packages": sorted(profile.packages),
            "seccomp": program,
        }
        try:
            await loop.sock_sendall(ours, json.dumps(start).encode())
            async with asyncio.timeout(START_LIMIT_S):  # wait_for may swallow a cancellation
                ready = await loop.sock_recv(ours, 65536)
        except (TimeoutError, OSError):
            ready = b""
        except BaseException:
            zygote.stop()
            raise
        if not ready:
            told = zygote.stop()
            raise CannotIsolate(f"The sandbox did not start: {told}." if told else "The sandbox did not start.")
        return zygote

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_busy(self) -> bool:
        return self._starting > 0 or any(runner.is_working for runner in self._runners)

    async def spawn(self, program: Program) -> Runner:
        """A fresh runner with the program loaded. Raises RunnerGone."""
        self._starting += 1
        try:
            async with self._orders:
                channel, handle = await self._order(program)
            runner = await Runner.start(program, channel, ForeignProcess(handle))
        finally:
            self._starting -= 1
        self._runners.add(runner)
        return runner

    async def _order(self, program: Program) -> tuple[socket.socket, int]:
        """The channel to a new runner that waits for its program, and its handle."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        limits = program.limits
        order = ORDER.pack(
            limits.memory_bytes, limits.disk_bytes, limits.inodes, limits.threads, limits.cpus, next(self._numbers)
        )
        try:
            with theirs:
                socket.send_fds(self._control, [order], [theirs.fileno()])
            async with asyncio.timeout(SPAWN_LIMIT_S):
                return ours, await _receive_handle(ours)
        except (OSError, TimeoutError) as error:
            ours.close()
            raise RunnerGone(Outcome(failure="sandbox", details="the sandbox could not start the grader")) from error
        except BaseException:  # nobody waits any more: the runner sees its channel close
            ours.close()
            raise

    def stop(self) -> str:
        """End it and all its runners; gives what bubblewrap complained about."""
        self._control.close()
        _kill_with_children(self._process)
        self._process.wait()
        if self._process.stderr is None:
            return ""
        with self._process.stderr as stderr:
            os.set_blocking(stderr.fileno(), False)  # should anybody else still hold it, he is not waited for
            return (stderr.read() or b"").decode(errors="replace").strip()


def _kill_with_children(process: "subprocess.Popen[bytes]") -> None:
    """A bubblewrap that is killed while it still prepares its child leaves that behind, waiting for it for ever."""
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        with contextlib.suppress(ChildProcessError):  # it ended, and somebody else took note
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # from here on it makes no more
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        except OSError:  # a kernel that does not tell
            children = []
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
    process.kill()


async def _receive_handle(channel: socket.socket) -> int:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(channel, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(channel)
    greeting, handles, _, _ = socket.recv_fds(channel, 1, 1)
    if not greeting or len(handles) != 1:
        raise OSError("no handle came with the runner")
    return handles[0]


def command(profile: Profile) -> list[str]:
    """bubblewrap and its arguments, up to the zygote's own."""
    if sys.platform != "linux":
        raise CannotIsolate(f"The sandbox needs Linux; this is {sys.platform}.")
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise CannotIsolate("The sandbox needs bubblewrap, and it is not installed.")
    interpreter = os.path.realpath(sys.executable)
    arguments = [bubblewrap, "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv", "--chdir", "/"]
    arguments += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--hostname", "sandbox"]
    if _may_mount():
        # As root the mounts are made by root, who can reach an interpreter in a closed home; the zygote then gives
        # root up. A user namespace here would only rename root.
        arguments += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        arguments += ["--unshare-user"]
    arguments += ["--dir", "/tmp", "--dir", "/dev"]
    for device in ("null", "zero", "random", "urandom"):
        arguments += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    bound: set[str] = set()
    for path in _libraries(interpreter):
        arguments += [*_folders_above(path, bound), "--ro-bind", path, path]
    for link in ("/lib", "/lib64", "/lib32"):
        if os.path.islink(link):
            arguments += ["--symlink", os.readlink(link), link]
        elif os.path.isdir(link):
            arguments += ["--ro-bind", link, link]
    for path in _packages_of_ours():
        arguments += ["--tmpfs", path, "--remount-ro", path]
    arguments += ["--ro-bind", str(INSIDE), "/inside"]
    if profile.image:
        arguments += ["--ro-bind", str(profile.image), "/image"]
    return [*arguments, "--remount-ro", "/", interpreter, "-I", "-S", "-B", "/inside/zygote.py"]


def _may_mount() -> bool:
    """Whether we are a root that may make mounts and namespaces as such; root in a container mostly may not."""
    if os.geteuid() != 0:
        return False
    status = Path("/proc/self/status").read_text()
    capabilities = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(capabilities >> CAP_SYS_ADMIN & 1)


def _another_user() -> dict[str, Any]:
    """A root that may not mount starts bubblewrap as an ordinary user would: as one."""
    if os.geteuid() != 0 or _may_mount():
        return {}
    return {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}


def _libraries(interpreter: str) -> Iterator[str]:
    """What an interpreter needs to run: itself, its standard library, and the system's shared libraries."""
    prefix = os.path.realpath(sys.base_prefix)
    yield from (
        path for path in ("/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache") if os.path.exists(path)
    )
    yield interpreter
    if prefix != "/usr":
        yield f"{prefix}/lib"


def _folders_above(path: str, made: set[str]) -> Iterator[str]:
    """Arguments that make the folders above a path, open to everybody: bubblewrap would make them for root alone."""
    for folder in reversed(Path(path).parents):
        if str(folder) != "/" and str(folder) not in made:
            made.add(str(folder))
            yield from ("--dir", str(folder))


def _packages_of_ours() -> list[str]:
    """Where the interpreter itself has packages: they are the service's, and not to be seen inside."""
    prefix = os.path.realpath(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [
        f"{prefix}/lib/{version}/site-packages",
        f"{prefix}/lib/{version}/dist-packages",
        "/usr/lib/python3/dist-packages",
    ]
    return [path for path in dict.fromkeys(candidates) if os.path.isdir(path)]
