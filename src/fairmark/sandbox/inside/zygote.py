"""Inside the sandbox: a process that has the packages of a profile imported, and forks runners from there.

Runs as pid 1 of its own namespaces, under bubblewrap, started by path with an isolated interpreter. It holds trusted
code only: the standard library, the image's packages, and the files beside this one. Orders come by the socket
whose descriptor is its first argument: one datagram each, with the runner's own socket attached. The second is /proc.
"""

import array
import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import socket
import struct
import sys
from os import _exit
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import runner  # type: ignore[import-not-found]  # beside this file

libc = ctypes.CDLL(None, use_errno=True)
prctl, mount, syscall = libc.prctl, libc.mount, libc.syscall  # looked up once, and not by every runner
python = ctypes.pythonapi
clone = ctypes.PyDLL(None, use_errno=True).syscall  # holds the interpreter's lock, as a fork must
clone.restype = ctypes.c_long

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 38, 22, 24
SECCOMP_MODE_FILTER = 2
SYS_CAPSET, SYS_CLONE = {"x86_64": (126, 56), "aarch64": (91, 220)}[os.uname().machine]
NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID
NO_CAPABILITIES = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 0, 0, 0, 0, 0, 0)
CONTROL, PROC = int(sys.argv[1]), int(sys.argv[2])
ORDER = struct.Struct("6q")
"""What a runner may have: bytes of memory, bytes of disk, files, threads, processors; and the number it is.
Fixed places, not JSON: every page that a fork writes to is copied."""
User = tuple[int, int]
CHANNEL = 3
"""The descriptor on which a runner talks; it has no other but the standard three, which lead nowhere."""


class CallFilter(ctypes.Structure):
    """The list of system calls that are allowed, compiled outside by libseccomp."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def main() -> None:
    control = socket.socket(fileno=CONTROL)
    start = json.loads(control.recv(1 << 20))
    drop_root(start["uid"])
    check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    os.environ.clear()
    os.environ.update(start["environment"])
    sys.path += start["path"]
    missing = [name for name in start["packages"] if not imported(name)]
    program = bytes.fromhex(start["seccomp"])
    user = os.getuid(), os.getgid()
    calls = ctypes.byref(CallFilter(len(program) // 8, program))
    # Children that nobody waits for vanish by themselves.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    control.send(json.dumps({"ready": True, "missing": missing}).encode())
    size = resource.getpagesize()
    own_memory = int(read_own("statm").split()[0]) * size
    while True:
        order, ancillary, _, _ = control.recvmsg(1 << 20, socket.CMSG_SPACE(4))
        if not order:
            return
        (descriptor,) = array.array("i", ancillary[0][2])
        if fork_apart() == 0:
            try:
                become_runner(ORDER.unpack(order), descriptor, own_memory, user, calls)
            finally:
                _exit(1)  # the service sees the channel close
        os.close(descriptor)


def fork_apart() -> int:
    """A fork that is the first process of namespaces of its own: 0 in there, below 0 where there is none. One fork
    does what takes two with `unshare`; the interpreter is told before and after, as `os.fork` tells it."""
    python.PyOS_BeforeFork()
    child: int = clone(SYS_CLONE, NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return child


def imported(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:
        return False
    return True


def drop_root(uid: int) -> None:
    """Give up root for good. Limits on processes do not hold for root, whatever namespace it is in."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


def become_runner(order: tuple[int, ...], descriptor: int, own_memory: int, user: User, calls: Any) -> None:
    """Lock this fork down, and run what it is sent. `user`: who it is outside, which nobody knows in here yet."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    uid, gid = user
    memory_bytes, disk_bytes, inodes, threads, cpus, number = order
    # The mapping of users can only be written by a process that may be looked at.
    check(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
    write_own("setgroups", "deny")
    write_own("uid_map", f"{uid} {uid} 1")
    write_own("gid_map", f"{gid} {gid} 1")
    disk = f"size={disk_bytes},nr_inodes={inodes},mode=0700,uid={uid},gid={gid}"
    check(mount(b"tmpfs", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV, disk.encode()))
    os.setsid()
    os.chdir("/tmp")
    os.dup2(descriptor, CHANNEL)
    os.closerange(CHANNEL + 1, 1 << 16)
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    channel = socket.socket(fileno=CHANNEL)
    handle = os.pidfd_open(os.getpid())
    limit(memory_bytes + own_memory, disk_bytes, threads)
    choose_processors(cpus, number)
    drop_capabilities()
    check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, calls, 0, 0))
    # The service holds the runner by this: it can end it whatever the runner does.
    channel.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [handle]))])
    channel.detach()
    os.close(handle)
    runner.main(CHANNEL)
    _exit(0)


def limit(memory_bytes: int, disk_bytes: int, threads: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    resource.setrlimit(resource.RLIMIT_FSIZE, (disk_bytes, disk_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (256, 256))  # timers too, which are the kernel's memory


def choose_processors(count: int, number: int) -> None:
    there = sorted(os.sched_getaffinity(0))
    first = number % len(there)
    os.sched_setaffinity(0, (there + there)[first : first + count])


def drop_capabilities() -> None:
    for capability in range(64):
        if prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            break
    check(syscall(SYS_CAPSET, *NO_CAPABILITIES))


def read_own(name: str) -> str:
    """What /proc says about this process. There is no path to /proc in here, only the descriptor we were given."""
    descriptor = os.open(f"self/{name}", os.O_RDONLY, dir_fd=PROC)
    try:
        return os.read(descriptor, 4096).decode()
    finally:
        os.close(descriptor)


def write_own(name: str, text: str) -> None:
    descriptor = os.open(f"self/{name}", os.O_WRONLY, dir_fd=PROC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def check(result: int) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


main()
