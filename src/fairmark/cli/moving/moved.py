"""How far something is that moves many things, in one line on stderr."""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

Progress = Callable[[str, int], None]
Moved = TypeVar("Moved")
SHOW_EVERY_S = 0.2


def with_progress(work: Callable[[Progress], Moved]) -> Moved:
    """What `work` gives; it tells of a kind and how many are done. Silent where stderr is no terminal."""
    counts: dict[str, int] = {}
    shown_at = time.monotonic() + 1.0
    width = 0

    def told(kind: str, done: int) -> None:
        nonlocal shown_at, width
        counts[kind] = done
        now = time.monotonic()
        if now >= shown_at and sys.stderr.isatty():
            shown_at = now + SHOW_EVERY_S
            line = ", ".join(f"{number:,} {name}" for name, number in counts.items())
            width = max(width, len(line))
            sys.stderr.write(f"\r{line.ljust(width)}")
            sys.stderr.flush()

    try:
        return work(told)
    finally:
        if width:
            sys.stderr.write(f"\r{' ' * width}\r")
