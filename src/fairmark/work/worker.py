"""The other end of `pool`: a process that grades the chunks it is sent, until its pipe ends.

What grades is told by the command line, as module:function, because it lies above this room.
"""

import os
import signal
import sys
from importlib import import_module

import msgspec

from fairmark.errors import InvalidGrader
from fairmark.result import Result
from fairmark.work.pool import receive, send


def main() -> None:
    module, _, function = sys.argv[1].partition(":")
    grade_stream = getattr(import_module(module), function)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's business; it ends us by its pipe
    orders, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing printed by accident may come between the answers
    try:
        grader = msgspec.msgpack.decode(receive(orders))
        while True:
            chunk = msgspec.msgpack.decode(receive(orders))
            send(
                answers,
                msgspec.msgpack.encode([_plain(result) for result in grade_stream(grader, chunk, workers=1)]),
            )
    except (EOFError, BrokenPipeError):
        os._exit(0)
    except InvalidGrader:  # a kind from a package that only the caller's own sys.path leads to
        os._exit(1)


def _plain(result: Result) -> tuple[object, ...]:
    """A grade's fields in their order, then what else a result has."""
    grade = result.grade
    return (
        grade.reward,
        dict(grade.sub_rewards),
        grade.error,
        dict(grade.flags),
        grade.printed,
        grade.skipped,
        (),  # a grader that computes asks no judge
        grade.spread,
        result.execution_time,
        result.warnings,
    )


if __name__ == "__main__":
    main()
