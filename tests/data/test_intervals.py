"""Intervals and p-values against known figures."""

import math

import pytest

from fairmark.data.intervals import (
    agreement,
    holm,
    mcnemar,
    mean_shift,
    more_than,
    paired_difference,
    two_proportions,
    welch,
    wilson,
)


@pytest.mark.parametrize(
    ("passed", "n", "confidence", "low", "high"),
    [
        (7, 10, 0.95, 0.3967781474611454, 0.8922087325936989),
        (45, 50, 0.95, 0.7863976856252035, 0.9565242350681095),
        (7, 10, 0.99, 0.3200246792011026, 0.9204336834769342),
        (0, 10, 0.95, 0.0, 0.2775327998628892),
        (10, 10, 0.95, 0.7224672001371107, 1.0),
        (1, 200_000, 0.95, 8.826233199317746e-07, 2.8324109801226e-05),
        (150_000, 200_000, 0.95, 0.7480974834508688, 0.751892913086536),
    ],
)
def test_a_pass_rate_lies_in_wilsons_interval(passed: int, n: int, confidence: float, low: float, high: float) -> None:
    assert wilson(passed, n, confidence) == pytest.approx((low, high), rel=1e-12)


def test_the_ends_of_an_interval_are_exactly_0_and_1() -> None:
    assert wilson(0, 3).low == 0.0
    assert wilson(3, 3).high == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 5, 1.0),
        (0, 5, 0.0625),  # 2 / 2**5
        (3, 10, 0.09228515625),  # 2 * (1 + 13 + 78 + 286) / 2**13
        (59, 86, 0.0304818146494877),
        (101, 202, 6.7302113122465e-09),
        (4000, 4200, 0.0279724235713247),
    ],
)
def test_pairs_that_differ_are_compared_exactly(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar(only_first, only_second) == pytest.approx(p, rel=1e-10)
    assert mcnemar(only_second, only_first) == mcnemar(only_first, only_second)


def test_very_many_pairs_are_compared_by_the_limit_of_the_exact_test() -> None:
    assert mcnemar(5200, 5000) == pytest.approx(0.04878796312682234, rel=1e-3)
    assert mcnemar(100_000, 100_000) == 1.0
    assert mcnemar(200_000, 0) == 0.0


def test_the_limit_and_the_exact_test_meet() -> None:
    assert mcnemar(5100, 4900) == pytest.approx(mcnemar(5101, 4901), rel=0.01)


@pytest.mark.parametrize(
    ("n", "mean", "sd", "low", "high", "p"),
    [
        (2, 1.0, 1.0, -7.984643532093752, 9.984643532093752, 0.3918265520306072),
        (10, 0.1, 0.2, -0.04307138119413292, 0.24307138119413293, 0.14830470736655935),
        (5, -0.3, 0.01, -0.3124166399820376, -0.28758336001796236, 2.9585785039165447e-07),
        (100, 0.0, 0.5, -0.09921084757932087, 0.09921084757932087, 1.0),
        (3, 1e200, 1e200, -1.4841377117503298e200, 3.4841377117503294e200, 0.22540333075851665),
        (200_000, 0.001, 0.3, -0.00031479176779159, 0.00231479176779159, 0.13603870518646896),
        (1_000_000, 0.5, 0.1, 0.4998040033643183, 0.5001959966356816, 0.0),
    ],
)
def test_a_mean_difference_has_students_interval(
    n: int, mean: float, sd: float, low: float, high: float, p: float
) -> None:
    found = paired_difference(n, mean, sd)
    assert (found.mean, found.low, found.high) == pytest.approx((mean, low, high), rel=1e-6)
    assert found.p == pytest.approx(p, rel=1e-8)


def test_differences_that_are_all_the_same_leave_no_doubt() -> None:
    assert paired_difference(10, 0.0, 0.0) == (0.0, 0.0, 0.0, 1.0)
    assert paired_difference(10, 0.25, 0.0) == (0.25, 0.25, 0.25, 0.0)


@pytest.mark.parametrize("n", [0, 1])
def test_one_difference_says_nothing_of_others(n: int) -> None:
    assert paired_difference(n, 0.5, 0.0) == (0.5, -math.inf, math.inf, 1.0)


@pytest.mark.parametrize(
    ("counts", "difference", "low", "high", "p"),
    [
        ((56, 70, 48, 80), -0.2, -0.33387265403690614, -0.05243147240236498, 0.00804508136819656),
        ((3, 10, 9, 10), 0.6, 0.1705227239345029, 0.809017973535488, 0.006169899320544151),
        ((10, 10, 0, 20), -1.0, -1.0, -0.6790860371419145, 4.320463057827506e-08),
        ((0, 10, 0, 20), 0.0, -0.27753279986288926, 0.1611251580528194, 1.0),
    ],
)
def test_two_rates_over_other_rows_are_compared_by_proportions(
    counts: tuple[int, int, int, int], difference: float, low: float, high: float, p: float
) -> None:
    assert two_proportions(*counts) == pytest.approx((difference, low, high, p), rel=1e-9, abs=1e-15)


def test_a_rate_of_no_rows_can_be_anything() -> None:
    assert two_proportions(0, 0, 5, 10) == (0.0, -1.0, 1.0, 1.0)
    assert two_proportions(5, 10, 0, 0) == (0.0, -1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("counts", "share", "kappa"),
    [
        ((20, 5, 10, 15), 0.7, 0.4),  # the example of Cohen's kappa that every textbook has
        ((5, 0, 0, 5), 1.0, 1.0),
        ((0, 5, 5, 0), 0.0, -1.0),
        ((5, 0, 0, 0), 1.0, None),
    ],
)
def test_agreement_is_the_share_of_equal_verdicts_and_what_of_it_is_more_than_chance(
    counts: tuple[int, int, int, int], share: float, kappa: float | None
) -> None:
    agreed = agreement(*counts)
    assert agreed.share == pytest.approx(share)
    assert agreed.kappa == (None if kappa is None else pytest.approx(kappa))


def test_holms_correction_multiplies_less_and_less_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_at_least_so_many_successes_by_an_exact_sum() -> None:
    assert more_than(2, 3, 0.5) == pytest.approx(0.5)
    assert more_than(3, 3, 0.1) == pytest.approx(0.001)
    assert more_than(0, 3, 0.1) == 1.0
    assert more_than(1, 3, 0.0) == 0.0


def test_two_means_by_welch() -> None:
    difference = welch([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 9.0])
    assert difference.mean == pytest.approx(2.75)
    assert difference.p == pytest.approx(0.16470207962805658, abs=1e-12)
    assert welch([1.0], [2.0, 3.0]).p == 1.0
    assert welch([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0, 1.0, 0.0)


def test_equal_shifts_are_beyond_doubt_and_none_are_nothing() -> None:
    assert mean_shift([0.1] * 7).p == 0.0
    assert mean_shift([]).p == 1.0
    assert mean_shift([0.1]) == (0.1, -math.inf, math.inf, 1.0)
