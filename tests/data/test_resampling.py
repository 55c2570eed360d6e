"""Intervals by drawing again, and the formulas that take over from them."""

import random
from collections import Counter

import pytest

from fairmark.data.agreement import cohen_kappa, spearman
from fairmark.data.intervals import wilson
from fairmark.data.resampling import bootstrap, kappa_interval, spearman_interval, table_interval


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_the_interval_of_a_share_is_about_wilsons() -> None:
    interval = bootstrap([1.0] * 70 + [0.0] * 30, mean, seed=1)
    assert interval is not None
    assert interval == pytest.approx(wilson(70, 100), abs=0.02)


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [random.Random(3).random() for _ in range(40)] + [float(number) for number in range(10)]
    assert bootstrap(values, mean, seed=7) == bootstrap(values, mean, seed=7)
    assert bootstrap(values, mean, seed=7) != bootstrap(values, mean, seed=8)


def test_of_fewer_than_ten_groups_nothing_is_said() -> None:
    assert bootstrap([1.0] * 9, mean, seed=1) is None
    assert bootstrap([1.0] * 10, mean, seed=1) == (1.0, 1.0)


def test_draws_without_a_value_are_left_out_unless_they_are_many() -> None:
    rare = [("a", "a")] * 59 + [("b", "b")]
    # A third of the draws miss the one row that makes a kappa.
    assert table_interval([[cell] for cell in rare], cohen_kappa, seed=1) is None
    assert table_interval([[cell] for cell in [("a", "a")] * 30 + [("b", "b")] * 30], cohen_kappa, seed=1) == (1.0, 1.0)


def test_answers_of_one_group_are_no_evidence_of_their_own() -> None:
    cells = [("a", "a"), ("b", "b"), ("a", "b")] * 10
    alone = table_interval([[cell] for cell in cells], cohen_kappa, seed=1)
    groups = table_interval([[cell] * 10 for cell in cells], cohen_kappa, seed=1)
    rows = table_interval([[cell] for cell in cells * 10], cohen_kappa, seed=1)
    assert alone is not None
    assert groups is not None
    assert rows is not None
    assert groups == pytest.approx(alone, abs=0.05)
    assert rows.high - rows.low < 0.5 * (groups.high - groups.low)


def test_the_formulas_for_many_groups_agree_with_drawing() -> None:
    source = random.Random(5)
    cells = []
    for _ in range(600):
        human = source.random() < 0.6
        cells.append((human, human if source.random() < 0.85 else not human))
    table = Counter(cells)
    kappa = cohen_kappa(table)
    drawn = table_interval([[cell] for cell in cells], cohen_kappa, seed=2)
    assert kappa is not None
    assert drawn is not None
    assert kappa_interval(table, kappa) == pytest.approx(drawn, abs=0.01)

    scores = [(value, value + source.gauss(0, 3)) for value in range(400)]
    rho = spearman(Counter(scores))
    assert rho is not None
    noisy = [(value, value + source.gauss(0, 100)) for value in range(200)]
    rho = spearman(Counter(noisy))
    drawn = table_interval([[cell] for cell in noisy], spearman, seed=2)
    assert rho is not None
    assert drawn is not None
    assert spearman_interval(rho, 200) == pytest.approx(drawn, abs=0.02)
    assert spearman_interval(1.0, 400) == (1.0, 1.0)
