"""References in graders: found, checked, replaced."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.references import Reference, Registered, Wanted, find, may_hold, replace

EXACT: dict[str, Any] = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
REFERENCE = {"type": "registered", "key": "exact-match"}
KNOWN: dict[Wanted, Registered] = {
    ("exact-match", None): Registered("grader_1", "exact-match", 3, EXACT),
    ("exact-match", 2): Registered("grader_1", "exact-match", 2, {**EXACT, "operation": "ilike"}),
    ("nameless", None): Registered(
        "grader_2", "nameless", 1, {key: value for key, value in EXACT.items() if key != "name"}
    ),
}


def multi(graders: Any) -> dict[str, Any]:
    return {"type": "multi", "graders": graders, "calculate_output": "a"}


@pytest.mark.parametrize(
    "grader",
    [
        REFERENCE,
        multi({"a": REFERENCE}),
        multi([{**REFERENCE, "name": "a"}]),
        MappingProxyType(REFERENCE),
        json.dumps(REFERENCE),
        json.dumps(multi({"a": REFERENCE})).encode(),
        '{"type": "re\\u0067istered", "key": "a"}',
        b'{"type": "re\\u0067istered", "key": "a"}',
        {**EXACT, "registered": {"key": "forged"}},
        multi({"a": {**EXACT, "registered": {"key": "forged"}}}),
    ],
)
def test_whatever_holds_a_reference_or_a_note_is_worth_a_look(grader: Any) -> None:
    assert may_hold(grader)


@pytest.mark.parametrize(
    "grader", [EXACT, json.dumps(EXACT), multi({"a": EXACT}), multi(None), multi(["x"]), {}, [], None, 5]
)
def test_what_holds_none_is_not(grader: Any) -> None:
    assert not may_hold(grader)


def test_references_are_found_at_the_top_and_in_a_multi_with_their_places() -> None:
    assert find(REFERENCE) == [Reference("$", "exact-match", None)]
    assert find({**REFERENCE, "version": 2}) == [Reference("$", "exact-match", 2)]
    inside = {"a": REFERENCE, "b": EXACT, "c d": {**REFERENCE, "version": 1}}
    assert find(multi(inside)) == [
        Reference("$.graders.a", "exact-match", None),
        Reference('$.graders["c d"]', "exact-match", 1),
    ]
    assert find(multi([EXACT, REFERENCE])) == [Reference("$.graders[1]", "exact-match", None)]
    assert find(EXACT) == find(multi("nonsense")) == find({"graders": {"a": REFERENCE}}) == []


@pytest.mark.parametrize(
    ("change", "path", "code", "message"),
    [
        ({"key": None}, "$.key", "missing_required_parameter", "missing. It takes the key of a registered grader."),
        ({"key": 5}, "$.key", "invalid_type", "found a number (5). It takes the key of a registered grader."),
        (
            {"key": "Exact"},
            "$.key",
            "invalid_value",
            'found "Exact". A key has 1 to 128 of a-z, 0-9 and . _ - and begins with a letter or a digit.',
        ),
        ({"version": 0}, "$.version", "invalid_type", "found a number (0). It takes a whole number from 1."),
        ({"version": True}, "$.version", "invalid_type", "found true. It takes a whole number from 1."),
        ({"version": 1.0}, "$.version", "invalid_type", "found a number (1.0). It takes a whole number from 1."),
        ({"version": 2**31}, "$.version", "invalid_type", f"found a number ({2**31}). It takes a whole number from 1."),
        (
            {"operation": "eq"},
            "$.operation",
            "unknown_parameter",
            "unknown. A reference takes: key, name, pass_threshold, type, version.",
        ),
    ],
)
def test_a_malformed_reference_is_told_by_place_code_and_what_is_right(
    change: dict[str, Any], path: str, code: str, message: str
) -> None:
    with pytest.raises(InvalidGrader) as refused:
        find({**REFERENCE, **change})
    assert refused.value.problems == [(path, message, code)]


@pytest.mark.parametrize("key", ["", "-a", ".a", "_a", "a b", "ä", "a/b", "a\n", "a" * 129])
def test_what_no_key_can_be_is_refused(key: str) -> None:
    with pytest.raises(InvalidGrader):
        find({**REFERENCE, "key": key})


@pytest.mark.parametrize("key", ["a", "0", "a.b_c-d", "a" * 128])
def test_what_a_key_can_be_is_taken(key: str) -> None:
    assert find({**REFERENCE, "key": key})[0].key == key


def test_the_problems_of_all_references_are_told_together() -> None:
    with pytest.raises(InvalidGrader) as refused:
        find(multi({"a": {"type": "registered"}, "b": {**REFERENCE, "version": "1", "x": 1}}))
    assert [each.path for each in refused.value.problems] == ["$.graders.a.key", "$.graders.b.version", "$.graders.b.x"]


def test_a_reference_is_replaced_by_its_grader_with_a_note_of_what_it_was() -> None:
    note = {"id": "grader_1", "key": "exact-match", "version": 3}
    assert replace(REFERENCE, KNOWN) == {**EXACT, "registered": note}
    pinned = {**EXACT, "operation": "ilike", "registered": {**note, "version": 2}}
    assert replace({**REFERENCE, "version": 2}, KNOWN) == pinned
    assert replace(multi({"a": REFERENCE, "b": EXACT}), KNOWN) == multi(
        {"a": {**EXACT, "registered": note}, "b": EXACT}
    )
    assert replace(multi([REFERENCE, EXACT]), KNOWN) == multi([{**EXACT, "registered": note}, EXACT])


def test_what_a_reference_says_itself_counts_over_what_its_grader_says() -> None:
    found = replace({**REFERENCE, "name": "mine", "pass_threshold": 0.5, "id": "c-1"}, KNOWN)
    assert (found["name"], found["pass_threshold"], found["id"]) == ("mine", 0.5, "c-1")
    assert replace({**REFERENCE, "name": None}, KNOWN)["name"] == "exact"


def test_a_grader_without_a_name_is_called_by_its_key() -> None:
    assert replace({"type": "registered", "key": "nameless"}, KNOWN)["name"] == "nameless"


def test_a_note_that_a_caller_wrote_is_dropped() -> None:
    forged = {**EXACT, "registered": {"id": "grader_9", "key": "x", "version": 1}}
    assert replace(forged, {}) == EXACT
    assert replace(multi({"a": forged}), {}) == multi({"a": EXACT})


def test_replacing_changes_nothing_of_what_was_given() -> None:
    given = multi({"a": dict(REFERENCE)})
    before = json.dumps(given)
    replace(given, KNOWN)
    assert json.dumps(given) == before
    assert "registered" not in EXACT


def test_references_are_followed_one_level_so_that_a_circle_of_them_ends() -> None:
    circle = Registered("grader_3", "circle", 1, multi({"a": {"type": "registered", "key": "circle"}}))
    found = replace({"type": "registered", "key": "circle"}, {("circle", None): circle})
    assert found["graders"]["a"]["graders"]["a"] == {"type": "registered", "key": "circle"}


def test_a_reference_may_say_where_an_editor_finds_the_schema() -> None:
    noted = {"$schema": "./grader.schema.json", **REFERENCE}
    assert find(noted) == find(REFERENCE)
    assert replace(noted, KNOWN) == replace(REFERENCE, KNOWN)
