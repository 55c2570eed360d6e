"""How rows come out, and pairs of them."""

import math

import pytest

from fairmark.outcomes import ERROR, FAIL, GRADED, OUTCOMES, PASS, SKIP, PairTotals


def test_numbers_of_outcomes_stay_as_they_stand_in_tables() -> None:
    assert (PASS, FAIL, ERROR, SKIP) == (0, 1, 2, 3)
    assert OUTCOMES == ("pass", "fail", "error", "skip")
    assert GRADED == (0, 1)


def totals(counts: tuple[int, int, int, int], means: tuple[float, float], squares: float, unit: float) -> PairTotals:
    both, first, second, neither = counts
    return PairTotals.of(
        "row",
        both_passed=both,
        only_first=first,
        only_second=second,
        both_failed=neither,
        mean_first=means[0],
        mean_second=means[1],
        squares=squares,
        unit=unit,
    )


def test_means_and_the_deviation_are_told_in_the_unit_of_the_rewards() -> None:
    # Differences of -1, 0, 1, 2 and 3: their mean is 1, and 10 the sum of the squared distances from it.
    made = totals((1, 1, 3, 0), (0.5, 1.5), 10.0, 1e200)
    assert made == PairTotals("row", 5, 1, 1, 3, 0, 5e199, 1.5e200, 1e200, math.sqrt(2.5) * 1e200)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (1, 0, 0, 0)])
def test_below_two_pairs_nothing_deviates(counts: tuple[int, int, int, int]) -> None:
    assert totals(counts, (1.0, 1.0), 0.0, 1.0).sd_difference == 0.0
