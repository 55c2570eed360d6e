"""Agreement against figures worked out elsewhere, and what is undefined."""

from collections import Counter

import pytest

from fairmark.data import agreement as stats
from fairmark.data.agreement import table_of

HUMAN, JUDGE = (1, 1, 1, 0, 0, 1, 0, 1, 1, 0), (1, 1, 0, 0, 0, 1, 1, 1, 1, 0)
HUMAN_SCORES, JUDGE_SCORES = (1, 2, 3, 4, 5, 3, 2, 4), (1, 2, 3, 5, 5, 2, 2, 3)
LABELS, SCORES = table_of(HUMAN, JUDGE), table_of(HUMAN_SCORES, JUDGE_SCORES)
NEVER = Counter({("good", "good"): 5})


def test_the_figures_of_labels() -> None:
    assert stats.share_equal(LABELS) == 0.8
    assert stats.cohen_kappa(LABELS) == pytest.approx(0.583333, abs=1e-6)
    units = list(zip(HUMAN, JUDGE, strict=True))
    assert stats.krippendorff_alpha(units) == pytest.approx(0.604167, abs=1e-6)


def test_the_figures_of_scores() -> None:
    assert stats.weighted_kappa(SCORES) == pytest.approx(0.888889, abs=1e-6)
    assert stats.weighted_kappa(SCORES, 1) == pytest.approx(0.744681, abs=1e-6)
    assert stats.spearman(SCORES) == pytest.approx(0.924693, abs=1e-6)
    assert stats.kendall_tau(SCORES) == pytest.approx(0.875761, abs=1e-6)
    assert stats.pearson(SCORES) == pytest.approx(0.898177, abs=1e-6)
    units = list(zip(HUMAN_SCORES, JUDGE_SCORES, strict=True))
    assert stats.krippendorff_alpha(units, "ordinal") == pytest.approx(0.896642, abs=1e-6)
    assert stats.krippendorff_alpha(units, "interval") == pytest.approx(0.895592, abs=1e-6)


def test_raters_may_leave_rows_out() -> None:
    units = [(1, 1, 1), (2, 2), (3, 3), (4, 4), (5, 4, 5)]
    assert stats.krippendorff_alpha(units, "interval") == pytest.approx(0.963211, abs=1e-6)
    assert stats.krippendorff_alpha([*units, (1,), ()], "interval") == stats.krippendorff_alpha(units, "interval")


def test_what_never_varies_shows_nothing() -> None:
    assert stats.cohen_kappa(NEVER) is None
    assert stats.cohen_kappa({}) is None
    assert stats.share_equal(NEVER) == 1.0
    assert stats.share_equal({}) is None
    assert stats.krippendorff_alpha([("good", "good")] * 5) is None
    level = table_of((1, 2, 3), (2, 2, 2))
    assert (stats.spearman(level), stats.kendall_tau(level), stats.pearson(level)) == (None, None, None)
    assert stats.weighted_kappa(table_of((2, 2), (2, 2))) is None


def test_one_side_that_never_varies_agrees_by_chance() -> None:
    assert stats.cohen_kappa(table_of("aabb", "aaaa")) == 0.0


def test_a_cell_without_rows_counts_for_nothing() -> None:
    assert stats.cohen_kappa({("good", "good"): 5, ("bad", "good"): 0}) is None


def test_pairs_within_a_group_are_right_half_right_or_wrong() -> None:
    order = stats.ordered_pairs([(0.9, 0.8), (0.5, 0.8), (0.5, 0.1), (0.1, 0.9)])
    # (.9,.5) tie, (.9,.5) right, (.9,.1) wrong, (.5,.5) not ordered by humans, (.5,.1) wrong twice
    assert order == (5, 1.5, 1)
    assert order.accuracy == pytest.approx(0.3)
    assert stats.ordered_pairs([(0.5, 0.1)]).accuracy is None


@pytest.mark.parametrize(
    ("answers", "whole"),
    [
        ([(1, 0.1), (2, 0.5), (3, 0.9)], True),
        ([(1, 0.1), (2, 0.5), (3, 0.5)], False),
        ([(1, 0.5), (2, 0.1), (3, 0.9)], False),
        ([(1, 0.5), (1, 0.1)], None),
        ([(1, 0.5)], None),
    ],
)
def test_a_chain_holds_only_in_the_humans_strict_order(answers: list[tuple[float, float]], whole: bool | None) -> None:
    assert stats.in_whole_order(answers) is whole


def test_a_judge_that_stamps_is_told() -> None:
    stamps = stats.smoothness([0.0, 1.0, 1.0, 0.0], 0.0, 1.0, has_levels=True)
    assert stamps is not None
    assert stamps[:3] == (2, 0.5, 1.0)
    assert stamps.warning == "the judge uses 2 values of a range that allows more: its scores are stamps"
    flat = stats.smoothness([0.5] * 9 + [0.1], 0.0, 1.0, has_levels=False)
    assert flat is not None
    assert flat.warning == "90% of the rows have one and the same value"
    smooth = stats.smoothness([0.1, 0.4, 0.5, 0.9], 0.0, 1.0, has_levels=True)
    assert smooth is not None
    assert smooth.warning is None
    assert stats.smoothness([], 0.0, 1.0, has_levels=True) is None


@pytest.mark.parametrize(
    ("low", "high", "values", "steps"),
    [(1, 5, (1, 3.0), True), (1, 5, (1.5,), False), (0, 1, (0, 1), False), (0, 10, (), True), (0, 11, (), False)],
)
def test_steps_are_counted_on_whole_numbers_only(
    low: float, high: float, values: tuple[float, ...], steps: bool
) -> None:
    assert stats.has_steps(low, high, values) is steps
