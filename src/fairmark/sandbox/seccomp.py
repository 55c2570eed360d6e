"""The system calls a runner may make. libseccomp compiles the list to the kernel's filter; everything else is refused.

What is missing is meant: no new processes, no programs, no sockets but a pair of one's own, no mounts, no namespaces,
no memory outside the process's own accounts, no change of limits.
"""

import ctypes
import ctypes.util
import errno
import os
from functools import cache

ALLOWED = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close close_range lseek open openat
openat2 creat access faccessat faccessat2 stat fstat lstat newfstatat statx statfs fstatfs getdents getdents64
getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat
readlink readlinkat truncate ftruncate fallocate fsync fdatasync sync_file_range chmod fchmod fchmodat utime
utimes utimensat futimesat umask flock copy_file_range sendfile fadvise64 readahead dup dup2 dup3 fcntl pipe
pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime timer_create timer_settime timer_gettime
timer_delete timer_getoverrun sendto recvfrom sendmsg recvmsg shutdown getsockname getpeername getsockopt
setsockopt mmap mprotect munmap mremap msync madvise mincore brk membarrier rt_sigaction rt_sigprocmask
rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack pause kill tkill tgkill alarm getitimer
setitimer nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time futex futex_waitv
set_robust_list get_robust_list set_tid_address rseq arch_prctl getpid getppid gettid getuid geteuid getgid
getegid getresuid getresgid getgroups getpgrp getpgid getsid uname sysinfo times getrusage getrlimit getcpu
getrandom getpriority sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min sched_rr_get_interval get_mempolicy restart_syscall exit exit_group wait4 waitid
""".split()

# Allowed only with these arguments: call -> (argument, mask or None, value)
IN_PART: dict[str, list[tuple[int, int | None, int]]] = {
    "clone": [(0, 0x00010000, 0x00010000)],  # CLONE_THREAD: threads, not processes
    "socketpair": [(0, None, 1)],  # AF_UNIX: what asyncio wakes itself with
    "ioctl": [(1, None, request) for request in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)],
    "prctl": [(0, None, option) for option in (15, 16)],  # a thread's name
    "prlimit64": [(2, None, 0)],  # reading limits
}

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EQUAL, _MASKED_EQUAL = 4, 7
_OPTIMIZE, _AS_TREE = 8, 2


class Unavailable(Exception):
    """libseccomp is not there."""


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


@cache
def program() -> bytes:
    """The filter, as the kernel takes it. Raises Unavailable without libseccomp."""
    library = _library()
    context = library.seccomp_init(_ERRNO | errno.EPERM)
    if not context:
        raise Unavailable("libseccomp could not start.")
    try:
        # As a tree, not a list: the kernel tries every call on it when a runner installs it. Old libraries have none.
        library.seccomp_attr_set(context, _OPTIMIZE, _AS_TREE)
        for name in ALLOWED:
            _add(library, context, name, _ALLOW, [])
        for name, ways in IN_PART.items():
            for argument, mask, value in ways:
                operator, first, second = (_EQUAL, value, 0) if mask is None else (_MASKED_EQUAL, mask, value)
                _add(library, context, name, _ALLOW, [_Comparison(argument, operator, first, second)])
        # glibc asks for clone3 first and falls back to clone, whose flags a filter can read.
        _add(library, context, "clone3", _ERRNO | errno.ENOSYS, [])
        return _export(library, context)
    finally:
        library.seccomp_release(context)


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        raise Unavailable("libseccomp is not installed.") from None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Comparison),
    ]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library


def _add(library: ctypes.CDLL, context: int, name: str, action: int, comparisons: list[_Comparison]) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number < 0:
        return  # not a call of this machine's kernel
    array = (_Comparison * len(comparisons))(*comparisons)
    failed = library.seccomp_rule_add_array(context, action, number, len(comparisons), array)
    if failed:
        raise Unavailable(f"libseccomp refused the rule for {name}: {os.strerror(-failed)}")


def _export(library: ctypes.CDLL, context: int) -> bytes:
    descriptor = os.memfd_create("seccomp")
    try:
        failed = library.seccomp_export_bpf(context, descriptor)
        if failed:
            raise Unavailable(f"libseccomp could not write the filter: {os.strerror(-failed)}")
        size = os.lseek(descriptor, 0, os.SEEK_END)
        return os.pread(descriptor, size, 0)
    finally:
        os.close(descriptor)
