"""A curve from a judge's scores to the chance that people pass the answer, with how much it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairmark.data.calibration import (
    ISOTONIC_FROM,
    PLATT_FROM,
    Calibrator,
    brier,
    cross_fitted,
    fit,
    fit_isotonic,
    fit_platt,
)
from fairmark.errors import InvalidData
from fairmark.trust.check import JudgeCheck


@dataclass(frozen=True)
class Calibration:
    """Of one version of a grader: the fingerprint says which."""

    curve: Calibrator
    labels: int
    before: float
    after: float
    low: float
    high: float
    fingerprint: str
    models: Sequence[str]

    @property
    def helps(self) -> bool:
        return self.after < self.before

    def __call__(self, reward: float) -> float:
        """The chance for a reward as the grader gives it."""
        return self.curve((reward - self.low) / (self.high - self.low))

    def dump(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "object": "calibration",
            **self.curve.dump(),
            "range": [self.low, self.high],
            "labels": self.labels,
            "brier_before": self.before,
            "brier_after": self.after,
            "fingerprint": self.fingerprint,
            "models": list(self.models),
        }


def calibrate(check: JudgeCheck) -> Calibration:
    """From the rows that judge and people have both judged. Raises InvalidData of too few.

    `after` is measured on rows that the curve has not seen; else every curve would look good.
    """
    subject = check.subject
    if subject.mode == "preference":
        raise InvalidData("preferences have no scores to calibrate.")
    line = subject.unit(subject.line)
    scores = [judge for _, judge in check.compared.points]
    passed = [float(human >= line) for human, _ in check.compared.points]
    curve = fit(scores, passed)
    if curve is None:
        raise InvalidData(
            f"{len(scores)} labelled rows could be compared. A curve takes {PLATT_FROM}, a free one {ISOTONIC_FROM}."
        )
    fitting = fit_isotonic if len(scores) >= ISOTONIC_FROM else fit_platt
    unseen = cross_fitted(scores, passed, fitting, check.seed)
    before, after = brier(scores, passed), brier(unseen, passed)
    return Calibration(
        curve, len(scores), before, after, subject.low, subject.high, subject.fingerprint, subject.models
    )
