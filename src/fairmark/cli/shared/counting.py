"""A progress bar over questions whose number is known, on stderr, for what takes longer than a second."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from fairmark.cli.shared.progress import SHOW_AFTER_S, LateProgress


class CallProgress(LateProgress):
    """Counts answers, from any thread."""

    def __init__(self, console: Console, quiet: bool) -> None:
        super().__init__(console, TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.is_on = self.is_on and not quiet
        self.total = 0
        self._done = 0

    def add(self, answers: int) -> None:
        self._done += answers
        if self.is_on and time.monotonic() - self._started >= SHOW_AFTER_S:
            self._show(max(self.total, self._done), self._done)
