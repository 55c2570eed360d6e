"""What a batch adds to its run's counters."""

from fairmark.store import Counts


def test_items_and_their_criteria_are_counted_by_outcome() -> None:
    counts = Counts()
    counts.count("fail", {"a": "pass", "b": "fail"})
    counts.count("error", {"a": "error", "b": "skip"})
    counts.count("skip", {})
    assert counts == Counts(0, 1, 1, 1, {"a": [1, 0, 1, 0], "b": [0, 1, 0, 1]})


def test_calls_are_counted_by_model_and_a_missing_price_is_not_a_price_of_zero() -> None:
    counts = Counts()
    counts.spend("m", (10, 2, 12, 0), None)
    assert counts.cost is None
    counts.spend("m", [1, 1, 2, 1], 0.5)
    counts.spend("n", [5, 5, 10, 0], 0.25)
    usage = {"m": [2, 11, 3, 14, 1], "n": [1, 5, 5, 10, 0]}
    assert counts == Counts(usage=usage, cost=0.75, costs={"m": 0.5, "n": 0.25})


def test_a_sum_leaves_its_parts_alone() -> None:
    one = Counts(1, 0, 0, 0, {"a": [1, 0, 0, 0]}, {}, None)
    other = Counts(2, 3, 4, 5, {"a": [1, 1, 1, 1], "b": [0, 0, 0, 1]}, {"m": [1, 1, 1, 1, 1]}, 2.0)
    both = one.plus(other)
    assert both == Counts(3, 3, 4, 5, {"a": [2, 1, 1, 1], "b": [0, 0, 0, 1]}, {"m": [1, 1, 1, 1, 1]}, 2.0)
    both.count("pass", {"b": "pass"})
    assert other.criteria_counts == {"a": [1, 1, 1, 1], "b": [0, 0, 0, 1]}
