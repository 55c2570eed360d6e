"""How sure a statistic is for which no formula is to be trusted: groups of rows are drawn again, many times.

Groups, not rows: answers to one question are alike, and rows of them would look like more evidence than they are.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from fairmark.data.agreement import Table
from fairmark.data.intervals import Interval, normal_quantile

T = TypeVar("T")

DRAWS = 2_000
FEWEST_GROUPS = 10
"""Of fewer than this nothing is said."""
MOST_UNDEFINED = 0.1
"""The share of draws that may be without a value."""
FORMULA_FROM = 1_000
"""Groups from which on the formulas for large numbers are as good, and quicker."""


def bootstrap(
    groups: Sequence[T], statistic: Callable[[list[T]], float | None], seed: int, confidence: float = 0.95
) -> Interval | None:
    """The percentile interval over draws of as many groups. None of too few, or where too many draws are undefined."""
    if len(groups) < FEWEST_GROUPS:
        return None
    source = random.Random(seed)  # the same report for the same answers
    values = [statistic(source.choices(groups, k=len(groups))) for _ in range(DRAWS)]
    return _percentiles(values, confidence)


def mean_interval(groups: Sequence[Sequence[float]], seed: int, confidence: float = 0.95) -> Interval | None:
    """`bootstrap` for the mean of all values."""
    if all(len(group) == 1 for group in groups):  # a third of the time
        return bootstrap([group[0] for group in groups], _mean, seed, confidence)
    return bootstrap(groups, mean_of, seed, confidence)


def mean_of(groups: Iterable[Sequence[float]]) -> float | None:
    return _mean([value for group in groups for value in group])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def table_interval(
    groups: Sequence[Sequence[tuple[Any, Any]]],
    statistic: Callable[[Table], float | None],
    seed: int,
    confidence: float = 0.95,
) -> Interval | None:
    """`bootstrap` for a statistic of a table, whose cells the rows of each group are."""
    if all(len(group) == 1 for group in groups):  # counted at once
        return bootstrap([group[0] for group in groups], lambda cells: statistic(Counter(cells)), seed, confidence)
    return bootstrap(
        groups, lambda drawn: statistic(Counter(cell for group in drawn for cell in group)), seed, confidence
    )


def _percentiles(values: list[float | None], confidence: float) -> Interval | None:
    known = sorted(value for value in values if value is not None)
    if len(known) < (1 - MOST_UNDEFINED) * len(values):
        return None
    tail = (1 - confidence) / 2
    return Interval(_quantile(known, tail), _quantile(known, 1 - tail))


def _quantile(ordered: list[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def spearman_interval(rho: float, n: int, confidence: float = 0.95) -> Interval:
    """Fisher's z with the variance for ranks, (1 + rho²/2) / (n - 3)."""
    if abs(rho) >= 1:
        return Interval(rho, rho)
    half = normal_quantile(confidence) * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return Interval(math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half))


def kappa_interval(table: Table, kappa: float, confidence: float = 0.95) -> Interval:
    """By the delta method, for large tables."""
    n = math.fsum(table.values())
    first: Counter[Any] = Counter()
    second: Counter[Any] = Counter()
    for (one, other), count in table.items():
        first[one] += count / n  # type: ignore[assignment]  # shares, not counts
        second[other] += count / n  # type: ignore[assignment]
    chance = math.fsum(share * second[value] for value, share in first.items())
    rest = 1 - kappa
    same = math.fsum(
        count / n * (1 - (first[one] + second[one]) * rest) ** 2
        for (one, other), count in table.items()
        if one == other
    )
    apart = math.fsum(
        count / n * (second[one] + first[other]) ** 2 for (one, other), count in table.items() if one != other
    )
    variance = same + rest * rest * apart - (kappa - chance * rest) ** 2
    half = normal_quantile(confidence) * math.sqrt(max(0.0, variance) / n) / (1 - chance)
    return Interval(max(-1.0, kappa - half), min(1.0, kappa + half))
