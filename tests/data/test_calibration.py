"""Curves from scores to chances."""

import math
import random

import pytest

from fairmark.data.calibration import brier, cross_fitted, fit, fit_isotonic, fit_platt


def test_isotonic_regression_pools_neighbours_that_fall() -> None:
    curve = fit_isotonic([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 0, 1, 1])
    assert [curve(score) for score in (0.05, 0.2, 0.25, 0.35, 0.9)] == pytest.approx([0, 0.5, 0.5, 0.75, 1])


def test_equal_scores_are_one_point() -> None:
    curve = fit_isotonic([0.5, 0.5, 0.5, 0.5], [1, 0, 1, 1])
    assert curve.points == ((0.5, 0.75),)
    assert (curve(0.1), curve(0.9)) == (0.75, 0.75)


def test_platts_curve_is_where_the_likelihood_is_level() -> None:
    source = random.Random(1)
    scores = [source.random() for _ in range(80)]
    passed = [float(source.random() < 1 / (1 + math.exp(4 - 8 * score))) for score in scores]
    curve = fit_platt(scores, passed)
    good, bad = sum(passed), len(passed) - sum(passed)
    targets = [(good + 1) / (good + 2) if value else 1 / (bad + 2) for value in passed]
    pulls = [target - curve(score) for target, score in zip(targets, scores, strict=True)]
    assert math.fsum(pulls) == pytest.approx(0, abs=1e-6)
    assert math.fsum(pull * score for pull, score in zip(pulls, scores, strict=True)) == pytest.approx(0, abs=1e-6)
    assert curve.slope < 0


def test_scores_that_separate_perfectly_do_not_run_off() -> None:
    curve = fit_platt([0.0] * 20 + [1.0] * 20, [0.0] * 20 + [1.0] * 20)
    assert (curve(0.0), curve(1.0)) == pytest.approx((1 / 22, 21 / 22), abs=1e-6)
    assert fit_platt([0.5] * 40, [1.0] * 30 + [0.0] * 10)(0.5) == pytest.approx((30 * 31 / 32 + 10 / 12) / 40, abs=1e-6)


@pytest.mark.parametrize(("labels", "method"), [(29, None), (30, "platt"), (99, "platt"), (100, "isotonic")])
def test_the_curve_follows_from_how_many_labels_there_are(labels: int, method: str | None) -> None:
    curve = fit([index / labels for index in range(labels)], [float(index % 3 > 0) for index in range(labels)])
    assert (curve and curve.dump()["method"]) == method


def test_rows_are_held_against_curves_that_have_not_seen_them() -> None:
    source = random.Random(2)
    scores = [source.random() for _ in range(200)]
    passed = [float(source.random() < 0.5) for _ in scores]  # nothing to be learned
    seen = fit_isotonic(scores, passed)
    unseen = cross_fitted(scores, passed, fit_isotonic)
    assert brier([seen(score) for score in scores], passed) < 0.25
    assert brier(unseen, passed) > 0.25
