"""The rate that humans would have found, out of a judge's rewards on all rows and human labels on some.

Prediction-powered inference with tuning (PPI++): the judge's mean over everything is moved by how far judge and
humans lie apart where both are known, and trusted only as far as they go together. A useless judge does no harm.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairmark.data.intervals import t_quantile

FEWEST_LABELS = 30


class CorrectedRate(NamedTuple):
    rate: float
    low: float
    high: float
    judged: float
    """What the judge says of all rows."""
    weight: float
    """How far the judge is trusted, 0 to 1: at 0 only the labels count."""
    labels: int
    others: int
    error: float
    """The standard error of the rate."""
    labels_only: tuple[float, float, float]
    """Rate, low and high of the labels alone."""


def corrected_rate(
    human: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    confidence: float = 0.95,
    *,
    weights: Sequence[float] | None = None,
    weight: float | None = None,
) -> CorrectedRate:
    """`human` and `judge` of the labelled rows, `others` the judge's on the rest, all from 0 to 1.

    `weights`: 1 / the chance that each labelled row was picked; without any they were drawn at random. `weight` sets
    how far the judge is trusted, which else follows from the rows.
    """
    n, others_n = len(human), len(others)
    shares = _normalised(weights, n)
    trust = _trust(human, judge, shares, others_n) if weight is None else weight
    if not others:
        trust = 0.0
    mean_f = _mean(others) if others else 0.0
    remains = [shares[index] * (human[index] - trust * judge[index]) for index in range(n)]
    rate = trust * mean_f + _mean(remains)
    variance = _variance(remains) / n + (trust * trust * _variance(others) / others_n if others else 0.0)
    half = t_quantile(confidence, n - 1) * math.sqrt(variance)
    alone = [shares[index] * human[index] for index in range(n)]
    alone_half = t_quantile(confidence, n - 1) * math.sqrt(_variance(alone) / n)
    everything = [*judge, *others] if weights is None else [*others] or [*judge]
    return CorrectedRate(
        _cut(rate),
        _cut(rate - half),
        _cut(rate + half),
        _mean(everything),
        trust,
        n,
        others_n,
        math.sqrt(variance),
        (_cut(_mean(alone)), _cut(_mean(alone) - alone_half), _cut(_mean(alone) + alone_half)),
    )


def _normalised(weights: Sequence[float] | None, n: int) -> list[float]:
    """Weights whose mean is 1."""
    if weights is None:
        return [1.0] * n
    mean = _mean(weights)
    return [weight / mean for weight in weights]


def _trust(human: Sequence[float], judge: Sequence[float], shares: Sequence[float], others: int) -> float:
    n = len(human)
    human_mean = _mean([share * value for share, value in zip(shares, human, strict=True)])
    judge_mean = _mean([share * value for share, value in zip(shares, judge, strict=True)])
    together = _mean([shares[i] * (human[i] - human_mean) * (judge[i] - judge_mean) for i in range(n)])
    spread = _mean([shares[i] * (judge[i] - judge_mean) ** 2 for i in range(n)])
    if not others or spread <= 0:
        return 0.0
    return _cut(together / (spread * (1 + n / others)))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)


def _cut(value: float) -> float:
    return max(0.0, min(1.0, value))
