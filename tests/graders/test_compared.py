"""How much of an expected JSON value another one has: rules, places, the best pairs."""

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairmark.errors import GradingFailed, InvalidGrader, TakesLonger
from fairmark.graders import compared
from fairmark.graders.compared import JsonComparison, Rules, best_pairs, read_fields, read_path

LEAVES = st.none() | st.booleans() | st.integers(-50, 50) | st.floats(-5, 5) | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4)
)


def score(expected: Any, answered: Any, fields: dict[str, Any] | None = None, **rules: Any) -> float:
    return JsonComparison(Rules(**rules), fields or {}).score(expected, answered)[0]


def canonical(value: Any) -> str:
    """The same text for the same JSON value, where 1 and 1.0 are the same and true and 1 are not."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return repr(float(value) + 0.0) if type(value) in (int, float) else json.dumps(value)


@given(VALUES, VALUES)
def test_it_is_one_for_the_same_value_and_for_no_other(expected: Any, answered: Any) -> None:
    assert score(expected, json.loads(json.dumps(expected))) == 1.0
    reached = score(expected, answered)
    assert 0.0 <= reached <= 1.0
    assert (reached == 1.0) == (canonical(expected) == canonical(answered))


@given(VALUES, st.randoms(use_true_random=False))
def test_in_any_order_shuffled_lists_are_the_same(value: Any, random: Any) -> None:
    def shuffled(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {key: shuffled(part) for key, part in inner.items()}
        if isinstance(inner, list):
            parts = [shuffled(part) for part in inner]
            random.shuffle(parts)
            return parts
        return inner

    assert score(value, shuffled(value), any_order=True) == pytest.approx(1.0)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_best_pairs_are_as_good_as_any_other(table: list[list[float]]) -> None:
    rows, columns = len(table), 3
    fewer, more = sorted((rows, columns))
    tried = (
        sum(table[a][b] if rows <= columns else table[b][a] for a, b in enumerate(choice))
        for choice in itertools.permutations(range(more), fewer)
    )
    best = best_pairs(rows, columns, lambda row, column: table[row][column], lambda: None)
    assert best == pytest.approx(max(tried))


@given(st.dictionaries(st.text(max_size=2), st.integers(0, 2)), st.dictionaries(st.text(max_size=2), st.integers(0, 2)))
def test_a_flat_object_is_the_share_of_fields_that_are_right(
    expected: dict[str, int], answered: dict[str, int]
) -> None:
    union = expected.keys() | answered.keys()
    right = [key for key in expected if answered.get(key) == expected[key]]
    assert score(expected, answered) == pytest.approx(len(right) / len(union) if union else 1.0)
    alone = len(right) / len(expected) if expected else 1.0
    assert score(expected, answered, extra_fields="ignore") == pytest.approx(alone)


@settings(max_examples=50)
@given(VALUES, VALUES)
def test_any_order_never_gives_less_than_the_given_order(expected: Any, answered: Any) -> None:
    assert score(expected, answered, any_order=True) >= score(expected, answered) - 1e-9


@pytest.mark.parametrize(
    ("expected", "answered", "rules", "reward"),
    [
        (1, 1.0, {}, 1.0),
        (1, True, {}, 0.0),
        (0, False, {}, 0.0),
        (None, False, {}, 0.0),
        (1, "1", {}, 0.0),
        (1, 1.3, {"tolerance": 0.3}, 1.0),
        (1, 1.31, {"tolerance": 0.3}, 0.0),
        (100, 101, {"relative_tolerance": 0.01}, 1.0),
        (10**400, 10**400, {"tolerance": 5.0}, 1.0),
        (10**400, 1.5, {"relative_tolerance": 0.5}, 0.0),
        ("STRASSE", "straße", {"ignore_case": True}, 1.0),
        ("a", "A", {}, 0.0),
        ([1, 2], [2, 1], {}, 0.0),
        ([1, 2], [2, 1], {"any_order": True}, 1.0),
        ([1, 2], [1], {}, 0.5),
        ([1], [1, 2], {}, 0.5),
        ([], [], {}, 1.0),
        ([], [1], {}, 0.0),
        ({}, {}, {}, 1.0),
        ({}, [], {}, 0.0),
        ({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1, "c": 0}, "d": 3}, {}, 0.75),
    ],
)
def test_values_are_compared_by_the_rules(expected: Any, answered: Any, rules: dict[str, Any], reward: float) -> None:
    assert score(expected, answered, **rules) == reward


def test_places_have_rules_of_their_own_and_what_is_below_them_too() -> None:
    expected = {"total": 10, "note": "x", "items": [{"name": "A", "price": 1}, {"name": "B", "price": 2}]}
    answered = {"total": 10, "note": "y", "items": [{"name": "b", "price": 2.05}, {"name": "a", "price": 1}]}
    fields = {
        "note": {"ignore": True},
        "items": {"any_order": True, "weight": 3},
        "items[].name": {"ignore_case": True},
        "items[].price": {"tolerance": 0.1},
    }
    assert score(expected, answered, fields) == 1.0
    assert score(expected, {**answered, "total": 0}, fields) == 0.75
    assert score(expected, answered, {**fields, "items[].price": {"weight": 0}, "total": {"weight": 0}}) == 1.0


def test_paths_lead_through_lists_and_keys_with_dots() -> None:
    assert read_path("items[].price") == ("items", "[]", "price")
    assert read_path("grid[][]") == ("grid", "[]", "[]")
    assert read_path("[].a") == ("[]", "a")
    assert read_path(r"a\.b.c") == ("a.b", "c")


def test_wrong_rules_are_all_told() -> None:
    with pytest.raises(InvalidGrader) as caught:
        read_fields({"a": {"wight": 1, "tolerance": -1}, "b": 5, "c": {"any_order": "yes", "extra_fields": "no"}})
    assert [problem.path for problem in caught.value.problems] == [
        '["a"].wight',
        '["a"].tolerance',
        '["b"]',
        '["c"].any_order',
        '["c"].extra_fields',
    ]
    assert "Did you mean weight?" in caught.value.problems[0].message


def test_long_lists_are_refused_and_never_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GradingFailed, match="too long to be compared in any order"):
        score([0] * 300, [0] * 300, any_order=True)
    monkeypatch.setattr(compared, "MOST_COMPARED", 1000)
    with pytest.raises(GradingFailed, match="more than 1,000 steps"):
        score([[1] * 20] * 20, [[1] * 20] * 20, any_order=True)


def test_it_stops_within_its_turn() -> None:
    with pytest.raises(TakesLonger):
        JsonComparison(Rules(any_order=True), {}).score(list(range(150)), list(range(150)), 0.0)
    assert not math.isnan(score([1], [1], any_order=True))
