"""What trainers are told in their log of rows that were not graded: how many of how many, and why."""

import itertools
import logging
import math
import time
from collections import Counter
from collections.abc import Sequence

from fairmark.result import Result
from fairmark.work.forks import ProcessLock

MOST_REASONS = 3
TELL_EVERY_S = 10.0
"""How often failures are told where rows come one by one."""
_log = logging.getLogger("fairmark.trainers")
_lock = ProcessLock()


def reasons_of(results: Sequence[Result]) -> "Counter[str]":
    """Why rows were not graded, and how many for each reason."""
    return Counter(_last_line(result) for result in results if not result.ok)


def tell(name: str, reasons: "Counter[str]", rows: int, becomes: str) -> None:
    """In one line. `becomes`: what the trainer gets in place of their rewards."""
    told = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common(MOST_REASONS))
    more = f"; {len(reasons) - MOST_REASONS} more reasons" if len(reasons) > MOST_REASONS else ""
    _log.warning("%s: %d of %d rows were not graded and are %s: %s%s", name, reasons.total(), rows, becomes, told, more)


class OneByOne:
    """Of rows that come one by one: the first failure at once, and then of all rows since, but not a line a row."""

    def __init__(self, name: str, becomes: str) -> None:
        self._name = name
        self._becomes = becomes
        self._reasons: Counter[str] = Counter()
        self._rows = itertools.count(1)
        self._rows_told = 0
        self._told_at = -math.inf

    def passes(self, result: Result) -> bool:
        """Whether there is nothing to tell, as nearly always: other threads wait for this one."""
        if self._reasons or not result.ok:
            return False
        next(self._rows)
        return True

    def note(self, results: Sequence[Result]) -> None:
        count = max((next(self._rows) for _ in results), default=0)
        reasons = reasons_of(results)
        with _lock:
            if reasons:
                self._reasons += reasons
            if not self._reasons or time.monotonic() < self._told_at + TELL_EVERY_S:
                return
            rows, reasons = count - self._rows_told, self._reasons
            self._rows_told, self._reasons, self._told_at = count, Counter(), time.monotonic()
        tell(self._name, reasons, rows, self._becomes)


def _last_line(result: Result) -> str:
    """Why it was not graded; of a traceback what was raised."""
    return (result.error or result.skipped or "").strip().rpartition("\n")[2]
