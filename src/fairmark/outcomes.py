"""How a row came out by one criterion, and what two runs make of the rows that both graded.

Rows of two runs are paired by number, as far as the same numbers hold the same items. Where that leaves rows over they
are paired by item: the first row of an item with the other run's first row of it, the second with the second. The way
that pairs more rows is taken. The store does it by a query (`store/views/comparison.py`), `data/pairing.py` with rows
in memory.
"""

import math
from typing import Literal, NamedTuple, Self

OUTCOMES = ("pass", "fail", "error", "skip")
PASS, FAIL, ERROR, SKIP = range(len(OUTCOMES))
"""As tables and columns number them, and counters stand in a row."""
GRADED = (PASS, FAIL)
"""The outcomes whose score says something. An error or a skip has score 0."""
MatchedBy = Literal["row", "item"]


class PairTotals(NamedTuple):
    """What two runs make of the rows that both graded. Without any, `n` is 0."""

    matched_by: MatchedBy
    n: int
    both_passed: int
    only_first: int
    only_second: int
    both_failed: int
    mean_first: float
    mean_second: float
    mean_difference: float
    """Second less first: above 0 the second run is better."""
    sd_difference: float
    """The standard deviation of the pairs' differences, as of a sample (n - 1); 0 below two pairs."""

    @classmethod
    def of(
        cls,
        matched_by: MatchedBy,
        *,
        both_passed: int,
        only_first: int,
        only_second: int,
        both_failed: int,
        mean_first: float,
        mean_second: float,
        squares: float,
        unit: float,
    ) -> Self:
        """Means are told in some unit, and so is the sum of the squared distances of the differences from their mean:
        the square of a large reward may be too large for any float."""
        n = both_passed + only_first + only_second + both_failed
        return cls(
            matched_by,
            n,
            both_passed,
            only_first,
            only_second,
            both_failed,
            mean_first=mean_first * unit,
            mean_second=mean_second * unit,
            mean_difference=(mean_second - mean_first) * unit,
            sd_difference=math.sqrt(squares / (n - 1)) * unit if n > 1 else 0.0,
        )
