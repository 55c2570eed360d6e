"""What results add up to: per grader the mean, the pass rate, the errors, how rewards are spread, what was spent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fairmark.data.warnings import Counted
from fairmark.text.alike import alike

BINS = 10
MOST_REASONS = 50
"""Different reasons of errors that are counted apart."""


class Tokens(Protocol):
    @property
    def total_tokens(self) -> int: ...


class Spent(Protocol):
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
    def judgements(self) -> Sequence[Spent]: ...
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
    warnings: Counted = field(default_factory=Counted)
    """Of the rows; what is to be said about the grader itself is no row's."""

    def add(self, result: Graded) -> None:
        if result.row_warnings:
            self.warnings.add(result.row_warnings)
        for judgement in result.judgements:
            self.asked += 1
            self.tokens += judgement.usage.total_tokens
            self.cost += judgement.cost or 0.0
            self.unpriced += judgement.cost is None and judgement.usage.total_tokens > 0
        if result.error is not None:
            self.errors += 1
            reason = alike(result.error)
            reason = reason if reason in self.reasons or len(self.reasons) < MOST_REASONS else ""
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
            return
        if result.skipped is not None:
            self.skipped += 1
            self.first_skipped = self.first_skipped or result.skipped
            return
        self.graded += 1
        self.total += result.reward
        if result.passed is not None:
            self.judged += 1
            self.passed += result.passed
        # The outer bins take what lies outside 0 to 1.
        self.bins[min(BINS - 1, max(0, int(result.reward * BINS)))] += 1

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
        self.errored += any(result.error is not None for result in results.values())
        for label, result in results.items():
            self.graders[label].add(result)
