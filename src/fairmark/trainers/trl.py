"""TRL (GRPO, RLOO, their asynchronous twins), and Unsloth, which patches it: a batch a call, failed rows masked.

trainer = GRPOTrainer(..., reward_funcs=fairmark.trainers.trl.reward("grader.json"))
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib import metadata
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.trainers.reward import Reward
from fairmark.trainers.signal import by_prompt

MASKS_SINCE = (1, 6)
"""Before this version of TRL, a row without a reward counts as 0 in its group."""
LogExtra = Callable[[str, list[Any]], object]
LogMetric = Callable[[str, float], object]
_log = logging.getLogger("fairmark.trainers")


class TrlReward(Reward):
    """`reward_func(prompts, completions, **columns) -> list[float | None]`: None leaves a row out of its group."""

    errors_become = "mask"
    can_mask = True
    hands_groups = True

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        log_extra: LogExtra | None = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        rows = self.maker.rows(prompts, completions, columns)
        results = self.grade(self.by_prompt(prompts, rows))
        return self.conclude(prompts, results, log_extra, log_metric)

    def conclude(
        self,
        prompts: Sequence[Any],
        results: Sequence[Result],
        log_extra: LogExtra | None,
        log_metric: LogMetric | None,
    ) -> list[float | None]:
        """The rewards of what was graded, told to the trainer's log where it has one."""
        rewards = self.rewards(results)
        self.signal.note(by_prompt(prompts, rewards))
        for name, values in self.logs(results).items():
            if log_metric is not None and values:
                log_metric(name, sum(values) / len(values))
            if log_extra is not None:
                log_extra(name, values)
        return rewards


class SharedBatch:
    """Several rewards over the same rows: whoever is called first for a batch grades it by all of them."""

    def __init__(self, rewards: list[TrlReward]) -> None:
        self.rewards = rewards
        self._lock = threading.Lock()
        self._batch: object = None
        self._graded: Future[list[list[Result]]] = Future()

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedBatch, (self.rewards,)

    def results(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: dict[str, Any]
    ) -> list[list[Result]]:
        with self._lock:
            first = self._batch is not completions
            if first:
                self._batch, self._graded = completions, Future()
            graded = self._graded
        if not first:
            return graded.result()
        try:
            rows = self.rewards[0].maker.rows(prompts, completions, columns)
            graded.set_result([reward.grade(reward.by_prompt(prompts, rows)) for reward in self.rewards])
        except BaseException as error:
            graded.set_exception(error)
        return graded.result()


class SharedTrlReward:
    """One of several reward functions. A row that fails in one is masked in all: TRL would add up what is left."""

    def __init__(self, batch: SharedBatch, index: int) -> None:
        self._batch, self._index = batch, index
        self.__name__ = batch.rewards[index].spec.name

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        log_extra: LogExtra | None = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        of_all = self._batch.results(prompts, completions, columns)
        own = self._batch.rewards[self._index]
        rewards = own.conclude(prompts, of_all[self._index], log_extra, log_metric)
        if own.options.on_error != "mask":
            return rewards
        failed = [any(not result.ok for result in of_row) for of_row in zip(*of_all, strict=True)]
        return [None if is_failed else reward for reward, is_failed in zip(rewards, failed, strict=True)]


def reward(grader: Grader | Path, **options: Any) -> TrlReward:
    """A reward function for `reward_funcs`. Raises InvalidGrader before anything is generated."""
    made = TrlReward(grader, **options)
    if made.options.on_error == "mask":
        _warn_of_old_versions()
    return made


def rewards(graders: Sequence[Grader | Path], **options: Any) -> list[SharedTrlReward]:
    """Several, for `reward_funcs` with `reward_weights`, that share one grading of the rows and one mask."""
    if not graders:
        raise InvalidData("graders: found none. It takes at least one.")
    made = [reward(grader, **options) for grader in graders]
    for name, count in Counter(one.spec.name for one in made).items():
        if count > 1:
            found = f"{count} are named {jsontext.quote(name)}"
            raise InvalidData(f"graders: {found}. TRL logs rewards by name: give each its own.")
    batch = SharedBatch(made)
    return [SharedTrlReward(batch, index) for index in range(len(graders))]


def _warn_of_old_versions() -> None:
    try:
        installed = metadata.version("trl")
    except metadata.PackageNotFoundError:
        return
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    if numbers < MASKS_SINCE:
        _log.warning("TRL %s counts rows without a reward as 0. TRL 1.6 and later leaves them out.", installed)
