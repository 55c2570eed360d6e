"""Rows of two runs as pairs, in memory: as the store pairs those of its own runs."""

from collections.abc import Sequence

import pytest

from fairmark.data.pairing import Column, flipped, pair
from fairmark.outcomes import ERROR, FAIL, PASS, SKIP
from fairmark.row import hash_item

Row = tuple[str, str, float]
NUMBERS = {"pass": PASS, "fail": FAIL, "error": ERROR, "skip": SKIP}
FIRST = [("a", "pass", 1.0), ("b", "pass", 0.75), ("c", "fail", 0.25), ("d", "fail", 0.0), ("e", "pass", 0.5)]
SECOND = [("a", "pass", 0.5), ("b", "fail", 0.25), ("c", "pass", 1.0), ("d", "fail", 0.25), ("e", "error", 0.0)]


def column(rows: Sequence[Row], order: Sequence[int] | None = None) -> Column:
    made = Column()
    for number in order if order is not None else range(len(rows)):
        item, outcome, reward = rows[number]
        made.add(number, hash_item({"text": item}), NUMBERS[outcome], reward)
    return made


def test_rows_of_the_same_number_and_item_are_pairs() -> None:
    found = pair(column(FIRST), column(SECOND))
    assert found[:6] == ("row", 4, 1, 1, 1, 1)
    assert (found.mean_first, found.mean_second, found.mean_difference) == (0.5, 0.5, 0.0)
    assert found.sd_difference == pytest.approx(0.6123724356957945)  # of -0.5, -0.5, 0.75 and 0.25


def test_rows_that_were_added_in_another_order_are_the_same_rows() -> None:
    assert pair(column(FIRST, [4, 0, 3, 1, 2]), column(SECOND, [2, 1, 0, 4, 3])) == pair(column(FIRST), column(SECOND))


def test_rows_of_other_numbers_are_paired_by_their_items() -> None:
    moved = [*SECOND[2:], ("new", "pass", 9.0), *SECOND[:2]]
    found = pair(column(FIRST), column(moved))
    assert found[:6] == ("item", 4, 1, 1, 1, 1)


def test_the_rows_that_flipped_are_told_by_their_numbers() -> None:
    moved = [*SECOND[2:], ("new", "pass", 9.0), *SECOND[:2]]
    assert list(flipped(column(FIRST), column(moved))) == [(1, 5, False), (2, 0, True)]


def test_runs_without_a_row_in_common_have_no_pairs() -> None:
    found = pair(column(FIRST), column([("x", "pass", 1.0)]))
    assert (found.n, found.mean_difference, found.sd_difference) == (0, 0.0, 0.0)
    assert pair(Column(), Column()).n == 0


def test_rewards_whose_squares_no_float_holds_are_compared() -> None:
    found = pair(
        column([("a", "pass", 1e300), ("b", "pass", -1e300)]), column([("a", "pass", 2e299), ("b", "fail", 0)])
    )
    assert found.mean_difference == pytest.approx(1e299)
    assert found.sd_difference == pytest.approx(1.2727922061357855e300)
