"""Another process that uses the same store, as servers side by side do, and is killed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests import command


@contextlib.contextmanager
def another(code: str, *arguments: str) -> Iterator[command.Command]:
    """As `python -c`, where Fairmark is imported already. It is killed at the end, if nothing else has ended it."""
    out, theirs = os.pipe()
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # a device, not a file
        streams = [nothing.fileno(), theirs, 2]
        try:
            forked = command._zygote().fork(arguments, Path("/"), {"PATH": os.environ["PATH"]}, streams, code=code)
        finally:
            os.close(theirs)
    with os.fdopen(out, encoding="utf-8") as said:
        process = command.Command(*forked, arguments, said)
        try:
            yield process
        finally:
            process.kill()
            process.wait(30)
