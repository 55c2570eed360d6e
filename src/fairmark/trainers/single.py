"""What adapters share whose trainers ask for one row at a time: a gatherer behind them, and one result to tell of."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.trainers.gather import Gatherer
from fairmark.trainers.reward import ROW_DEADLINE_S, Reward
from fairmark.trainers.telling import OneByOne
from fairmark.work.forks import ProcessLock

Single = TypeVar("Single", bound="SingleReward")
MOST_KEPT = 64

_made: dict[tuple[Any, ...], "SingleReward"] = {}
_lock = ProcessLock()


class SingleReward(Reward):
    """Rows come one by one, from threads or event loops, and are graded together."""

    deadline_s = ROW_DEADLINE_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.gatherer = Gatherer(self.spec, self.options.deadline_s, self.options.judge)
        self._failures = OneByOne(self.spec.name, self.becomes)

    def number(self, result: Result) -> float:
        """The reward, for trainers that take nothing but numbers. Raises GradingFailed where `on_error` says so."""
        if self._failures.passes(result):
            return result.reward
        (value,) = self.rewards([result])
        return 0.0 if value is None else value  # masked: by a sign beside it

    def row_logs(self, result: Result, between: str = "/") -> dict[str, float]:
        return {name: number(result) for name, number in self.logged(between).items()}

    def _tell(self, results: Sequence[Result]) -> None:
        self._failures.note(results)


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
