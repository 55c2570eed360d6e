"""The corrected rate against a worked example, and how it covers."""

import random

import pytest

from fairmark.data.corrected import corrected_rate

HUMAN, JUDGE = (1, 1, 1, 0, 0, 1, 0, 1, 1, 0), (1, 1, 0, 0, 0, 1, 1, 1, 1, 0)
OTHERS = (1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1)


def test_the_figures_of_a_worked_example() -> None:
    rate = corrected_rate(HUMAN, JUDGE, OTHERS, weight=1)
    assert rate.rate == pytest.approx(0.7)
    assert rate.rate - 1.959964 * rate.error == pytest.approx(0.3577, abs=5e-5)
    assert rate.rate + 1.959964 * rate.error == pytest.approx(1.0423, abs=5e-5)
    assert rate.high == 1.0  # cut
    assert rate.judged == pytest.approx(20 / 30)


def test_a_judge_that_tells_nothing_is_not_trusted_at_all() -> None:
    rate = corrected_rate(HUMAN, [1] * 10, OTHERS)
    assert rate.weight == 0.0
    assert (rate.rate, rate.low, rate.high) == rate.labels_only


def test_without_other_rows_the_labels_are_all() -> None:
    rate = corrected_rate(HUMAN, JUDGE, [])
    assert (rate.rate, rate.low, rate.high) == rate.labels_only
    assert rate.rate == pytest.approx(0.6)


def test_a_good_judge_makes_the_interval_narrower_and_it_covers() -> None:
    source = random.Random(4)
    covered, widths, alone = 0, 0.0, 0.0
    for _ in range(300):
        truth = [source.random() < 0.7 for _ in range(550)]
        judged = [float(source.random() < (0.9 if passed else 0.2)) for passed in truth]
        rate = corrected_rate([float(passed) for passed in truth[:50]], judged[:50], judged[50:])
        covered += rate.low <= 0.7 <= rate.high
        widths += rate.high - rate.low
        alone += rate.labels_only[2] - rate.labels_only[1]
    assert covered >= 275  # 95 % would be 285
    assert widths < 0.85 * alone


def test_weights_undo_a_choice_of_rows() -> None:
    source = random.Random(6)
    sums = [0.0, 0.0]
    for _ in range(200):
        truth = [source.random() < 0.5 for _ in range(2_000)]
        # Failing rows are picked four times as often.
        picked = [passed for passed in truth if source.random() < (0.02 if passed else 0.08)]
        human = [float(passed) for passed in picked]
        others = [float(passed) for passed in truth]
        weights = [50.0 if passed else 12.5 for passed in picked]
        sums[0] += corrected_rate(human, [0.5] * len(human), others, weights=weights).rate
        sums[1] += corrected_rate(human, [0.5] * len(human), others).rate
    assert sums[0] / 200 == pytest.approx(0.5, abs=0.03)
    assert sums[1] / 200 < 0.3
