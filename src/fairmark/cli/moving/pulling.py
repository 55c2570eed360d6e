"""How far an import is, on stderr: a line that changes in a terminal, a line now and then where it is none."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from fairmark.moving.pull.tally import PullTally

UPDATE_EVERY_S = 0.1
SHOW_AFTER_S = 1.0
LINE_EVERY_S = 30.0


class PullProgress:
    """Objects, bytes, their rate, the time left where it is known, and how long the service wants us to wait."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live: Live | None = None
        self._started = self._updated = time.monotonic()

    def update(self, tally: PullTally) -> None:
        now = time.monotonic()
        every = UPDATE_EVERY_S if self._console.is_terminal else LINE_EVERY_S
        if now - self._updated < every or now - self._started < SHOW_AFTER_S:
            return
        self._updated = now
        if not self._console.is_terminal:
            self._console.print(Text(words(tally)), soft_wrap=True)
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(Text(words(tally), no_wrap=True, overflow="ellipsis"), refresh=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


def words(tally: PullTally) -> str:
    """One line about it. The time left is for the output items of the runs that are known so far."""
    seconds = max(tally.seconds, 0.001)
    parts = [
        f"{tally.stage}: {tally.objects:,} objects",
        f"{tally.bytes / 1e6:,.1f} MB",
        f"{tally.objects / seconds:,.0f} objects/s",
    ]
    if tally.left_s is not None:
        parts.append(f"{_clock(tally.left_s)} left")
    if tally.waiting_s > 0:
        parts.append(f"waiting {tally.waiting_s:,.1f} s (429)")
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
