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

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
MS_NOSUID, MS_NODEV = 2, 4
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 38, 22, 24
SECCOMP_MODE_FILTER = 2
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}[os.uname().machine]
CONTROL, PROC = int(sys.argv[1]), int(sys.argv[2])
CHANNEL = 3
"""The descriptor on which a runner talks; it has no other but the standard three, which lead nowhere."""


def main() -> None:
    control = socket.socket(fileno=CONTROL)
    start = json.loads(control.recv(1 << 20))
    drop_root(start["uid"])
    check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    os.environ.clear()
    os.environ.update(start["environment"])
    sys.path += start["path"]
    missing = [name for name in start["packages"] if not imported(name)]
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
        if os.fork() == 0:
            try:
                control.close()
                become_runner(json.loads(order), descriptor, own_memory)
            finally:
                _exit(1)  # the service sees the channel close
        os.close(descriptor)


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


def become_runner(order: dict[str, Any], descriptor: int, own_memory: int) -> None:
    """Move this fork into namespaces of its own, lock it down, and run what it is sent."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    uid, gid = os.getuid(), os.getgid()
    # The mapping of users can only be written by a process that may be looked at.
    check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
    check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID))
    write_own("setgroups", "deny")
    write_own("uid_map", f"{uid} {uid} 1")
    write_own("gid_map", f"{gid} {gid} 1")
    disk = f"size={order['disk_bytes']},nr_inodes={order['inodes']},mode=0700,uid={uid},gid={gid}"
    check(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV, disk.encode()))
    child = os.fork()
    if child:
        # The service holds the runner by this: it can end it whatever the runner does.
        handle = os.pidfd_open(child)
        with socket.socket(fileno=descriptor) as channel:
            channel.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [handle]))])
        _exit(0)
    os.setsid()
    os.chdir("/tmp")
    os.dup2(descriptor, CHANNEL)
    os.closerange(CHANNEL + 1, 1 << 16)
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    limit(order, own_memory)
    drop_capabilities()
    check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    filter_calls(bytes.fromhex(order["seccomp"]))
    runner.main(CHANNEL)
    _exit(0)


def limit(order: dict[str, Any], own_memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (order["memory_bytes"] + own_memory,) * 2)
    resource.setrlimit(resource.RLIMIT_NPROC, (order["threads"],) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    resource.setrlimit(resource.RLIMIT_FSIZE, (order["disk_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (256, 256))  # timers too, which are the kernel's memory
    cpus = sorted(os.sched_getaffinity(0))
    first = order["cpu"] % len(cpus)
    os.sched_setaffinity(0, (cpus + cpus)[first : first + order["cpus"]])


def drop_capabilities() -> None:
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            break
    header = struct.pack("Ii", 0x20080522, 0)
    check(libc.syscall(SYS_CAPSET, header, struct.pack("6I", 0, 0, 0, 0, 0, 0)))


def filter_calls(program: bytes) -> None:
    """Install the list of system calls that are allowed, compiled outside by libseccomp."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]

    filter_ = Program(len(program) // 8, program)
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0))


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
