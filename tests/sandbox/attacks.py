"""What untrusted code tries against the sandbox, and what has to come of it: the exact reward and the exact flags.

Most attacks follow one rule: the reward is 1 when the attack succeeds and minus the system's error number when it is
refused, so a wrong reason for a refusal shows too. Every attack is bounded in time, memory and number: on a sandbox
that holds nothing it must not take the machine down.

`item` is what the driver lays out as bait: host_file, folder, secret_name, port, udp_port, unix_path, abstract, pid,
hostname. A source may read them all from its item.
"""

import errno
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

MARK = "fairmark-attack"
"""In the name of every file and object that an attack tries to leave behind."""
SYSV_KEY = 0x00FA12AC


@dataclass(frozen=True, slots=True)
class Expected:
    """The outcome that the sandbox promises."""

    reward: float = 0.0
    flags: Mapping[str, bool | str] = field(default_factory=dict)
    """All keys of `errors` that are set, but for the details."""
    details: str = ""
    """A part of the error's text."""
    invalid: bool = False
    """The grader is refused before anything runs."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attempt. `harmless`: may be run without a sandbox, to show that it succeeds there."""

    name: str
    family: str
    source: str
    expected: Expected
    kind: Literal["python", "function"] = "python"
    item: Mapping[str, Any] = field(default_factory=dict)
    sample: str = ""
    harmless: bool = False

    @property
    def is_endless(self) -> bool:
        """Whether it lasts until its deadline."""
        return self.expected.flags.get("python_grader_server_error_type") == "timeout"


def graded(reward: float) -> Expected:
    return Expected(reward)


def refused(code: int) -> Expected:
    """The attempt raised OSError with this number."""
    return Expected(float(-code))


def raised(details: str) -> Expected:
    return Expected(flags={"python_grader_runtime_error": True}, details=details)


def invalid(details: str) -> Expected:
    return Expected(details=details, invalid=True)


def _ended(reason: str, details: str = "") -> Expected:
    return Expected(
        flags={"python_grader_server_error": True, "python_grader_server_error_type": reason}, details=details
    )


DIED = _ended("died")
OUT_OF_MEMORY = _ended("oom", "more memory than it may")
TIMEOUT = Expected(
    flags={
        "python_grader_server_error": True,
        "python_grader_server_error_type": "timeout",
        "unresponsive_reward_error": True,
    },
    details="the grader took longer than",
)
NOT_ASKED_FOR = _ended("died", "its reply is not one that was asked for")
ENDED_ITSELF = _ended("died", "the grader's process ended by itself")

_PRELUDE = f"""
import ctypes, errno, gc, json, mmap, os, resource, signal, socket, subprocess, sys, tempfile, threading, time

MARK, SYSV_KEY = {MARK!r}, {SYSV_KEY}
libc = ctypes.CDLL(None, use_errno=True)
machine = os.uname().machine

def called(result):
    # the result of a C function; OSError where it failed
    if result == -1 or result == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

def syscall(numbers, *arguments):
    return called(libc.syscall(numbers[machine], *arguments))

def frame(text, length=None):
    return (len(text) if length is None else length).to_bytes(4, "big") + text

def token():
    # the id of the row that is being graded, from the frame that called us
    at = sys._getframe()
    while "token" not in at.f_locals:
        at = at.f_back
    return at.f_locals["token"]

def say(text, length=None):
    # speak on the channel, past the runner's own code
    message = frame(text, length)
    while message:
        message = message[os.write(3, message):]

def claim(rest):
    # a reply to the present row, made by hand
    say(b'{{"id": "%s", %s}}' % (token().encode(), rest))
"""


def _attempt(body: str) -> str:
    """Source whose reward is 1 when the body runs through, and minus the error number when the system refuses."""
    body = textwrap.indent(textwrap.dedent(body).strip(), "        ")
    return (
        f"{_PRELUDE}\ndef grade(sample, item):\n    try:\n{body}\n"
        "    except OSError as error:\n        return -error.errno\n    return 1.0\n"
    )


def _body(body: str) -> str:
    """Source with this body of `grade`."""
    return f"{_PRELUDE}\ndef grade(sample, item):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"


def _module(text: str) -> str:
    return f"{_PRELUDE}\n{textwrap.dedent(text).strip()}\n"


def _returns(expression: str) -> str:
    imports = "from decimal import Decimal\nfrom fractions import Fraction\n"
    return f"{imports}\ndef grade(sample, item):\n    return {expression}\n"


def _returns_object(body: str, base: str = "float") -> str:
    """Source that returns an object of a class with this body."""
    return f"class Odd({base}):\n{textwrap.indent(body, '    ')}\n\ndef grade(sample, item):\n    return Odd()\n"


def _of_size(size: int) -> str:
    source = "def grade(sample, item):\n    return 1.0\n"
    return source + "#" * (size - len(source))


def _family(name: str, *attacks: tuple[Any, ...]) -> list[Attack]:
    """Attacks given as (name, source, expected) and, where it is so, "harmless"."""
    return [Attack(title, name, source, expected, harmless=bool(rest)) for title, source, expected, *rest in attacks]


HARMLESS = "harmless"

HOST_FILES = _family(
    "host files",
    ("a file everybody may read", _attempt("open(item['host_file']).read()"), refused(errno.ENOENT), HARMLESS),
    ("the users", _attempt("open('/etc/passwd').read()"), refused(errno.ENOENT), HARMLESS),
    ("the passwords", _attempt("open('/etc/shadow').read()"), refused(errno.ENOENT)),
    ("the folder of the host's file", _attempt("os.listdir(item['folder'])"), refused(errno.ENOENT), HARMLESS),
    ("what lies in /run", _attempt("os.listdir('/run')"), refused(errno.ENOENT), HARMLESS),
    ("what lies in /var", _attempt("os.listdir('/var')"), refused(errno.ENOENT), HARMLESS),
    ("the devices of /sys", _attempt("os.listdir('/sys')"), refused(errno.ENOENT), HARMLESS),
    (
        "all of /etc but the libraries' cache",
        _body("return float(bool(set(os.listdir('/etc')) - {'ld.so.cache'}))"),
        graded(0.0),
        HARMLESS,
    ),
    (
        "devices beyond the four",
        _body("return float(bool(set(os.listdir('/dev')) - {'null', 'zero', 'random', 'urandom'}))"),
        graded(0.0),
        HARMLESS,
    ),
    ("shared memory as files", _attempt("os.listdir('/dev/shm')"), refused(errno.ENOENT), HARMLESS),
    ("a terminal", _attempt("os.open('/dev/ptmx', os.O_RDWR)"), refused(errno.ENOENT)),
    ("a device made by hand", _attempt("os.mknod('/tmp/m', 0o20666, os.makedev(1, 1))"), refused(errno.EPERM)),
    (
        "a symbolic link to a host file",
        _attempt(
            """
            link = os.path.join(tempfile.mkdtemp(), "link")
            os.symlink(item["host_file"], link)
            try:
                open(link).read()
            finally:
                os.unlink(link)
                os.rmdir(os.path.dirname(link))
            """
        ),
        refused(errno.ENOENT),
        HARMLESS,
    ),
    (
        "a way up from an opened root",
        _attempt("os.open('../../../etc/passwd', os.O_RDONLY, dir_fd=os.open('/', os.O_PATH))"),
        refused(errno.ENOENT),
        HARMLESS,
    ),
    ("a hard link to the runner's code", _attempt("os.link('/inside/runner.py', '/tmp/l')"), refused(errno.EXDEV)),
    (
        "a file by its handle",
        _attempt("syscall({'x86_64': 304, 'aarch64': 265}, -100, b'', 0)"),
        refused(errno.EPERM),
    ),
    ("a watch on files", _attempt("called(libc.inotify_init1(0))"), refused(errno.EPERM), HARMLESS),
    (
        "the service's own packages",
        _body("try:\n    import msgspec\nexcept ImportError:\n    return 0.0\nreturn 1.0"),
        graded(0.0),
        HARMLESS,
    ),
)

ENVIRONMENT = _family(
    "environment and /proc",
    (
        "the service's environment",
        _body("return float(bool({'PATH', 'TMPDIR', item['secret_name']} & set(os.environ)))"),
        graded(0.0),
        HARMLESS,
    ),
    (
        "the C library's environment",
        _body(
            """
            entries = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
            found = []
            while entries[len(found)]:
                found.append(entries[len(found)])
            return float(any(entry.startswith((item["secret_name"].encode(), b"PATH")) for entry in found))
            """
        ),
        graded(0.0),
        HARMLESS,
    ),
    (
        "the environment of the service, by its number",
        _attempt("assert item['secret_name'] in open(f'/proc/{item[\"pid\"]}/environ').read()"),
        refused(errno.ENOENT),
        HARMLESS,
    ),
    ("its own environment by /proc", _attempt("open('/proc/self/environ').read()"), refused(errno.ENOENT), HARMLESS),
    ("the list of processes", _attempt("os.listdir('/proc')"), refused(errno.ENOENT), HARMLESS),
    ("the mounts", _attempt("open('/proc/self/mountinfo').read()"), refused(errno.ENOENT), HARMLESS),
    ("its descriptors by /proc", _attempt("os.listdir('/proc/self/fd')"), refused(errno.ENOENT), HARMLESS),
    ("a name for a parent", _body("return float(os.getppid() > 0)"), graded(0.0), HARMLESS),
    ("the host's name", _body("return float(os.uname().nodename == item['hostname'])"), graded(0.0), HARMLESS),
    (
        "a user who is root, or groups",
        _body("return float(0 in (*os.getresuid(), *os.getresgid()) or 0 in os.getgroups())"),
        graded(0.0),
    ),
)

NETWORK = _family(
    "network",
    (
        "a connection to a port of this machine",
        _attempt("socket.create_connection(('127.0.0.1', item['port']), timeout=1)"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    (
        "a datagram",
        _attempt("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', item['udp_port']))"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    ("a port of its own", _attempt("socket.socket().bind(('127.0.0.1', 0))"), refused(errno.EPERM), HARMLESS),
    ("a socket of version 6", _attempt("socket.socket(socket.AF_INET6)"), refused(errno.EPERM)),
    (
        "a local socket in a file",
        _attempt("socket.socket(socket.AF_UNIX).connect(item['unix_path'])"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    (
        "a local socket with an abstract name",
        _attempt("socket.socket(socket.AF_UNIX).connect('\\0' + item['abstract'])"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    (
        "a local socket that listens",
        _attempt("socket.socket(socket.AF_UNIX).bind('\\0' + MARK + str(os.getpid()))"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    ("a netlink socket", _attempt("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"), refused(errno.EPERM)),
    ("a raw socket", _attempt("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"), refused(errno.EPERM)),
    ("a packet socket", _attempt("socket.socket(17, socket.SOCK_RAW)"), refused(errno.EPERM)),
    ("a socket to the hypervisor", _attempt("socket.socket(40, socket.SOCK_STREAM)"), refused(errno.EPERM)),
    ("a pair of network sockets", _attempt("socket.socketpair(socket.AF_INET)"), refused(errno.EPERM)),
    (
        "a name of the network",
        _body(
            "try:\n    socket.getaddrinfo('localhost', 80)\nexcept socket.gaierror:\n    return 0.0\nreturn 1.0",
        ),
        graded(0.0),
        HARMLESS,
    ),
    (
        "a page",
        _body(
            """
            import urllib.request
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{item['port']}", timeout=0.5)
            except urllib.error.URLError as error:
                return -error.reason.errno
            except TimeoutError:
                return 1.0
            """
        ),
        refused(errno.EPERM),
        HARMLESS,
    ),
    (
        "the channel, connected elsewhere",
        _attempt("socket.socket(fileno=os.dup(3)).connect('\\0' + item['abstract'])"),
        refused(errno.EPERM),
    ),
)

PROCESSES = _family(
    "processes",
    ("a fork", _attempt("os.fork() or os._exit(0)"), refused(errno.EPERM), HARMLESS),
    ("a program", _attempt("subprocess.run(['/bin/true'], check=True)"), refused(errno.EPERM), HARMLESS),
    (
        "a program by the library's own spawn",
        _attempt("os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    ("a shell", _body("return float(os.system('exit 0') == 0)"), graded(0.0), HARMLESS),
    ("a program in its own place", _attempt("os.execv('/bin/true', ['true'])"), refused(errno.EPERM)),
    ("a program by descriptor", _attempt("os.execve(os.open('/tmp', 0), ['x'], {})"), refused(errno.EPERM)),
    ("a process by the bare call", _attempt("syscall({'x86_64': 56, 'aarch64': 220}, 17, 0)"), refused(errno.EPERM)),
    ("a process by the newest call", _attempt("syscall({'x86_64': 435, 'aarch64': 435}, 0, 0)"), refused(errno.ENOSYS)),
    (
        "a process by multiprocessing",
        _attempt("import multiprocessing\nmultiprocessing.get_context('fork').Process(target=int).start()"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    (
        "fifty forks",
        _body(
            """
            started = 0
            for _ in range(50):
                try:
                    if os.fork() == 0:
                        time.sleep(2)
                        os._exit(0)
                    started += 1
                except OSError:
                    pass
            return float(started)
            """
        ),
        graded(0.0),
    ),
    (
        "five hundred threads",
        _body(
            """
            libc.mallopt(-8, 1)  # one arena for all threads, and small stacks: not memory is to be the limit
            threading.stack_size(65_536)
            gate, threads = threading.Event(), []
            try:
                for _ in range(500):
                    threads.append(threading.Thread(target=gate.wait, args=(3,)))
                    threads[-1].start()
            except RuntimeError:
                threads.pop()
            gate.set()
            for thread in threads:
                thread.join()
            return float(len(threads))
            """
        ),
        graded(31.0),  # with the first one the 32 of the limits
    ),
    (
        "threads left running",
        _body("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nreturn 0.5"),
        graded(0.5),
    ),
    (
        "a thread left running that nothing waits for",
        _body("threading.Thread(target=time.sleep, args=(60,)).start()\nreturn 0.5"),
        graded(0.5),
    ),
    ("a session of its own", _attempt("os.setsid()"), refused(errno.EPERM)),
)

FLOODS = _family(
    "floods",
    ("a gigabyte at once", _body("bytearray(1 << 30)\nreturn 1.0"), OUT_OF_MEMORY),
    (
        "a megabyte at a time",
        _body("held = []\nfor _ in range(1024):\n    held.append(bytearray(1 << 20))\nreturn 1.0"),
        OUT_OF_MEMORY,
    ),
    (
        "a megabyte at a time, kept when it fails",
        _module(
            """
            held = []
            def grade(sample, item):
                for _ in range(1024):
                    held.append(bytearray(1 << 20))
                return 1.0
            """
        ),
        OUT_OF_MEMORY,
    ),
    (
        "many small things",
        _body("held = []\nwhile len(held) < 500_000:\n    held.append('x' * 2000 + str(len(held)))\nreturn 1.0"),
        OUT_OF_MEMORY,
    ),
    ("ten gigabytes of text", _body("return float(len('x' * 10**10))"), OUT_OF_MEMORY),
    ("memory that is shared", _attempt("mmap.mmap(-1, 1 << 30)"), refused(errno.ENOMEM)),
    (
        "memory behind a descriptor",
        _attempt("os.ftruncate(os.memfd_create('x'), 1 << 20)"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    ("memory that stays in RAM", _attempt("called(libc.mlock(ctypes.create_string_buffer(9), 9))"), refused(1)),
    (
        "memory while loading",
        _module("held = bytearray(1 << 30)\ndef grade(sample, item):\n    return 1.0"),
        OUT_OF_MEMORY,
    ),
    (
        "the disk, in many files",
        _attempt(
            """
            for number in range(64):
                with open(f"/tmp/{number}", "wb") as file:
                    file.write(bytes(1 << 20))
            """
        ),
        refused(errno.ENOSPC),
    ),
    (
        "the disk, in one file",
        _attempt(
            """
            with open("/tmp/one", "wb", buffering=0) as file:
                for _ in range(64):
                    assert file.write(bytes(1 << 20))
            """
        ),
        refused(errno.EFBIG),
    ),
    ("a file of a terabyte", _attempt("os.truncate(os.open('/tmp/t', os.O_CREAT | os.O_RDWR), 1 << 40)"), refused(27)),
    (
        "inodes",
        _attempt("for number in range(20_000):\n    os.close(os.open(f'/tmp/{number}', os.O_CREAT))"),
        refused(errno.ENOSPC),
    ),
    ("descriptors", _attempt("while True:\n    os.dup(0)"), refused(errno.EMFILE)),
    (
        "timers of the kernel",
        _attempt(
            """
            timer = ctypes.c_void_p()
            for _ in range(2000):
                called(libc.timer_create(1, None, ctypes.byref(timer)))
            """
        ),
        refused(errno.EAGAIN),
    ),
    ("prints", _body("for _ in range(2000):\n    print('x' * 50_000)\nreturn 0.5"), graded(0.5)),
    ("prints of one huge text", _body("print('\\N{GRINNING FACE}' * 10_000_000)\nreturn 0.5"), graded(0.5)),
    (
        "errors printed",
        _body("for _ in range(2000):\n    print('x' * 50_000, file=sys.stderr)\nreturn 0.5"),
        graded(0.5),
    ),
    (
        "bytes on the standard output",
        _body("for _ in range(500):\n    os.write(1, bytes(1 << 20))\nreturn 0.5"),
        graded(0.5),
    ),
    ("a huge text returned", _returns("'x' * 50_000_000"), raised("grade returned str, not a number")),
    ("a huge list returned", _returns("[0.5] * 10_000_000"), raised("grade returned list, not a number")),
    ("an error of fifty megabytes", _body("raise ValueError('x' * 50_000_000)"), raised("xxx")),
    (
        "an error with ten thousand causes",
        _body(
            """
            error = None
            for _ in range(10_000):
                latest = ValueError("one of many")
                latest.__cause__ = error
                error = latest
            raise error
            """
        ),
        raised("ValueError: one of many"),
    ),
    ("higher limits", _attempt("called(libc.setrlimit(7, (ctypes.c_ulong * 2)(10, 10)))"), refused(1), HARMLESS),
    (
        "other cores",
        _attempt("os.sched_setaffinity(0, os.sched_getaffinity(0))"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    (
        "a better priority",
        _attempt("os.nice(0)\nos.setpriority(os.PRIO_PROCESS, 0, 19)"),
        refused(errno.EPERM),
        HARMLESS,
    ),
)

SIGNALS = _family(
    "signals and siblings",
    ("the service can be signalled", _attempt("os.kill(item['pid'], 0)"), refused(errno.ESRCH), HARMLESS),
    ("everybody can be signalled", _attempt("os.kill(-1, 0)"), refused(errno.ESRCH)),
    (
        "any number can be signalled",
        _body(
            """
            reached = 0
            for pid in range(2, 40_000):
                try:
                    os.kill(pid, 0)
                    reached += 1
                except OSError:
                    pass
            return float(reached > 0)
            """
        ),
        graded(0.0),
        HARMLESS,
    ),
    ("a process to trace", _attempt("called(libc.ptrace(16, item['pid'], 0, 0))"), refused(errno.EPERM)),
    ("a tracer", _attempt("called(libc.ptrace(0, 0, 0, 0))"), refused(errno.EPERM), HARMLESS),
    (
        "memory of the service",
        _attempt("called(libc.process_vm_readv(item['pid'], None, 0, None, 0, 0))"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    ("a handle on a process", _attempt("os.pidfd_open(item['pid'])"), refused(errno.EPERM), HARMLESS),
    (
        "a descriptor of another process",
        _attempt("syscall({'x86_64': 438, 'aarch64': 438}, 0, 0, 0)"),
        refused(errno.EPERM),
    ),
    (
        "itself, killed",
        _body("os.kill(os.getpid(), signal.SIGKILL)\nreturn 0.5"),
        graded(0.5),
    ),  # the first of its namespace
    (
        "its pace, stopped",
        _body("os.kill(os.getpid(), signal.SIGSTOP)\nreturn 0.5"),
        graded(0.5),
    ),
)

PACKAGES = _family(
    "writes into code",
    (
        "a module beside the standard library",
        _attempt("path = os.path.join(os.path.dirname(os.__file__), MARK)\nopen(path, 'x')\nos.unlink(path)"),
        refused(errno.EROFS),
    ),
    ("the runner's code", _attempt("os.utime('/inside/runner.py')"), refused(errno.EROFS)),
    ("the runner's folder", _attempt("os.mkdir('/inside/' + MARK)\nos.rmdir('/inside/' + MARK)"), refused(errno.EROFS)),
    (
        "the system's libraries",
        _attempt("open('/usr/lib/' + MARK, 'x')\nos.unlink('/usr/lib/' + MARK)"),
        refused(errno.EROFS),
    ),
    ("the root folder", _attempt("os.mkdir('/' + MARK)"), refused(errno.EROFS)),
    ("the folder of processes", _attempt("os.mkdir('/proc/' + MARK)"), refused(errno.ENOENT)),
    ("the folder of devices", _attempt("open('/dev/' + MARK, 'x')"), refused(errno.EROFS)),
    (
        "rights of the standard library",
        _attempt("os.chmod(os.__file__, os.stat(os.__file__).st_mode & 0o777)"),
        refused(errno.EROFS),
    ),
    (
        "another name for the runner",
        _attempt("os.link('/inside/runner.py', '/inside/' + MARK)\nos.unlink('/inside/' + MARK)"),
        refused(errno.EROFS),
    ),
)

PRIVILEGES = _family(
    "kernel and privileges",
    ("a user namespace", _attempt("called(libc.unshare(0x10000000))"), refused(errno.EPERM), HARMLESS),
    ("a mount namespace", _attempt("called(libc.unshare(0x00020000))"), refused(errno.EPERM)),
    (
        "a thread with a user namespace",
        _attempt("syscall({'x86_64': 56, 'aarch64': 220}, 0x10000000 | 17, 0)"),
        refused(errno.EPERM),
    ),
    ("another namespace", _attempt("called(libc.setns(0, 0))"), refused(errno.EPERM)),
    ("a mount", _attempt("called(libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))"), refused(errno.EPERM)),
    ("a mount undone", _attempt("called(libc.umount2(b'/proc', 2))"), refused(errno.EPERM)),
    ("a mount by the new calls", _attempt("syscall({'x86_64': 428, 'aarch64': 428}, -100, b'/', 1)"), refused(1)),
    ("another root", _attempt("os.chroot('/tmp')"), refused(errno.EPERM)),
    ("the user root", _attempt("os.setuid(0)"), refused(errno.EPERM)),
    ("the group root", _attempt("os.setresgid(0, 0, 0)"), refused(errno.EPERM)),
    ("more groups", _attempt("os.setgroups([0])"), refused(errno.EPERM)),
    (
        "a program that becomes root",
        _attempt(
            """
            with open("/tmp/program", "w") as file:
                file.write("#!/bin/true")
            os.chmod("/tmp/program", 0o4755)
            os.execv("/tmp/program", ["program"])
            """
        ),
        refused(errno.EPERM),
    ),
    ("a file given away", _attempt("os.chown('/tmp', 0, 0)"), refused(errno.EPERM)),
    ("keys", _attempt("syscall({'x86_64': 250, 'aarch64': 219}, 0, -3, 0)"), refused(errno.EPERM)),
    ("a new key", _attempt("syscall({'x86_64': 248, 'aarch64': 217}, b'user', b'x', b'x', 1, -3)"), refused(1)),
    (
        "a ring of calls",
        _attempt("syscall({'x86_64': 425, 'aarch64': 425}, 4, ctypes.create_string_buffer(120))"),
        refused(errno.EPERM),
    ),
    ("programs in the kernel", _attempt("syscall({'x86_64': 321, 'aarch64': 280}, 0, 0, 0)"), refused(errno.EPERM)),
    ("counters of the kernel", _attempt("syscall({'x86_64': 298, 'aarch64': 241}, 0, 0, -1, -1, 0)"), refused(1)),
    ("faults handled by itself", _attempt("syscall({'x86_64': 323, 'aarch64': 282}, 1)"), refused(errno.EPERM)),
    ("another personality", _attempt("called(libc.personality(0xffffffff))"), refused(errno.EPERM), HARMLESS),
    ("being looked at", _attempt("called(libc.prctl(4, 1, 0, 0, 0))"), refused(errno.EPERM), HARMLESS),
    ("another filter of calls", _attempt("syscall({'x86_64': 317, 'aarch64': 277}, 0, 0, 0)"), refused(errno.EPERM)),
    ("a terminal's input", _attempt("import fcntl\nfcntl.ioctl(0, 0x5412, b'x')"), refused(errno.EPERM)),
    ("attributes of files", _attempt("os.setxattr('/tmp', 'user.x', b'x')"), refused(errno.EPERM)),
    (
        "memory of System V",
        _attempt("called(libc.shmctl(called(libc.shmget(SYSV_KEY, 4096, 0o1600)), 0, None))"),
        refused(errno.EPERM),
        HARMLESS,
    ),
    ("semaphores of System V", _attempt("called(libc.semget(SYSV_KEY, 1, 0o1600))"), refused(errno.EPERM)),
    ("messages of System V", _attempt("called(libc.msgget(SYSV_KEY, 0o1600))"), refused(errno.EPERM)),
    ("messages of POSIX", _attempt("called(libc.mq_open(b'/fairmark-attack', 0o102, 0o600, None))"), refused(1)),
    (
        "shared memory of POSIX",
        _attempt(
            """
            called(libc.shm_open(b"/fairmark-attack-shm", 0o102, 0o600))
            called(libc.shm_unlink(b"/fairmark-attack-shm"))
            """
        ),
        refused(errno.ENOENT),
        HARMLESS,
    ),
)

MACHINE_CODE = _family(
    "calls of another kind",  # only where the processor is the one the bytes are for
    (
        "a call of the 32-bit kind",
        _body(
            """
            page = mmap.mmap(-1, 4096, prot=7)
            page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20; int 0x80; ret
            address = ctypes.addressof(ctypes.c_char.from_buffer(page))
            return float(ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0)
            """
        ),
        ENDED_ITSELF,
    ),
    ("a call of the x32 kind", _attempt("called(libc.syscall(0x40000000 | 39))"), ENDED_ITSELF),
)

ENDINGS = _family(
    "endings",
    ("sys.exit", _body("sys.exit(0)"), raised("SystemExit")),
    ("os._exit", _body("os._exit(0)"), ENDED_ITSELF),
    ("an interrupt", _body("raise KeyboardInterrupt"), raised("KeyboardInterrupt")),
    ("os.abort", _body("os.abort()"), ENDED_ITSELF),
    ("a segmentation fault", _body("ctypes.string_at(0)"), ENDED_ITSELF),
    ("deep recursion", _module("def grade(sample, item):\n    return grade(sample, item)"), raised("RecursionError")),
    (
        "deeper recursion",
        _module(
            """
            class Deep:
                def __repr__(self):
                    return repr(self.inner)
            def grade(sample, item):
                sys.setrecursionlimit(10**9)
                deep = Deep()
                deep.inner = deep
                return len(repr(deep))
            """
        ),
        # From 3.12 on Python watches its own stack; before, the process dies of it.
        raised("RecursionError") if sys.version_info >= (3, 12) else ENDED_ITSELF,
    ),
    ("deep JSON", _body("json.loads('[' * 10**6)"), raised("RecursionError")),
    ("sys.exit while loading", _module("sys.exit()\ndef grade(sample, item):\n    return 1.0"), raised("SystemExit")),
    ("os._exit while loading", _module("os._exit(0)\ndef grade(sample, item):\n    return 1.0"), ENDED_ITSELF),
    (
        "an end right after it claimed to be loaded",
        _module(
            """
            def grade(sample, item):
                return 1.0
            at = sys._getframe()
            while "order" not in at.f_locals:
                at = at.f_back
            say(json.dumps({"id": at.f_locals["order"]["id"], "reward": 0.5}).encode())
            os._exit(0)
            """
        ),
        DIED,
    ),
    ("an error while loading", _module("1 / 0\ndef grade(sample, item):\n    return 1.0"), raised("ZeroDivisionError")),
    ("a grade that is taken back", "def grade(sample, item):\n    return 1.0\ndel grade\n", raised("grade")),
    ("a grade that is no function", "def grade(sample, item):\n    return 1.0\ngrade = 5\n", raised("not callable")),
    (
        "an error whose text is an error",
        _module(
            "class Odd(Exception):\n    def __str__(self):\n        raise self\ndef grade(sample, item):\n    raise Odd"
        ),
        raised("Odd"),
    ),
    (
        "an error whose class has no name",
        _module(
            """
            class Nameless(type):
                @property
                def __name__(cls):
                    raise OSError
            class Odd(Exception, metaclass=Nameless):
                def __str__(self):
                    raise self
            def grade(sample, item):
                raise Odd
            """
        ),
        raised(""),
    ),
    ("no collector left", _body("gc.disable()\nsys.modules.clear()\nreturn 0.5"), graded(0.5)),
    ("no json left", _body("json.dumps = None\nreturn 0.5"), graded(0.5)),
)

ENDLESS = _family(
    "endless",
    ("an endless loop", _body("while True:\n    pass"), TIMEOUT),
    (
        "an endless loop while loading",
        _module("while True:\n    pass\ndef grade(sample, item):\n    return 1.0"),
        TIMEOUT,
    ),
    ("sleep", _body("time.sleep(60)"), TIMEOUT),
    (
        "every signal ignored",
        _body(
            """
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    pass
            """
        ),
        TIMEOUT,
    ),
    ("a regular expression", _body("import re\nreturn float(bool(re.match('(a|a)+$', 'a' * 40 + 'b')))"), TIMEOUT),
    ("a huge power", _body("return float(3 ** (3 * 10**7) % 7)"), TIMEOUT),
    ("a sum in C", _body("return float(sum(range(10**12)))"), TIMEOUT),
    (
        "a number that takes for ever",
        _module(
            """
            class Slow(float):
                def __float__(self):
                    while True:
                        pass
            def grade(sample, item):
                return Slow()
            """
        ),
        TIMEOUT,
    ),
    (
        "an error text that takes for ever",
        _module(
            """
            class Slow(Exception):
                def __str__(self):
                    while True:
                        pass
            def grade(sample, item):
                raise Slow
            """
        ),
        TIMEOUT,
    ),
    ("a lock nobody opens", _body("lock = threading.Lock()\nlock.acquire()\nlock.acquire()"), TIMEOUT),
    ("a wait for the service's next word", _body("os.read(3, 1)\nreturn 1.0"), TIMEOUT),
    ("a reply that never ends", _body("say(b'', length=1000)\nreturn 1.0"), TIMEOUT),
    ("a reply a byte at a time", _body("while True:\n    os.write(3, b'\\0')\n    time.sleep(2.4)"), TIMEOUT),
)

FORGERIES = _family(
    "forged replies",
    (
        "a reply with an id of its own",
        _body('say(b\'{"id": "0123456789abcdef", "reward": 1}\')\nreturn 0.5'),
        NOT_ASKED_FOR,
    ),
    ("a reply without an id", _body("say(b'{\"reward\": 1}')\nreturn 0.5"), NOT_ASKED_FOR),
    ("a reply with a number for an id", _body('say(b\'{"id": 1, "reward": 1}\')\nreturn 0.5'), NOT_ASKED_FOR),
    ("no JSON", _body("say(b'reward')\nreturn 0.5"), NOT_ASKED_FOR),
    ("no UTF-8", _body("say(b'\\xff\\xfe\\xfd')\nreturn 0.5"), NOT_ASKED_FOR),
    ("an empty reply", _body("say(b'')\nreturn 0.5"), NOT_ASKED_FOR),
    ("a list", _body("say(b'[]')\nreturn 0.5"), NOT_ASKED_FOR),
    (
        "a length of four gigabytes",
        _body("say(b'', length=2**32 - 1)\nreturn 0.5"),
        _ended("died", "its reply is too long"),
    ),
    (
        "a length of one byte too many",
        _body("say(b'', length=2**20 + 1)\nreturn 0.5"),
        _ended("died", "its reply is too long"),
    ),
    ("a length that is too short", _body("say(b'{}' * 100, length=4)\nreturn 0.5"), NOT_ASKED_FOR),
    ("deep nesting", _body("say(b'[' * 500_000 + b']' * 500_000)\nreturn 0.5"), NOT_ASKED_FOR),
    (
        "deep nesting behind the right id",
        _body("claim(b'\"x\":' + b'[' * 400_000 + b']' * 400_000)\nreturn 0.5"),
        NOT_ASKED_FOR,
    ),
    ("a megabyte of text", _body("say(b'\"' + b'x' * 1_000_000 + b'\"')\nreturn 0.5"), NOT_ASKED_FOR),
    (
        "a hundred megabytes of replies",
        _body("for _ in range(100):\n    say(bytes(1 << 20))\nreturn 0.5"),
        NOT_ASKED_FOR,
    ),
    ("NaN behind the right id", _body("claim(b'\"reward\": NaN')\nreturn 0.5"), NOT_ASKED_FOR),
    ("Infinity behind the right id", _body("claim(b'\"reward\": -Infinity')\nreturn 0.5"), NOT_ASKED_FOR),
    ("a number beyond all floats", _body("claim(b'\"reward\": 1e999')\nreturn 0.5"), NOT_ASKED_FOR),
    ("an integer beyond all floats", _body("claim(b'\"reward\": 1' + b'0' * 400)\nreturn 0.5"), NOT_ASKED_FOR),
    ("an integer of a million digits", _body("claim(b'\"reward\": ' + b'9' * 1_000_000)\nreturn 0.5"), NOT_ASKED_FOR),
    ("true for a reward", _body("claim(b'\"reward\": true')\nreturn 0.5"), NOT_ASKED_FOR),
    ("a text for a reward", _body('claim(b\'"reward": "1"\')\nreturn 0.5'), NOT_ASKED_FOR),
    ("null for a reward", _body("claim(b'\"reward\": null')\nreturn 0.5"), NOT_ASKED_FOR),
    ("no reward at all", _body('claim(b\'"printed": ""\')\nreturn 0.5'), NOT_ASKED_FOR),
    ("a number for the printed text", _body('claim(b\'"reward": 1, "printed": 1\')\nreturn 0.5'), NOT_ASKED_FOR),
    ("a list for the details", _body('claim(b\'"failed": "error", "details": []\')\nreturn 0.5'), NOT_ASKED_FOR),
    (
        "a failure that does not exist",
        _body('claim(b\'"failed": "sandbox", "details": "mine"\')\nreturn 0.5'),
        raised("mine"),
    ),
    # In its own process a source is free to answer as it likes, by hand as by return. Only its own row hears it.
    ("its own reply, by hand", _body("claim(b'\"reward\": 0.75')\nreturn 0.5"), graded(0.75)),
    (
        "its own reply, a hundred times",
        _body("for _ in range(100):\n    claim(b'\"reward\": 0.75')\nreturn 0.5"),
        graded(0.75),
    ),
    (
        "a descriptor handed up",
        _body("socket.send_fds(socket.socket(fileno=os.dup(3)), [frame(b'{}')], [0])\nreturn 0.5"),
        NOT_ASKED_FOR,
    ),
    ("the channel closed", _body("os.close(3)\nreturn 0.5"), ENDED_ITSELF),
    ("the channel led elsewhere", _body("os.dup2(0, 3)\nreturn 0.5"), ENDED_ITSELF),
    ("the channel shut down", _body("socket.socket(fileno=3).shutdown(socket.SHUT_RDWR)\nreturn 0.5"), ENDED_ITSELF),
)

INTROSPECTION = _family(
    "introspection",
    (
        "descriptors that were left open",
        _body(
            """
            for descriptor in range(4, 1024):
                try:
                    os.fstat(descriptor)
                except OSError:
                    continue
                return 1.0
            return 0.0
            """
        ),
        graded(0.0),
    ),
    (
        "sockets among all objects",
        _body("return float(any(type(x) is socket.socket and x.fileno() > 3 for x in gc.get_objects()))"),
        graded(0.0),
    ),
    (
        "host paths and secrets in the frames above",
        _body(
            """
            at, told = sys._getframe().f_back, ""
            while at:
                told += repr({k: v for k, v in at.f_locals.items() if k != "arguments"})
                at = at.f_back
            return float(item["host_file"] in told or item["secret_name"] in told)
            """
        ),
        graded(0.0),
    ),
    ("what the interpreter was told", _body("return float(item['secret_name'] in repr(sys.orig_argv))"), graded(0.0)),
    (
        "where the standard streams lead",
        _body("return float(len({os.fstat(n).st_rdev for n in (0, 1, 2)} - {259}))"),
        graded(0.0),
    ),
)

VALUES = _family(
    "values",
    ("NaN", _returns("float('nan')"), raised("grade returned nan, not a finite number")),
    ("infinity", _returns("float('inf')"), raised("grade returned inf, not a finite number")),
    ("minus infinity", _returns("-float('inf')"), raised("grade returned -inf, not a finite number")),
    ("a text", _returns("'1.0'"), raised("grade returned str, not a number")),
    ("bytes", _returns("b'1'"), raised("grade returned bytes, not a number")),
    ("None", _returns("None"), raised("grade returned NoneType, not a number")),
    ("True", _returns("True"), graded(1.0)),
    ("a large integer", _returns("10**300"), graded(1e300)),
    ("an integer beyond all floats", _returns("10**400"), raised("grade returned an integer too large for a float")),
    ("a negative number", _returns("-2.5"), graded(-2.5)),
    ("a decimal", _returns("Decimal('0.5')"), raised("grade returned Decimal, not a number")),
    ("a fraction", _returns("Fraction(1, 4)"), graded(0.25)),
    ("a complex number", _returns("1j"), raised("grade returned complex, not a number")),
    ("a list", _returns("[1.0]"), raised("grade returned list, not a number")),
    ("a generator", _returns("(x for x in (1.0,))"), raised("grade returned generator, not a number")),
    ("a class", _returns("float"), raised("grade returned type, not a number")),
    ("a float that says otherwise", _returns_object("def __float__(self):\n    return 0.25"), graded(0.25)),
    (
        "a float that is worth NaN",
        _returns_object("def __float__(self):\n    return float('nan')"),
        raised("grade returned nan, not a finite number"),
    ),
    ("a float that raises", _returns_object("def __float__(self):\n    raise TypeError('only 1')"), raised("only 1")),
    ("a float that exits", _returns_object("def __float__(self):\n    raise SystemExit(3)"), raised("SystemExit: 3")),
    ("a float that is a text", _returns_object("def __float__(self):\n    return '1'"), raised("TypeError")),
    (
        "an object with a number in it",
        _returns_object("def __float__(self):\n    return 1.0", base="object"),
        raised("grade returned Odd, not a number"),
    ),
    (
        "an object that pretends to be numpy's",
        _returns_object("__module__ = 'numpy'\ndef __float__(self):\n    raise OSError('no')", base="object"),
        raised("OSError: no"),
    ),
    ("an object that lies about its class", _returns_object("__class__ = float", base="object"), raised("Odd")),
    (
        "an object whose class ends everything",
        _module(
            """
            class Meta(type):
                @property
                def __module__(cls):
                    raise SystemExit
            class Odd(metaclass=Meta):
                pass
            def grade(sample, item):
                return Odd()
            """
        ),
        raised("SystemExit"),
    ),
)

SOURCES = _family(
    "sources",
    ("a NUL", "def grade(sample, item):\n    return 1.0\n\0", invalid("line 3: not Python")),
    ("a lone surrogate", "def grade(sample, item):\n    return '\ud800'\n", invalid("line 2: not Python")),
    ("many parentheses", f"def grade(s, i):\n    return {'(' * 5000}1{')' * 5000}\n", invalid("not Python")),
    ("many signs", f"def grade(s, i):\n    return {'-' * 50_000}1\n", invalid("nested too deeply")),
    ("many attributes", f"def grade(s, i):\n    return s{'.a' * 50_000}\n", invalid("nested too deeply")),
    ("many sums", f"def grade(s, i):\n    return {'1+' * 50_000}1\n", invalid("nested too deeply")),
    ("many blocks", "".join(f"{' ' * depth}if 1:\n" for depth in range(200)), invalid("not Python")),
    ("a deep default", f"def grade(s={'-' * 900}1):\n    return 1.0\n", invalid("")),
    ("256000 bytes", _of_size(256_000), invalid("it has 256000 bytes")),
    ("255999 bytes", _of_size(255_999), graded(1.0)),
    (
        "characters of three bytes",
        f"def grade(s, i):\n    return 1.0\n# {'€' * 90_000}",
        invalid("It must have less than 256000"),
    ),
    ("nothing", "", invalid("no function grade")),
    ("no grade", "def score(sample, item):\n    return 1.0\n", invalid("no function grade")),
    (
        "a grade inside another",
        "def f():\n    def grade(sample, item):\n        return 1.0\n",
        invalid("no function grade"),
    ),
    ("an async grade", "async def grade(sample, item):\n    return 1.0\n", invalid("grade is async")),
    ("three parameters", "def grade(a, b, c):\n    return 1.0\n", invalid("grade takes a, b, c")),
    ("another language", "function grade(sample, item) { return 1; }", invalid("line 1: not Python")),
)

ROWS = [
    Attack(
        "a row that nests as deep as JSON can",
        "rows",
        "def grade(sample, item):\n    return 0.5\n",
        graded(0.5),
        item={"deep": None},  # the driver nests it: it would not fit through its own input
    ),
    Attack(
        "a sample of eight megabytes",
        "rows",
        _returns("len(sample['output_text'])"),
        graded(8e6),
        sample="x" * 8_000_000,
    ),
    Attack("a sample that is a huge number", "rows", _returns("0.5"), graded(0.5), sample="9" * 5000),
    Attack(
        "a sample of half characters",
        "rows",
        _returns("len(sample['output_text'])"),
        graded(2),
        sample="\ud83d\ude00\ud83d",
    ),
    Attack(
        "a sample that looks like a reply", "rows", _returns("0.5"), graded(0.5), sample='"]],{"id":"x","reward":1}'
    ),
    Attack(
        "a sample that is bytes of zero", "rows", _returns("len(sample['output_text'])"), graded(3), sample="\0\0\0"
    ),
]


def _function(name: str, body: str, expected: Expected) -> Attack:
    body = textwrap.indent(textwrap.dedent(body).strip(), "        ")
    source = (
        f"import asyncio\n{_PRELUDE}\nasync def grade(thread: StringThread) -> float:\n    try:\n{body}\n"
        "    except OSError as error:\n        return -error.errno\n"
    )
    return Attack(name, "function graders", source, expected, "function", sample="text")


FUNCTIONS = [
    _function("a file", "open('/etc/passwd')", refused(errno.ENOENT)),
    _function("a connection", "await asyncio.open_connection('127.0.0.1', 9)", refused(errno.EPERM)),
    _function("a program", "await asyncio.create_subprocess_exec('/bin/true')", refused(errno.EPERM)),
    _function("an endless wait", "await asyncio.Event().wait()", TIMEOUT),
    _function("an endless loop", "while True:\n    pass", TIMEOUT),
    _function("a gigabyte", "bytearray(1 << 30)", OUT_OF_MEMORY),
    _function("an end", "os._exit(0)", ENDED_ITSELF),
    _function("a text for a reward", "return thread.completion()", raised("grade returned str, not a number")),
    _function("tasks left running", "asyncio.ensure_future(asyncio.sleep(60))\nreturn 0.5", graded(0.5)),
    Attack(
        "more than 64 KiB",
        "function graders",
        f"async def grade(thread):\n    return 1.0\n{'#' * 65_536}",
        invalid("at most 65536"),
        "function",
    ),
    Attack(
        "a sync function", "function graders", "def grade(thread):\n    return 1.0\n", invalid("sync def"), "function"
    ),
    Attack("a NUL", "function graders", "async def grade(thread):\n    return 1.0\n\0", invalid("syntax"), "function"),
    Attack(
        "a deep default",
        "function graders",
        f"async def grade(a, b={'-' * 900}1):\n    return 1.0\n",
        invalid(""),
        "function",
    ),
]

ATTACKS: list[Attack] = [
    *HOST_FILES,
    *ENVIRONMENT,
    *NETWORK,
    *PROCESSES,
    *FLOODS,
    *SIGNALS,
    *PACKAGES,
    *PRIVILEGES,
    *MACHINE_CODE,
    *ENDINGS,
    *ENDLESS,
    *FORGERIES,
    *INTROSPECTION,
    *VALUES,
    *SOURCES,
    *ROWS,
    *FUNCTIONS,
]
