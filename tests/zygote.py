"""A process that has imported the whole of Fairmark and forks a `fairmark` command for each request on its socket.

Started and talked to by tests/command.py. It has one thread and no state of Fairmark's: settings, event loops and
databases are each command's own.
"""

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

from fairmark import cli


def warm() -> None:
    """What commands would import, and what a page compiles, before the first fork."""
    import aiosqlite  # noqa: F401
    import asyncpg  # noqa: F401
    import uvloop  # noqa: F401

    import fairmark.rewardserver.app
    import fairmark.server.serve  # noqa: F401
    from fairmark.web.frame import render

    for name in render.environment().list_templates():
        render.environment().get_template(name)
    gc.collect()
    gc.freeze()  # no fork need look through it, and so none copies it


def wait_for_order(control: socket.socket) -> dict[str, Any] | None:
    """In the child: its order, with its standard streams in place. In the zygote: None when nobody is left to order."""
    children: dict[int, int] = {}
    wakeup, alarm = os.pipe()
    for end in (wakeup, alarm):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    selector.register(wakeup, selectors.EVENT_READ)
    while True:
        ready = {key.fd for key, _ in selector.select()}
        if wakeup in ready:
            os.read(wakeup, 4096)
            _tell_of_ends(children)
        if control.fileno() not in ready:
            continue
        message, streams, _, _ = socket.recv_fds(control, 1 << 20, 4)
        if not message:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            selector.close()
            for end in (wakeup, alarm, control.detach(), streams[3], *children.values()):
                os.close(end)
            for number, stream in enumerate(streams[:3]):
                os.dup2(stream, number)
                os.close(stream)
            order: dict[str, Any] = json.loads(message)
            return order
        for stream in streams[:3]:
            os.close(stream)
        children[pid] = streams[3]
        control.sendall(b"%d\n" % pid)


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
    control = socket.socket(fileno=int(sys.argv[1]))
    warm()
    order = wait_for_order(control)
    if order is None:
        os._exit(0)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv = [str(Path(sys.executable).parent / "fairmark"), *order["arguments"]]
    _end_quickly(_run())


def _run() -> int:
    """The command's exit code, as Python makes it of whatever comes out of `main`."""
    try:
        cli.main()
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
