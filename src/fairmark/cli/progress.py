"""A progress bar with rate and time left, on stderr, for work that takes longer than a second."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

UPDATE_EVERY_S = 0.1
SHOW_AFTER_S = 1.0


class RowProgress:
    """Counts rows; how far that is comes from the share of the file read. Silent where stderr is no terminal."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[rows]:,} rows"),
            BarColumn(),
            TextColumn("{task.fields[rate]:,.0f} rows/s"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task: TaskID | None = None
        self._is_on = console.is_terminal
        self._started = self._updated = time.monotonic()

    def update(self, rows: int, share: float | None) -> None:
        if not self._is_on:
            return
        now = time.monotonic()
        if now - self._updated < UPDATE_EVERY_S or now - self._started < SHOW_AFTER_S:
            return
        self._updated = now
        rate = rows / (now - self._started)  # from the very start, not from when the bar came up
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task("", total=None if share is None else 1.0, rows=rows, rate=rate)
        self._progress.update(self._task, rows=rows, rate=rate, completed=share or 0.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._progress.stop()
