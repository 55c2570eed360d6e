"""How sure a measured rate or difference is: intervals and p-values, in plain arithmetic.

A p-value is the chance of a difference at least as large where there is none; small ones are significant.
"""

import math
from collections.abc import Callable
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
    z = _normal_quantile(confidence)
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
    half = _t_quantile(confidence, n - 1) * error
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


def _normal_quantile(confidence: float) -> float:
    """How many standard deviations around the mean hold this share of a normal distribution."""
    return _solve(lambda z: math.erfc(z / math.sqrt(2)), 1 - confidence)


def _t_quantile(confidence: float, freedom: int) -> float:
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


def _t_outside(t: float, freedom: int) -> float:
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
