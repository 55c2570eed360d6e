"""What every reward function is: a grader that was checked before the first rollout, and rows that never stop a run.

Everything that fails is data, and `on_error` says what becomes of it: `mask`, where the trainer can leave a row out;
`raise`, where it drops a rollout that raises; `zero` or a number, where it can do neither. Whatever it is, it is
logged: a failure never passes for a bad answer in silence.
"""

import logging
import math
import statistics
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidData, InvalidGrader
from fairmark.graders import grades_by_itself
from fairmark.judges.base import Judge
from fairmark.parse import Grader
from fairmark.readiness import lacks, models
from fairmark.registry.named import specify_named
from fairmark.registry.specify import specify
from fairmark.result import Result
from fairmark.run import grade_many, read_deadline
from fairmark.spec import GraderSpec
from fairmark.trainers import rivals
from fairmark.trainers.needs import needed
from fairmark.trainers.rows import Extract, ItemOf, RowMaker
from fairmark.trainers.signal import Signal
from fairmark.trainers.telling import reasons_of, tell
from fairmark.trainers.warming import open_sandbox
from fairmark.work.forks import ProcessLock

OnError = Literal["mask", "raise", "zero"] | float
BATCH_DEADLINE_S = 300.0
ROW_DEADLINE_S = 60.0
MOST_MADE_AGAIN = 16
_log = logging.getLogger("fairmark.trainers")
Own = TypeVar("Own", bound="Reward")

# Of rewards that came by pickle: some trainers send theirs anew with every row.
_made_again: "OrderedDict[str, Reward]" = OrderedDict()
_lock = ProcessLock()


class Options(NamedTuple):
    """What all makers take beside the grader."""

    on_error: OnError
    deadline_s: float
    item: ItemOf | None = None
    extract: Extract | None = None
    warm: bool = True
    judge: Judge | None = None
    """Who is asked in place of the configured models, in tests. It must pickle where the reward must."""


class Reward:
    """The part of an adapter that all have. It pickles as its grader's JSON and its options, so that it can be sent to
    other processes, and opens there what it needs."""

    errors_become: ClassVar[OnError] = "zero"
    """What is best for this trainer where nobody said."""
    can_mask: ClassVar[bool] = False
    deadline_s: ClassVar[float] = BATCH_DEADLINE_S
    hands_groups: ClassVar[bool] = False
    """Whether the trainer hands over the answers to a prompt together, so that they can be compared."""
    runs_here: bool = True
    """Whether this machine grades, and needs what the grader needs."""

    def __init__(
        self,
        grader: Grader | Path,
        on_error: OnError | None = None,
        deadline_s: float | None = None,
        item: ItemOf | None = None,
        extract: Extract | None = None,
        warm: bool = True,
        judge: Judge | None = None,
    ) -> None:
        """Raises InvalidGrader with every problem, also of what this machine lacks for it."""
        self.spec = check(grader, here=self.runs_here and judge is None)
        for warning in self.spec.all_warnings:
            _log.warning("%s: %s", self.spec.name, warning)
        self.most_rivals = rivals.most_rivals(self.spec)
        if not self.hands_groups:
            rivals.refuse_one_by_one(self.spec)
        self.__name__ = self.spec.name
        on_error = self.errors_become if on_error is None else on_error
        read_deadline(deadline_s)
        self.options = Options(
            _read_on_error(on_error, self.can_mask),
            self.deadline_s if deadline_s is None else deadline_s,
            item,
            extract,
            warm,
            judge,
        )
        self.maker = RowMaker(item, extract, needed(self.spec))
        self.signal = Signal(self.spec.name)
        self.parts = list(self.spec.children)
        """The parts of a multi grader: what is logged never depends on the row."""
        self.asks_judges = any(models(self.spec))
        self._logged: dict[str, dict[str, Callable[[Result], float]]] = {}
        self._mark = uuid.uuid4().hex
        if warm and self.runs_here:
            open_sandbox(self.spec, self.options.deadline_s)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_again, (self._mark, self.maker_of_this(), self.spec.echo(), self.options)

    def maker_of_this(self) -> Callable[..., "Reward"]:
        """What makes it again of its grader and its options."""
        return type(self)

    def grade(self, rows: Sequence[Mapping[str, Any]]) -> list[Result]:
        """All of them by the deadline; what is not graded by then has failed."""
        return grade_many(self.spec, rows, deadline_s=self.options.deadline_s, judge=self.options.judge)

    def together(
        self, groups: Iterable[Sequence[int]], rows: Sequence[Mapping[str, Any]]
    ) -> Sequence[Mapping[str, Any]]:
        """The rows, where answers to a prompt are compared each with those that it meets."""
        return rivals.with_rivals(rows, groups, self.most_rivals) if self.most_rivals else rows

    def by_prompt(self, prompts: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """`together`, where the answers to a prompt may stand anywhere. Most graders compare none, and pay nothing."""
        return self.together(rivals.by_prompt(prompts, rows), rows) if self.most_rivals else rows

    def rewards(self, results: Sequence[Result]) -> list[float | None]:
        """The rewards, and in place of those that failed what `on_error` says; None is masked. Raises GradingFailed."""
        self._tell(results)
        on_error = self.options.on_error
        if on_error == "raise":
            for result in results:
                if not result.ok:
                    raise failure_of(result)
        instead = None if on_error == "mask" else 0.0 if isinstance(on_error, str) else float(on_error)
        return [result.reward_or(instead) for result in results]

    def logs(self, results: Sequence[Result], between: str = "/") -> dict[str, list[float]]:
        """What is plotted, by names that are always the same: each part, whether a row failed, and what the judges of
        a grader that has some cost; 0 where no price is known."""
        return {name: [number(result) for result in results] for name, number in self.logged(between).items()}

    def logged(self, between: str) -> dict[str, Callable[[Result], float]]:
        """The names of what is plotted, and what of a result it is."""
        if between not in self._logged:
            numbers: dict[str, Callable[[Result], float]] = {part: _number_of(part) for part in self.parts}
            numbers["failed"] = lambda result: float(not result.ok)
            if self.asks_judges:
                numbers["judge_dollars"] = lambda result: result.cost or 0.0
            self._logged[between] = {f"{self.spec.name}{between}{name}": number for name, number in numbers.items()}
        return self._logged[between]

    def _tell(self, results: Sequence[Result]) -> None:
        """Of a call's failures, if there are any, in one line."""
        reasons = reasons_of(results)
        if reasons:
            tell(self.spec.name, reasons, len(results), self.becomes)

    @property
    def becomes(self) -> str:
        """Of a row that failed, in words."""
        return {"mask": "masked", "raise": "raised"}.get(str(self.options.on_error), "given a number")


def check(grader: Grader | Path, here: bool = True) -> GraderSpec:
    """A grader that can be a reward: its JSON, its file, or `key:` and its key in the registry. Raises InvalidGrader
    with every problem; `here` also of what this machine lacks for it."""
    spec = specify_named(str(grader)) if isinstance(grader, (str, Path)) else specify(grader)
    if not grades_by_itself(spec):
        raise InvalidGrader.at("$.type", "a custom grader is scored from elsewhere and cannot be a reward.")
    missing = lacks(spec) if here else []
    if missing:
        raise InvalidGrader(missing)
    return spec


def mean_for_masked(rewards: Sequence[float | None]) -> list[float]:
    """For trainers that take numbers alone of a group: one that is left out gets the mean of the others, so that it
    shifts nothing."""
    graded = [reward for reward in rewards if reward is not None]
    mean = statistics.fmean(graded) if graded else 0.0
    return [mean if reward is None else reward for reward in rewards]


def failure_of(result: Result) -> GradingFailed:
    """What is raised for a row that was not graded."""
    return GradingFailed(f"{result.name}: {result.error or result.skipped}")


def _number_of(part: str) -> Callable[[Result], float]:
    def number(result: Result) -> float:
        value = result.grade.sub_rewards.get(part, 0.0)
        return value if math.isfinite(value) else 0.0

    return number


def _read_on_error(on_error: Any, can_mask: bool) -> OnError:
    if isinstance(on_error, (int, float)) and not isinstance(on_error, bool) and math.isfinite(on_error):
        return float(on_error)
    if on_error == "mask" and not can_mask:
        raise InvalidData('on_error: this trainer cannot leave rows out. Use "raise", "zero" or a number.')
    if on_error not in ("mask", "raise", "zero"):
        allowed = '"mask", "raise", "zero" or a number' if can_mask else '"raise", "zero" or a number'
        raise InvalidData(f"on_error: found {jsontext.describe(on_error)}. Use {allowed}.")
    return on_error  # type: ignore[no-any-return]


def _make_again(mark: str, kind: Callable[..., Own], grader: dict[str, Any], options: Options) -> Own:
    """The reward that a pickle holds; the same one for all pickles of one, so that it is opened once a process."""
    with _lock:
        made = _made_again.get(mark)
    if made is None:
        fresh = kind(grader, *options)
        with _lock:
            made = _made_again.setdefault(mark, fresh)
            while len(_made_again) > MOST_MADE_AGAIN:
                _made_again.popitem(last=False)
    return made  # type: ignore[return-value]  # of its mark there is no other kind
