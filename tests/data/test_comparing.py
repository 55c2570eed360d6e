"""Runs compared: what is said of the same counts, wherever they come from."""

import math

import pytest

from fairmark.data.comparing import Compared, Outcomes, compare, corrected, in_words, p_words
from fairmark.outcomes import PairTotals

NOTHING = PairTotals("row", 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0)


def rates(both: int, lost: int, gained: int, neither: int) -> PairTotals:
    """Of a criterion whose rewards are 0 and 1."""
    n = both + lost + gained + neither
    mean = (gained - lost) / n
    spread = math.sqrt(((gained + lost) - n * mean * mean) / (n - 1))
    return PairTotals("row", n, both, lost, gained, neither, (both + lost) / n, (both + gained) / n, mean, spread)


def of_rates(both: int, lost: int, gained: int, neither: int) -> Compared:
    before, after = Outcomes(both + lost, gained + neither), Outcomes(both + gained, lost + neither)
    return compare(before, after, rates(both, lost, gained, neither))


def test_a_drop_that_the_rows_show_is_worse_by_mcnemars_exact_test() -> None:
    found = of_rates(80, 12, 2, 6)
    assert found.verdict == "worse"
    assert (found.first, found.second) == (0.92, 0.82)
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(-0.1)
    assert found.difference.p == pytest.approx(2 * (1 + 14 + 91) / 2**14)  # two or fewer of fourteen tosses
    assert found.difference.low == pytest.approx(-0.1 - 1.98421695 * 0.03623719, abs=1e-6)  # t of 99
    assert (found.gained, found.lost) == (2, 12)
    assert in_words(found) == "worse by 10.0 points, p = 0.013"


def test_the_same_drop_of_few_rows_is_not_called_one() -> None:
    found = of_rates(8, 1, 0, 1)
    assert found.verdict == "unsure"
    assert in_words(found) == "no difference that 10 rows could show, p = 1.00"


def test_more_passes_are_better() -> None:
    assert of_rates(50, 1, 20, 29).verdict == "better"


def test_rows_that_all_stayed_are_the_same() -> None:
    found = of_rates(5, 0, 0, 5)
    assert found.verdict == "same"
    assert in_words(found) == "the same on every row"


def test_rewards_of_0_and_1_are_told_once_and_others_twice() -> None:
    assert of_rates(80, 12, 2, 6).other is None
    graded = PairTotals("row", 100, 90, 0, 0, 10, 0.8, 0.7, -0.1, 0.2)
    found = compare(Outcomes(90, 10), Outcomes(90, 10), graded)
    assert in_words(found) == "the same verdict on every row"
    assert found.other is not None
    assert found.other.p < 0.001


def test_a_criterion_without_a_threshold_is_compared_by_its_mean_reward() -> None:
    graded = PairTotals("row", 100, 90, 0, 0, 10, 0.8, 0.7, -0.1, 0.2)
    found = compare(Outcomes(90, 10), Outcomes(90, 10), graded, "mean reward")
    assert found.verdict == "worse"
    assert (found.first, found.second) == (0.8, 0.7)
    assert in_words(found) == "worse by 0.1000, p < 0.001"


def test_rows_without_partners_are_compared_by_their_rates_alone() -> None:
    found = compare(Outcomes(90, 10), Outcomes(60, 40), NOTHING)
    assert found.verdict == "worse"
    assert found.alone == (100, 100)
    assert (found.first, found.second) == (0.9, 0.6)


@pytest.mark.parametrize(
    ("before", "after", "measure"),
    [
        (Outcomes(9, 1), Outcomes(errors=10), "pass rate"),
        (Outcomes(), Outcomes(), "pass rate"),
        (Outcomes(9, 1), Outcomes(1, 9), "mean reward"),
    ],
)
def test_of_rows_that_were_not_graded_in_both_nothing_is_said(before: Outcomes, after: Outcomes, measure: str) -> None:
    found = compare(before, after, NOTHING, measure)  # type: ignore[arg-type]
    assert found.verdict == "unknown"
    assert in_words(found) == "nothing can be said: no row was graded in both"


def test_errors_are_in_no_rate() -> None:
    found = compare(Outcomes(8, 2, errors=5), Outcomes(8, 2, skipped=3), rates(8, 0, 0, 2))
    assert (found.first, found.second) == (0.8, 0.8)
    assert (found.before.errors, found.after.skipped) == (5, 3)


def test_what_is_looked_at_together_needs_stronger_signs() -> None:
    alone = of_rates(80, 12, 2, 6)
    assert alone.p == pytest.approx(0.01293945)
    together = corrected([alone, *[of_rates(5, 0, 0, 5)] * 3, compare(Outcomes(), Outcomes(), NOTHING)])
    assert together[0].p == pytest.approx(4 * 0.01293945)
    assert [found.verdict for found in together] == ["unsure", "same", "same", "same", "unknown"]


@pytest.mark.parametrize(("p", "words"), [(0.0004, "p < 0.001"), (0.0123, "p = 0.012"), (0.5, "p = 0.50")])
def test_a_p_value_has_as_many_digits_as_matter(p: float, words: str) -> None:
    assert p_words(p) == words
