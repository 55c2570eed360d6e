"""A process that has torch and TRL behind it, and forks a program for each order: importing them takes longer than most
of what is tried with them.

    python -m tests.training.real.warm

An order is a line of JSON: {"arguments": as of `python`, a module or a file first, "cwd", "env", "stdout", "stderr"}.
It is answered with a line for the program's pid, and, when that has ended, one for its exit code.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any


def import_all() -> None:
    import datasets  # noqa: F401
    from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer  # noqa: F401

    from fairmark.trainers import trl  # noqa: F401


def wait_for_order() -> dict[str, Any] | None:
    """In the child: its order. Here: None when nobody is left to order."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            order: dict[str, Any] = json.loads(line)
            return order
        _tell(child)
        _, status = os.waitpid(child, 0)
        _tell(os.waitstatus_to_exitcode(status))
    return None


def _tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def become(order: dict[str, Any]) -> None:
    for number, name in ((0, os.devnull), (1, order["stdout"]), (2, order["stderr"])):
        opened = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ |= order["env"]
    first, *rest = order["arguments"]
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    import_all()
    if given := wait_for_order():
        become(given)
