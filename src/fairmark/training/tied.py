"""A program that ends with whoever started it: python -m fairmark.training.tied PROGRAM …

Its standard input is held open by whoever starts it, and ends with them, however they end.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603  # as asked
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # of a terminal, they go to everybody in it
        signal.signal(number, lambda *_: _end(program))
    threading.Thread(target=_watch, args=(program,), daemon=True).start()
    code = program.wait()
    os._exit(code if code >= 0 else 128 - code)


def _watch(program: "subprocess.Popen[bytes]") -> None:
    while os.read(0, 4096):
        pass
    _end(program)


def _end(program: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        os.killpg(program.pid, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
