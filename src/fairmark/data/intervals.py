"""How sure a measured rate or difference is: intervals and p-values, in plain arithmetic.

A p-value is the chance of a difference at least as large where there is none; small ones are significant.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

_EXACT_PAIRS = 10_000
"""Up to so many pairs that differ the exact test is a sum of as many terms; above, its limit differs by nothing."""
_TINY = 1e-300


class Interval(NamedTuple):
    low: float
    high: float


class Difference(NamedTuple):
    """Second less first, within `low` to `high`."""

    mean: float
    low: float
    high: float
    p: float


def wilson(passed: int, n: int, confidence: float = 0.95) -> Interval:
    """Where the true pass rate lies, given that `passed` of `n` rows passed. Of no rows nothing is known: 0 to 1."""
    if n == 0:
        return Interval(0.0, 1.0)
    z = normal_quantile(confidence)
    rate, weight = passed / n, z * z / n
    middle = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / n + weight / (4 * n))
    # At the ends the formula gives 0 and 1, but for rounding.
    low = 0.0 if passed == 0 else max(0.0, middle - half)
    high = 1.0 if passed == n else min(1.0, middle + half)
    return Interval(low, high)


def mcnemar(only_first: int, only_second: int) -> float:
    """The p-value for two runs over the same rows, from the rows that passed in one of them only.

    Exact: had neither run been better, each such row would be a coin's toss.
    """
    n, least = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return 1.0
    if n > _EXACT_PAIRS:
        distance = max(0.0, abs(only_first - only_second) - 1)  # half a row nearer on both sides: rows are whole
        return math.erfc(distance / math.sqrt(2 * n))
    terms = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(least + 1))
    tail = math.fsum(math.exp(term - n * math.log(2)) for term in terms)
    return min(1.0, 2 * tail)


def paired_difference(n: int, mean: float, sd: float, confidence: float = 0.95) -> Difference:
    """The mean of `n` differences whose sample standard deviation is `sd`, by Student's t.

    One difference alone says nothing of how others would be: its interval has no ends.
    """
    if n < 2:
        return Difference(mean, -math.inf, math.inf, 1.0)
    error = sd / math.sqrt(n)
    if error == 0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    half = t_quantile(confidence, n - 1) * error
    return Difference(mean, mean - half, mean + half, _t_outside(abs(mean) / error, n - 1))


def two_proportions(passed_1: int, n_1: int, passed_2: int, n_2: int, confidence: float = 0.95) -> Difference:
    """The difference of two pass rates over rows that have nothing to do with one another.

    The interval is Newcombe's, of the two Wilson intervals; the p-value that of the pooled z test.
    """
    if n_1 == 0 or n_2 == 0:
        return Difference(0.0, -1.0, 1.0, 1.0)
    rate_1, rate_2 = passed_1 / n_1, passed_2 / n_2
    (low_1, high_1), (low_2, high_2) = wilson(passed_1, n_1, confidence), wilson(passed_2, n_2, confidence)
    difference = rate_2 - rate_1
    low = difference - math.hypot(rate_2 - low_2, high_1 - rate_1)
    high = difference + math.hypot(high_2 - rate_2, rate_1 - low_1)
    pooled = (passed_1 + passed_2) / (n_1 + n_2)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n_1 + 1 / n_2))
    p = 1.0 if error == 0 else math.erfc(abs(difference) / error / math.sqrt(2))
    return Difference(difference, low, high, p)


def welch(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Difference:
    """The difference of two means over rows that have nothing to do with one another, whatever their spreads."""
    if len(first) < 2 or len(second) < 2:
        return Difference(0.0, -math.inf, math.inf, 1.0)
    first_mean, first_error = _mean_and_error(first)
    second_mean, second_error = _mean_and_error(second)
    difference, error = second_mean - first_mean, first_error + second_error
    if error == 0:
        return Difference(difference, difference, difference, 1.0 if difference == 0 else 0.0)
    freedom = error**2 / (first_error**2 / (len(first) - 1) + second_error**2 / (len(second) - 1))
    half = t_quantile(confidence, freedom) * math.sqrt(error)
    p = _t_outside(abs(difference) / math.sqrt(error), freedom)
    return Difference(difference, difference - half, difference + half, p)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and how far it varies, squared."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)


def mean_shift(differences: Sequence[float], confidence: float = 0.95) -> Difference:
    """`paired_difference` of the differences themselves; none at all are no shift, of which nothing is known."""
    if not differences:
        return Difference(0.0, -math.inf, math.inf, 1.0)
    mean = math.fsum(differences) / len(differences)
    squares = math.fsum((value - mean) ** 2 for value in differences)
    sd = math.sqrt(squares / (len(differences) - 1)) if len(differences) > 1 else 0.0
    # Equal differences differ by rounding; their spread is none.
    return paired_difference(len(differences), mean, 0.0 if sd < 1e-12 * abs(mean) else sd, confidence)


def correlation_p(correlation: float, freedom: int) -> float:
    """The p-value of a correlation, by Student's t with so many degrees of freedom."""
    if freedom < 1:
        return 1.0
    if abs(correlation) >= 1:
        return 0.0
    return _t_outside(abs(correlation) * math.sqrt(freedom / (1 - correlation * correlation)), freedom)


def more_than(successes: int, n: int, rate: float) -> float:
    """The chance of at least so many successes of `n` where each has this rate: the exact one-sided binomial test."""
    if successes <= 0:
        return 1.0
    if rate <= 0 or successes > n:
        return 0.0
    return _incomplete_beta(successes, n - successes + 1, rate)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values with Holm's correction, in their order: those below 5 % alarm falsely in one check of 20 at most."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [1.0] * len(p_values)
    most = 0.0
    for rank, index in enumerate(order):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = most
    return corrected


@lru_cache(64)
def normal_quantile(confidence: float) -> float:
    """How many standard deviations around the mean hold this share of a normal distribution."""
    return _solve(lambda z: math.erfc(z / math.sqrt(2)), 1 - confidence)


@lru_cache(4096)  # a hundred steps each, and a report has hundreds of intervals of a few sizes
def t_quantile(confidence: float, freedom: float) -> float:
    """The same for Student's distribution."""
    return _solve(lambda t: _t_outside(t, freedom), 1 - confidence)


def _solve(outside: Callable[[float], float], share: float) -> float:
    """Where a falling function of a number from 0 on comes down to this share."""
    high = 1.0
    while outside(high) > share and high < 1e300:
        high *= 2
    low = 0.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if outside(middle) > share else (low, middle)
    return high


def _t_outside(t: float, freedom: float) -> float:
    """The share of Student's distribution beyond -t and t."""
    # Not freedom / (freedom + t²), whose square may be too large.
    ratio = t / math.sqrt(freedom)
    return 0.0 if ratio > 1e150 else _incomplete_beta(freedom / 2, 0.5, 1 / (1 + ratio * ratio))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction is slow, its mirror image is quick
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Lentz's method: the fraction from its front, until another step changes nothing."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(value - before) <= 1e-15 * abs(value):
            break
    return value


def _not_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY


class Agreement(NamedTuple):
    """Of two verdicts on the same rows: the share that is equal, and Cohen's kappa, what of it is more than chance.

    `kappa` is None where chance alone makes them equal, because one verdict is all that either gave.
    """

    share: float
    kappa: float | None


def agreement(both: int, only_first: int, only_second: int, neither: int) -> Agreement:
    """Of at least one row, by how many of them which of the two passed."""
    n = both + only_first + only_second + neither
    share = (both + neither) / n
    first, second = (both + only_first) / n, (both + only_second) / n
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(share, None if chance >= 1 else (share - chance) / (1 - chance))
