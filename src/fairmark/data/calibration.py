"""From a judge's scores to chances: how often humans pass what the judge gives such a score.

From 100 labels on by isotonic regression, which only says that more is not worse; from 30 on by Platt's logistic
curve, which has two parameters; below that not at all.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

ISOTONIC_FROM = 100
PLATT_FROM = 30
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A rising line through points; before the first and after the last it is level."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, score: float) -> float:
        at = bisect_right(self.points, (score, math.inf))
        if at == 0:
            return self.points[0][1]
        (left, below) = self.points[at - 1]
        if at == len(self.points) or left == score:
            return below
        (right, above) = self.points[at]
        return below + (above - below) * (score - left) / (right - left)

    def dump(self) -> dict[str, Any]:
        return {"method": "isotonic", "points": [list(point) for point in self.points]}


@dataclass(frozen=True, slots=True)
class Platt:
    """1 / (1 + exp(slope · score + offset)); the slope of a judge that is any good is negative."""

    slope: float
    offset: float

    def __call__(self, score: float) -> float:
        return _logistic(self.slope * score + self.offset)

    def dump(self) -> dict[str, Any]:
        return {"method": "platt", "slope": self.slope, "offset": self.offset}


Calibrator = Isotonic | Platt


def fit(scores: Sequence[float], passed: Sequence[float]) -> Calibrator | None:
    """The curve that so many labels allow, None of too few. `passed` is 1 or 0, or the share of raters who passed."""
    if len(scores) >= ISOTONIC_FROM:
        return fit_isotonic(scores, passed)
    return fit_platt(scores, passed) if len(scores) >= PLATT_FROM else None


def fit_isotonic(scores: Sequence[float], passed: Sequence[float]) -> Isotonic:
    """Pool adjacent violators: neighbours that would fall share their mean."""
    merged: dict[float, tuple[float, float]] = {}
    for score, value in zip(scores, passed, strict=True):
        total, weight = merged.get(score, (0.0, 0.0))
        merged[score] = (total + value, weight + 1)
    pools: list[tuple[float, float, list[float]]] = []
    for score in sorted(merged):
        total, weight = merged[score]
        pool = [score]
        while pools and pools[-1][0] / pools[-1][1] >= total / weight:
            before, count, members = pools.pop()
            total, weight, pool = total + before, weight + count, members + pool
        pools.append((total, weight, pool))
    points = [(score, total / weight) for total, weight, pool in pools for score in pool]
    return Isotonic(tuple(points))


def fit_platt(scores: Sequence[float], passed: Sequence[float]) -> Platt:
    """Newton's steps on the likelihood, with Platt's targets: none is quite 1 or 0, so that no curve runs off."""
    good = math.fsum(passed)
    bad = len(passed) - good
    high, low = (good + 1) / (good + 2), 1 / (bad + 2)
    targets = [low + (high - low) * value for value in passed]
    slope, offset = 0.0, math.log((bad + 1) / (good + 1))
    loss = _loss(scores, targets, slope, offset)
    for _ in range(100):
        step = _newton_step(scores, targets, slope, offset)
        size = 1.0
        while size > 1e-10:
            tried = _loss(scores, targets, slope + size * step[0], offset + size * step[1])
            if tried < loss:
                break
            size /= 2
        else:
            break
        slope, offset = slope + size * step[0], offset + size * step[1]
        if loss - tried < 1e-14 * abs(loss):
            break
        loss = tried
    return Platt(slope, offset)


def _newton_step(scores: Sequence[float], targets: Sequence[float], slope: float, offset: float) -> tuple[float, float]:
    a, b, c, first, second = 1e-12, 1e-12, 0.0, 0.0, 0.0
    for score, target in zip(scores, targets, strict=True):
        chance = _logistic(slope * score + offset)
        curve, pull = chance * (1 - chance), target - chance
        a += score * score * curve
        b += curve
        c += score * curve
        first += score * pull
        second += pull
    determinant = a * b - c * c
    if determinant == 0:
        return 0.0, 0.0
    return -(b * first - c * second) / determinant, -(a * second - c * first) / determinant


def _loss(scores: Sequence[float], targets: Sequence[float], slope: float, offset: float) -> float:
    total = 0.0
    for score, target in zip(scores, targets, strict=True):
        value = slope * score + offset
        total += target * value + _softplus(-value)
    return total


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))


def _logistic(value: float) -> float:
    """1 / (1 + exp(value)), without running over."""
    if value >= 0:
        return math.exp(-value) / (1 + math.exp(-value)) if value < 700 else 0.0
    return 1 / (1 + math.exp(value)) if value > -700 else 1.0


def brier(chances: Sequence[float], passed: Sequence[float]) -> float:
    """The mean squared error of chances; 0.25 is what a coin gets."""
    return math.fsum((chance - value) ** 2 for chance, value in zip(chances, passed, strict=True)) / len(passed)


def cross_fitted(
    scores: Sequence[float],
    passed: Sequence[float],
    fitting: Callable[[Sequence[float], Sequence[float]], Calibrator],
    seed: int = 0,
) -> list[float]:
    """The chance of each row by a curve that was fitted to other rows: how good the curve is where it was not seen."""
    order = list(range(len(scores)))
    random.Random(seed).shuffle(order)  # the same folds every time
    chances = [0.0] * len(scores)
    for fold in range(FOLDS):
        held, rest = order[fold::FOLDS], [index for at, index in enumerate(order) if at % FOLDS != fold]
        curve = fitting([scores[index] for index in rest], [passed[index] for index in rest])
        for index in held:
            chances[index] = curve(scores[index])
    return chances
