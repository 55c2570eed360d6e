"""Rows of two runs as pairs, in memory, by the rule of `fairmark.outcomes`."""

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairmark.data.comparing import Outcomes
from fairmark.outcomes import ERROR, FAIL, GRADED, PASS, SKIP, MatchedBy, PairTotals


class Flipped(NamedTuple):
    """A row that passed in one run only, by its number in each."""

    first: int
    second: int
    gained: bool


class Column:
    """What one criterion made of the rows of one run: 25 bytes a row. Rows may come in any order."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.hashes = array("q")
        self.outcomes = array("b")
        self.rewards = array("d")
        self._is_sorted = True

    def add(self, number: int, item_hash: int, outcome: int, reward: float) -> None:
        """`item_hash`: `row.hash_item` of the row's item. What was not graded has reward 0, whatever it had."""
        if self.numbers and number < self.numbers[-1]:
            self._is_sorted = False
        self.numbers.append(number)
        self.hashes.append(item_hash)
        self.outcomes.append(outcome)
        self.rewards.append(reward if outcome in GRADED else 0.0)

    def __len__(self) -> int:
        return len(self.numbers)

    def counts(self) -> Outcomes:
        return Outcomes(*(self.outcomes.count(outcome) for outcome in (PASS, FAIL, ERROR, SKIP)))

    def total(self) -> float:
        """The sum of the rewards; what was not graded has none."""
        return math.fsum(self.rewards)

    def in_order(self) -> Sequence[int]:
        """The places of the rows, in the order of their numbers."""
        return range(len(self)) if self._is_sorted else sorted(range(len(self)), key=self.numbers.__getitem__)

    def is_graded(self, place: int) -> bool:
        return self.outcomes[place] in GRADED


def pair(first: Column, second: Column) -> PairTotals:
    return _sum(*_paired(first, second), first, second)


def flipped(first: Column, second: Column) -> Iterator[Flipped]:
    """The rows that passed in one of them only, in the order of the first run."""
    _, places = _paired(first, second)
    for one, other in places:
        if first.outcomes[one] != second.outcomes[other]:
            yield Flipped(first.numbers[one], second.numbers[other], second.outcomes[other] == PASS)


def _paired(first: Column, second: Column) -> tuple[MatchedBy, list[tuple[int, int]]]:
    by_row = _both_graded(first, second, _by_row(first, second))
    if len(by_row) < min(first.counts().graded, second.counts().graded):
        by_item = _both_graded(first, second, _by_item(first, second))
        if len(by_item) > len(by_row):
            return "item", by_item
    return "row", by_row


def _both_graded(first: Column, second: Column, pairs: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(one, other) for one, other in pairs if first.is_graded(one) and second.is_graded(other)]


def _by_row(first: Column, second: Column) -> Iterator[tuple[int, int]]:
    theirs = second.in_order()
    at = 0
    for one in first.in_order():
        number = first.numbers[one]
        while at < len(theirs) and second.numbers[theirs[at]] < number:
            at += 1
        if at == len(theirs):
            return
        other = theirs[at]
        if second.numbers[other] == number and first.hashes[one] == second.hashes[other]:
            yield one, other


def _by_item(first: Column, second: Column) -> Iterator[tuple[int, int]]:
    left: dict[int, list[int]] = {}
    for other in reversed(second.in_order()):
        left.setdefault(second.hashes[other], []).append(other)
    return ((one, places.pop()) for one in first.in_order() if (places := left.get(first.hashes[one])))


def _sum(matched_by: MatchedBy, pairs: list[tuple[int, int]], first: Column, second: Column) -> PairTotals:
    n = len(pairs)
    passed = [0, 0, 0, 0]
    for one, other in pairs:
        passed[2 * (first.outcomes[one] == PASS) + (second.outcomes[other] == PASS)] += 1
    # In units of the greatest, whose square may be too large for any float.
    unit = max([1.0, *(abs(reward) for column in (first, second) for reward in _ends(column))])
    ours = [first.rewards[one] / unit for one, _ in pairs]
    theirs = [second.rewards[other] / unit for _, other in pairs]
    mean_first, mean_second = math.fsum(ours) / max(n, 1), math.fsum(theirs) / max(n, 1)
    difference = mean_second - mean_first
    return PairTotals.of(
        matched_by,
        both_passed=passed[3],
        only_first=passed[2],
        only_second=passed[1],
        both_failed=passed[0],
        mean_first=mean_first,
        mean_second=mean_second,
        squares=math.fsum((two - one - difference) ** 2 for one, two in zip(ours, theirs, strict=True)),
        unit=unit,
    )


def _ends(column: Column) -> tuple[float, ...]:
    return (min(column.rewards), max(column.rewards)) if column.rewards else ()
