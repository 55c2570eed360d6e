"""A process that has imported the whole of Fairmark and forks a `fairmark` command, or a Python that runs some code,
for each request on its sockets.

Started and talked to by tests/command.py; by the second socket also by the `fairmark` that it puts on a PATH. It has
one thread and no state of Fairmark's: settings, event loops and databases are each command's own. Other programs are
started here too, because all that is started here dies with it, and it dies with whoever gives the orders, be it by
kill -9.
"""

import atexit
import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fairmark import cli

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def warm() -> None:
    """What commands would import and make, and what a page compiles, before the first fork."""
    import encodings.idna  # noqa: F401

    import aiosqlite  # noqa: F401
    import asyncpg  # noqa: F401
    import pydantic.type_adapter  # noqa: F401
    import rich._emoji_codes  # noqa: F401
    import typer._adapters
    import typer.rich_utils  # noqa: F401
    import uvicorn.lifespan.off  # noqa: F401
    import uvloop  # noqa: F401

    import fairmark.cluster.chosen
    import fairmark.rewardserver.app
    import fairmark.server.serve
    import fairmark.server.supervisor  # noqa: F401
    from fairmark.cli import commands
    from fairmark.graders import KINDS
    from fairmark.web.frame import render

    for name in commands.COMMANDS:
        commands.load(name)
    for name in render.environment().list_templates():
        render.environment().get_template(name)
    for kind in KINDS.values():  # ours alone: those of other packages are looked for by whoever has them
        kind.spec.model_rebuild()
    gc.collect()
    gc.freeze()  # no fork need look through it, and so none copies it


def wait_for_order(control: socket.socket, door: socket.socket) -> dict[str, Any] | None:
    """In the child: its order, with its standard streams in place. In the zygote: None when nobody is left to order."""
    zygote = os.getpid()
    children: dict[int, int] = {}
    wakeup, alarm = os.pipe()
    for end in (wakeup, alarm):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    selector.register(door, selectors.EVENT_READ)
    selector.register(wakeup, selectors.EVENT_READ)
    while True:
        ready = {key.fd for key, _ in selector.select()}
        if wakeup in ready:
            os.read(wakeup, 4096)
            _tell_of_ends(children)
        if control.fileno() in ready:
            caller = control
        elif door.fileno() in ready:
            caller = door.accept()[0]
        else:
            continue
        message, streams, _, _ = socket.recv_fds(caller, 1 << 20, 4)
        if not message and caller is control:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            return None
        if not message:
            caller.close()
            continue
        pid = os.fork()
        if pid == 0:
            die_with(zygote)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            selector.close()
            for end in {wakeup, alarm, control.detach(), door.detach(), streams[3], *children.values()}:
                os.close(end)
            if caller is not control:
                caller.close()
            for number, stream in enumerate(streams[:3]):
                os.dup2(stream, number)
                os.close(stream)
            order: dict[str, Any] = json.loads(message)
            return order
        for stream in streams[:3]:
            os.close(stream)
        children[pid] = streams[3]
        caller.sendall(b"%d\n" % pid)
        if caller is not control:
            caller.close()


def die_with(parent: int) -> None:
    """Whatever ends the parent, which has one thread, ends this process."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def become(order: dict[str, Any], zygote: int) -> NoReturn:
    """Another program, as whom the order says: (user, group)."""
    if order["user"] is not None:
        user, group = order["user"]
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
        die_with(zygote)  # a new user has forgotten it
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(order["program"][0], order["program"], order["env"])  # noqa: S606  # that is what it is for
    except OSError as error:
        sys.stderr.write(f"{order['program'][0]}: {error.strerror}\n")
        os._exit(127)


def _tell_of_ends(children: dict[int, int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        told = children.pop(pid)
        try:
            os.write(told, b"%d" % os.waitstatus_to_exitcode(status))
        except BrokenPipeError:
            pass  # nobody wants to know
        os.close(told)


def main() -> None:
    control, door = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    warm()
    zygote = os.getpid()
    order = wait_for_order(control, door)
    if order is None:
        os._exit(0)
    os.chdir(order["cwd"])
    if "program" in order:
        become(order, zygote)
    os.environ.clear()
    os.environ.update(order["env"])
    if "code" in order:
        sys.path[:0] = order["env"].get("PYTHONPATH", "").split(os.pathsep)
        sys.argv = ["-c", *order["arguments"]]
        _end_quickly(_run(lambda: exec(order["code"], {"__name__": "__main__"})))  # noqa: S102  # a test's own
    sys.argv = [str(Path(sys.executable).parent / "fairmark"), *order["arguments"]]
    _end_quickly(_run(cli.main))


def _run(main: Callable[[], object]) -> int:
    """The exit code, as Python makes it of whatever comes out of `main`."""
    try:
        main()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f"{error.code}\n")
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end_quickly(code: int) -> NoReturn:
    """As Python ends, but for taking every module apart: that takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = 120
    os._exit(code)


if __name__ == "__main__":
    main()
