"""What adapters share whose trainers ask for one row at a time: a gatherer behind them, and one result to tell of."""

import asyncio
import itertools
import math
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.trainers.gather import Gatherer
from fairmark.trainers.reward import ROW_DEADLINE_S, Reward, reasons_of
from fairmark.work.forks import ProcessLock

Single = TypeVar("Single", bound="SingleReward")
MOST_KEPT = 64
TELL_EVERY_S = 10.0
"""How often failures are told where rows come one by one."""

_made: dict[tuple[Any, ...], "SingleReward"] = {}
_lock = ProcessLock()


class SingleReward(Reward):
    """Rows come one by one, from threads or event loops, and are graded together."""

    deadline_s = ROW_DEADLINE_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.gatherer = Gatherer(self.spec, self.options.deadline_s, self.options.judge)
        self._reasons: Counter[str] = Counter()
        self._rows = itertools.count(1)
        self._rows_told = 0
        self._told_at = -math.inf

    def number(self, result: Result) -> float:
        """The reward, for trainers that take nothing but numbers. Raises GradingFailed where `on_error` says so."""
        if result.ok and not self._reasons:  # as nearly always: other threads wait for this one
            next(self._rows)
            return result.reward
        (value,) = self.rewards([result])
        return 0.0 if value is None else value  # masked: by a sign beside it

    def row_logs(self, result: Result, between: str = "/") -> dict[str, float]:
        return {name: number(result) for name, number in self.logged(between).items()}

    def _tell(self, results: Sequence[Result]) -> None:
        """The first failure at once, and then of all rows since, but not a line a row."""
        count = max(next(self._rows) for _ in results)
        reasons = reasons_of(results)
        with _lock:
            if reasons:
                self._reasons += reasons
            if not self._reasons or time.monotonic() < self._told_at + TELL_EVERY_S:
                return
            rows, reasons = count - self._rows_told, self._reasons
            self._rows_told, self._reasons, self._told_at = count, Counter(), time.monotonic()
        self._warn(reasons, rows)


def made_once(kind: type[Single], grader: Grader | Path, options: dict[str, Any]) -> Single:
    """The reward of a grader and its options in this process, for functions that are handed both with every row."""
    key = _key(kind, grader, options)
    made = _made.get(key)
    if made is None:
        fresh = kind(grader, **options)
        with _lock:
            while len(_made) >= MOST_KEPT:
                del _made[next(iter(_made))]
            made = _made.setdefault(key, fresh)
    return made  # type: ignore[return-value]  # the key has its kind


async def amade_once(kind: type[Single], grader: Grader | Path, options: dict[str, Any]) -> Single:
    """The same for event loops: making one opens a sandbox, and is done elsewhere."""
    made = _made.get(_key(kind, grader, options))
    if made is None:
        made = await asyncio.to_thread(made_once, kind, grader, options)
    return made  # type: ignore[return-value]


def _key(kind: type[SingleReward], grader: Grader | Path, options: dict[str, Any]) -> tuple[Any, ...]:
    return kind, repr(grader), repr(sorted(options.items()))
