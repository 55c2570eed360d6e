"""How far two verdicts on the same rows agree, and how far many raters do: plain arithmetic over tables.

What is undefined is None: two sides that never vary agree in everything and show nothing. Tables of counts,
`{(first, second): rows}`, are what most functions take, since drawing rows again (`resampling`) makes many of them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Table = Mapping[tuple[Any, Any], float]
"""How many rows have which pair of values; the counts may be weights."""
Scale = Literal["nominal", "ordinal", "interval"]

FEWEST_LEVELS, MOST_LEVELS = 3, 11
"""Scales of whole numbers on which the distance of two verdicts is counted in steps."""


def table_of(first: Iterable[Hashable], second: Iterable[Hashable]) -> Counter[tuple[Any, Any]]:
    return Counter(zip(first, second, strict=True))


def share_equal(table: Table) -> float | None:
    total = math.fsum(table.values())
    return math.fsum(count for (one, other), count in table.items() if one == other) / total if total else None


def cohen_kappa(table: Table) -> float | None:
    """What of the agreement is more than chance. None where both sides gave one and the same value only."""
    total = math.fsum(table.values())
    if not total:
        return None
    first, second = _sides(table)
    chance = math.fsum(count * second.get(value, 0.0) for value, count in first.items()) / (total * total)
    if len(first) == len(second) == 1 and first.keys() == second.keys():
        return None
    observed = share_equal(table) or 0.0
    return (observed - chance) / (1 - chance)


def weighted_kappa(table: Table, power: int = 2) -> float | None:
    """Cohen's kappa for numbers: a disagreement weighs its distance to this power. 1 is linear, 2 quadratic."""
    total = math.fsum(table.values())
    first, second = _sides(table)
    expected = math.fsum(
        before * after * abs(one - other) ** power for one, before in first.items() for other, after in second.items()
    )
    if not total or not expected:
        return None
    observed = math.fsum(count * abs(one - other) ** power for (one, other), count in table.items())
    return 1 - observed * total / expected


def _sides(table: Table) -> tuple[dict[Any, float], dict[Any, float]]:
    first: dict[Any, float] = defaultdict(float)
    second: dict[Any, float] = defaultdict(float)
    for (one, other), count in table.items():
        if count:
            first[one] += count
            second[other] += count
    return first, second


def krippendorff_alpha(units: Iterable[Sequence[Any]], scale: Scale = "nominal") -> float | None:
    """Agreement of any number of raters beyond chance. `units`: of each row the ratings that there are; rows with fewer
    than two tell nothing. None where all ratings are the same."""
    coincidences: dict[tuple[Any, Any], float] = defaultdict(float)
    for ratings in units:
        if len(ratings) < 2:
            continue
        counts = Counter(ratings)
        for one, times in counts.items():
            for other, others in counts.items():
                pairs = times * (others - (one == other))
                if pairs:
                    coincidences[one, other] += pairs / (len(ratings) - 1)
    totals, _ = _sides(coincidences)
    n = math.fsum(totals.values())
    distance = _distance(scale, totals)
    expected = math.fsum(
        one_count * other_count * distance(one, other)
        for one, one_count in totals.items()
        for other, other_count in totals.items()
    )
    if n < 2 or not expected:
        return None
    observed = math.fsum(count * distance(one, other) for (one, other), count in coincidences.items())
    return 1 - (n - 1) * observed / expected


def _distance(scale: Scale, totals: Mapping[Any, float]) -> Callable[[Any, Any], float]:
    if scale == "nominal":
        return lambda one, other: float(one != other)
    if scale == "interval":
        return lambda one, other: (one - other) ** 2
    # The middle of each value's ranks: two values are as far apart as there are ratings between them.
    middle: dict[Any, float] = {}
    below = 0.0
    for value in sorted(totals):
        middle[value] = below + totals[value] / 2
        below += totals[value]
    return lambda one, other: (middle[one] - middle[other]) ** 2


def pearson(table: Table) -> float | None:
    """None where a side never varies."""
    total = math.fsum(table.values())
    if not total:
        return None
    first_mean = math.fsum(one * count for (one, _), count in table.items()) / total
    second_mean = math.fsum(other * count for (_, other), count in table.items()) / total
    first_square = math.fsum(count * (one - first_mean) ** 2 for (one, _), count in table.items())
    second_square = math.fsum(count * (other - second_mean) ** 2 for (_, other), count in table.items())
    product = math.fsum(count * (one - first_mean) * (other - second_mean) for (one, other), count in table.items())
    if first_square <= 1e-24 * total * first_mean**2 or second_square <= 1e-24 * total * second_mean**2:
        return None
    if not first_square or not second_square:
        return None
    return max(-1.0, min(1.0, product / (math.sqrt(first_square) * math.sqrt(second_square))))


def spearman(table: Table) -> float | None:
    """Pearson's correlation of ranks, equal values sharing the mean of theirs. None where a side never varies."""
    first, second = _sides(table)
    if len(first) < 2 or len(second) < 2:
        return None
    first_rank, second_rank = _ranks(first), _ranks(second)
    ranked: dict[tuple[float, float], float] = defaultdict(float)
    for (one, other), count in table.items():
        ranked[first_rank[one], second_rank[other]] += count
    return pearson(ranked)


def _ranks(counts: Mapping[Any, float]) -> dict[Any, float]:
    ranks: dict[Any, float] = {}
    below = 0.0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return ranks


def kendall_tau(table: Table) -> float | None:
    """Kendall's tau-b, in n log n. None where a side never varies. The counts are whole."""
    total = int(sum(table.values()))
    first, second = _sides(table)
    pairs = total * (total - 1) // 2
    tied_first, tied_second, tied_both = (
        sum(int(count) * (int(count) - 1) // 2 for count in side.values()) for side in (first, second, table)
    )
    if pairs in (tied_first, tied_second):
        return None
    values = [other for (_, other), count in sorted(table.items()) for _ in range(int(count))]
    discordant = _inversions(values)
    concordant = pairs - discordant - tied_first - tied_second + tied_both
    return (concordant - discordant) / (math.sqrt(pairs - tied_first) * math.sqrt(pairs - tied_second))


def _inversions(values: list[Any]) -> int:
    """Pairs that stand in falling order, by merging halves."""
    count, width, n = 0, 1, len(values)
    while width < n:
        merged: list[Any] = []
        for start in range(0, n, 2 * width):
            left, right = values[start : start + width], values[start + width : start + 2 * width]
            at = 0
            for value in right:
                while at < len(left) and left[at] <= value:
                    merged.append(left[at])
                    at += 1
                merged.append(value)
                count += len(left) - at
            merged += left[at:]
        values, width = merged, 2 * width
    return count


class Ordered(NamedTuple):
    """Of the pairs within a group that humans order strictly: how many, how many of them the judge orders the same
    way, a tie counting half, and how many are ties of the judge."""

    pairs: int
    right: float
    ties: int

    @property
    def accuracy(self) -> float | None:
        return self.right / self.pairs if self.pairs else None


def ordered_pairs(answers: Sequence[tuple[float, float]]) -> Ordered:
    """Of one group: (human, judge) for each of its answers."""
    pairs, right, ties = 0, 0.0, 0
    for index, (human, judge) in enumerate(answers):
        for other_human, other_judge in answers[:index]:
            if human == other_human:
                continue
            pairs += 1
            if judge == other_judge:
                ties += 1
                right += 0.5
            elif (judge > other_judge) == (human > other_human):
                right += 1
    return Ordered(pairs, right, ties)


def in_whole_order(answers: Sequence[tuple[float, float]]) -> bool | None:
    """Whether the judge puts a group wholly and strictly in the humans' order; None where they order nothing."""
    order = ordered_pairs(answers)
    return None if not order.pairs else order.right == order.pairs and not order.ties


class Smoothness(NamedTuple):
    """How a judge uses its range."""

    values: int
    """Distinct ones."""
    commonest: float
    """The share of rows on the commonest value."""
    at_ends: float
    """The share at the two ends of the range."""
    warning: str | None


def smoothness(rewards: Sequence[float], low: float, high: float, *, has_levels: bool) -> Smoothness | None:
    """`has_levels`: whether the range allows more than four values. None of no rows."""
    if not rewards:
        return None
    counts = Counter(rewards)
    commonest = max(counts.values()) / len(rewards)
    at_ends = sum(count for value, count in counts.items() if value in (low, high)) / len(rewards)
    warning = None
    if has_levels and len(counts) < 4:
        noun = "one value" if len(counts) == 1 else f"{len(counts)} values"
        warning = f"the judge uses {noun} of a range that allows more: its scores are stamps"
    elif commonest > 0.8:
        warning = f"{commonest:.0%} of the rows have one and the same value"
    return Smoothness(len(counts), commonest, at_ends, warning)


def has_steps(low: float, high: float, values: Iterable[float]) -> bool:
    """Whether verdicts lie on a scale of whole numbers with 3 to 11 of them."""
    levels = high - low + 1
    whole = float(low).is_integer() and float(high).is_integer() and FEWEST_LEVELS <= levels <= MOST_LEVELS
    return whole and all(float(value).is_integer() for value in values)
