"""What results add up to: per grader the mean, the pass rate, the errors, how rewards are spread, what was spent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fairmark.data.warnings import Counted
from fairmark.result import is_split
from fairmark.text.alike import alike

BINS = 10
MOST_REASONS = 50
"""Different reasons of errors that are counted apart."""


class Tokens(Protocol):
    @property
    def total_tokens(self) -> int: ...


class QuestionCost(Protocol):
    """What one question to a judge cost."""

    @property
    def usage(self) -> Tokens: ...
    @property
    def cost(self) -> float | None: ...


class Graded(Protocol):
    """What is counted of a result: one fresh from grading, or one read back from a results file."""

    @property
    def reward(self) -> float: ...
    @property
    def passed(self) -> bool | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def skipped(self) -> str | None: ...
    @property
    def judgements(self) -> Sequence[QuestionCost]: ...
    @property
    def spread(self) -> Mapping[str, Any] | None: ...
    @property
    def row_warnings(self) -> Sequence[str]: ...


@dataclass(slots=True)
class GraderTally:
    """The counts of one grader. Rows with an error and rows that were skipped are counted apart and are in no mean."""

    graded: int = 0
    errors: int = 0
    skipped: int = 0
    passed: int = 0
    judged: int = 0
    """Graded rows where the grader says pass or fail."""
    total: float = 0.0
    bins: list[int] = field(default_factory=lambda: [0] * BINS)
    reasons: dict[str, int] = field(default_factory=dict)
    """Why rows could not be graded -> how many. Reasons that say the same are one; "" stands for those beyond MOST."""
    first_skipped: str | None = None
    asked: int = 0
    """Questions to judges; those whose answer was known already too."""
    tokens: int = 0
    cost: float = 0.0
    """Dollars, as far as prices are known."""
    unpriced: int = 0
    """Questions that took tokens of a model without a price."""
    asked_several: int = 0
    """Rows of which several judges, or several answers of one, made a grade."""
    split: int = 0
    """Of those the ones on which they were not of one mind."""
    dissent: dict[str, int] = field(default_factory=dict)
    """By model, on how many rows it did not say what the panel did."""
    warnings: Counted = field(default_factory=Counted)
    """Of the rows; what is to be said about the grader itself is no row's."""

    def add(self, result: Graded) -> bool:
        """Whether it could be graded, or was left out on purpose."""
        if warnings := result.row_warnings:
            self.warnings.add(warnings)
        for judgement in result.judgements:
            self.asked += 1
            self.tokens += judgement.usage.total_tokens
            self.cost += judgement.cost or 0.0
            self.unpriced += judgement.cost is None and judgement.usage.total_tokens > 0
        if (error := result.error) is not None:
            self.errors += 1
            reason = alike(error)
            reason = reason if reason in self.reasons or len(self.reasons) < MOST_REASONS else ""
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
            return False
        if (skipped := result.skipped) is not None:
            self.skipped += 1
            self.first_skipped = self.first_skipped or skipped
            return True
        reward, passed = result.reward, result.passed
        self.graded += 1
        if (spread := result.spread) is not None:
            self._count_spread(spread)
        self.total += reward
        if passed is not None:
            self.judged += 1
            self.passed += passed
        # The outer bins take what lies outside 0 to 1.
        place = int(reward * BINS)
        self.bins[place if 0 <= place < BINS else 0 if place < 0 else BINS - 1] += 1
        return True

    def _count_spread(self, spread: Mapping[str, Any]) -> None:
        self.asked_several += 1
        self.split += is_split(spread)
        for model in spread.get("dissent", ()):
            self.dissent[model] = self.dissent.get(model, 0) + 1

    @property
    def mean(self) -> float | None:
        return self.total / self.graded if self.graded else None

    @property
    def pass_rate(self) -> float | None:
        """The share of passes among the rows that were graded; None where the grader has no threshold."""
        return self.passed / self.judged if self.judged else None

    @property
    def quality(self) -> float:
        """What `--fail-under` compares: the share of passes, or without a threshold the mean reward, over all rows.

        A row with an error or that was skipped counts as 0: a broken grader, or one that a budget stopped, must not
        turn a build green.
        """
        rows = self.graded + self.errors + self.skipped
        return (self.passed if self.judged else self.total) / rows if rows else 0.0


@dataclass(slots=True)
class Tally:
    """The counts of a whole run, by the graders' labels."""

    graders: dict[str, GraderTally]
    rows: int = 0
    errored: int = 0
    """Rows that a grader could not grade, or several."""

    @classmethod
    def of(cls, labels: Iterable[str]) -> "Tally":
        return cls({label: GraderTally() for label in labels})

    def add(self, results: Mapping[str, Graded]) -> None:
        self.rows += 1
        all_graded = True
        for label, result in results.items():
            all_graded &= self.graders[label].add(result)
        self.errored += not all_graded
