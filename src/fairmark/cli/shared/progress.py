"""A progress bar with rate and time left, on stderr, for work that takes longer than a second."""

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn

UPDATE_EVERY_S = 0.1
SHOW_AFTER_S = 1.0


class LateProgress:
    """A bar that comes up when work has gone on for a while. Silent where stderr is no terminal."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self.is_on = console.is_terminal
        self._progress = Progress(*columns, console=console)
        self._task: TaskID | None = None
        self._started = time.monotonic()

    def _show(self, total: float | None, completed: float, **fields: Any) -> None:
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task("", total=total, **fields)
        self._progress.update(self._task, completed=completed, **fields)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._progress.stop()


class RowProgress(LateProgress):
    """Counts rows; how far that is comes from the share of the file read."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("{task.fields[rows]:,} rows"),
            BarColumn(),
            TextColumn("{task.fields[rate]:,.0f} rows/s"),
            TimeRemainingColumn(),
        )
        self._updated = self._started

    def update(self, rows: int, share: float | None) -> None:
        if not self.is_on:
            return
        now = time.monotonic()
        if now - self._updated < UPDATE_EVERY_S or now - self._started < SHOW_AFTER_S:
            return
        self._updated = now
        rate = rows / (now - self._started)  # from the very start, not from when the bar came up
        self._show(None if share is None else 1.0, share or 0.0, rows=rows, rate=rate)
