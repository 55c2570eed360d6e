"""The other end of `pool` and `crew`: a process that grades the rows it is sent, until its pipe ends.

What grades is told by the command line, as module:function, because it lies above this room.
"""

import os
import signal
import sys
from importlib import import_module

from fairmark.errors import InvalidGrader
from fairmark.work.frames import UNKNOWN_GRADER, pack_results, receive, send, unpack


def main() -> None:
    module, _, function = sys.argv[1].partition(":")
    grade_stream = getattr(import_module(module), function)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's business; it ends us by its pipe
    orders, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing printed by accident may come between the answers
    grader = None
    try:
        while True:
            new_grader, rows = unpack(receive(orders))
            grader = new_grader or grader
            send(answers, pack_results(list(grade_stream(grader, rows, workers=1))))
    except (EOFError, BrokenPipeError):
        os._exit(0)
    except InvalidGrader:
        os._exit(UNKNOWN_GRADER)


if __name__ == "__main__":
    main()
