"""Runs compared with a first one, criterion by criterion: how far apart they lie, how sure that is, what flipped.

Nothing here knows where rows come from. Whoever has them counts pairs (the store by a query, `pairing` of rows in
memory) and gives those counts; the same counts give the same words in the page, in the terminal and in a build's gate.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from fairmark.data import intervals
from fairmark.data.intervals import Difference
from fairmark.outcomes import PairTotals

MOST_RUNS = 6
"""So many are compared at once: more columns nobody reads."""
SIGNIFICANT = 0.05
Measure = Literal["pass rate", "mean reward"]
Verdict = Literal["better", "worse", "same", "unsure", "unknown"]


class Outcomes(NamedTuple):
    """What one run made of one criterion, over all its rows. Errors and skipped rows are neither passed nor failed."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0

    @property
    def graded(self) -> int:
        return self.passed + self.failed

    @property
    def pass_rate(self) -> float | None:
        return self.passed / self.graded if self.graded else None


class Compared(NamedTuple):
    """One run beside the first, by one criterion."""

    measure: Measure
    first: float | None
    second: float | None
    """Over the rows that both graded, or where there are none, each over its own."""
    difference: Difference | None
    """Second less first; None where nothing can be said."""
    p: float | None
    """The difference's p-value, made larger for as many as were looked at together (`corrected`)."""
    n: int
    """Rows that both graded."""
    gained: int
    """Of those, rows that only the second passed."""
    lost: int
    """Of those, rows that only the first passed."""
    other: Difference | None
    """Of the mean rewards where pass rates are compared; None where they say the same."""
    before: Outcomes
    after: Outcomes

    @property
    def verdict(self) -> Verdict:
        if self.difference is None or self.p is None:
            return "unknown"
        if self.p < SIGNIFICANT:
            return "better" if self.difference.mean > 0 else "worse"
        if self.n and not self.gained and not self.lost and not self.difference.mean:
            return "same"
        return "unsure"

    @property
    def alone(self) -> tuple[int, int]:
        """Graded rows of each that have no partner in the other."""
        return max(0, self.before.graded - self.n), max(0, self.after.graded - self.n)


def compare(before: Outcomes, after: Outcomes, pairs: PairTotals, measure: Measure = "pass rate") -> Compared:
    """A criterion of two runs. Pass rates of equal rows are compared by McNemar's test, means by Student's t of the
    differences; of rows that have nothing in common only pass rates can be compared, and less surely."""
    n = pairs.n
    first, second = before.pass_rate, after.pass_rate
    difference: Difference | None = None
    other = None
    if n and measure == "mean reward":
        first, second = pairs.mean_first, pairs.mean_second
        difference = rewards_difference(pairs)
    elif n:
        first, second = ((pairs.both_passed + only) / n for only in (pairs.only_first, pairs.only_second))
        difference = pass_rate_difference(pairs)
        other = None if _are_rates(pairs, first, second) else rewards_difference(pairs)
    elif measure == "pass rate" and first is not None and second is not None:
        difference = intervals.two_proportions(before.passed, before.graded, after.passed, after.graded)
    elif measure == "mean reward":
        first = second = None
    return Compared(
        measure,
        first,
        second,
        difference,
        None if difference is None else difference.p,
        n,
        pairs.only_second,
        pairs.only_first,
        other,
        before,
        after,
    )


def corrected(compared: Sequence[Compared]) -> list[Compared]:
    """All that is looked at together, with Holm's correction: of twenty criteria that did not change, one would seem to
    have."""
    known = [one.difference.p for one in compared if one.difference is not None]
    p_values = iter(intervals.holm(known))
    return [one if one.difference is None else one._replace(p=next(p_values)) for one in compared]


def pass_rate_difference(pairs: PairTotals) -> Difference:
    """The difference of the pass rates over the same rows, with the test that looks at flipped rows only."""
    n, gained, lost = pairs.n, pairs.only_second, pairs.only_first
    mean = (gained - lost) / n
    spread = math.sqrt(max(0.0, (gained + lost) - n * mean * mean) / (n - 1)) if n > 1 else 0.0
    measured = intervals.paired_difference(n, mean, spread)
    return Difference(mean, max(-1.0, measured.low), min(1.0, measured.high), intervals.mcnemar(lost, gained))


def rewards_difference(pairs: PairTotals) -> Difference:
    return intervals.paired_difference(pairs.n, pairs.mean_difference, pairs.sd_difference)


def _are_rates(pairs: PairTotals, first: float, second: float) -> bool:
    """Rewards of 0 and 1 say what the pass rates say already."""
    return math.isclose(pairs.mean_first, first, abs_tol=1e-9) and math.isclose(pairs.mean_second, second, abs_tol=1e-9)


def in_words(compared: Compared) -> str:
    """What can be said, for people, on one line."""
    difference, p = compared.difference, compared.p
    if difference is None or p is None:
        return "nothing can be said: no row was graded in both"
    match compared.verdict:
        case "same":
            return "the same on every row" if compared.other is None else "the same verdict on every row"
        case "unsure":
            rows = f"{compared.n:,} rows" if compared.n else "this many rows"
            return f"no difference that {rows} could show, {p_words(p)}"
        case verdict:
            by = f"{abs(difference.mean):.4f}" if compared.measure == "mean reward" else points(abs(difference.mean))
            return f"{verdict} by {by}, {p_words(p)}"


def p_words(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def points(share: float) -> str:
    """A difference of rates, in percentage points."""
    return f"{100 * share:.1f} points"
