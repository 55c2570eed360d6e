"""What the specs of all kinds share: what they give back, what they warn of, and how much they go through."""

from typing import Any

import pytest

from fairmark.parse import parse
from fairmark.spec import QUICK

CHECK = {"type": "string_check", "input": "{{item.a}}", "reference": "b", "operation": "eq"}
SIMILAR = {
    "type": "text_similarity",
    "input": "{{item.a}} {{item.a}}",
    "reference": "{{item.b}}",
    "evaluation_metric": "bleu",
    "pass_threshold": 0.5,
}


def multi(**graders: dict[str, Any]) -> dict[str, Any]:
    return {"type": "multi", "graders": graders, "calculate_output": " + ".join(graders)}


def test_the_json_comes_back_with_unknown_keys_and_without_what_was_not_there() -> None:
    grader = {**CHECK, "name": "mine", "x-note": {"kept": [1]}}
    assert parse(grader).echo() == grader


def test_a_spec_never_changes() -> None:
    spec = parse(CHECK)
    with pytest.raises(ValueError, match="frozen"):
        spec.name = "other"  # type: ignore[misc]


def test_effort_counts_how_often_the_longest_text_is_gone_through_and_a_quick_look_little() -> None:
    assert parse(CHECK).effort == QUICK
    assert parse(SIMILAR).effort == 2.0
    assert parse(multi(a=CHECK, b=SIMILAR)).effort == QUICK + 2.0


def test_own_characters_are_those_of_all_templates_inside() -> None:
    own = len("{{item.a}}") + len("b")
    assert parse(CHECK).own_chars == own
    assert parse(multi(a=CHECK, b=CHECK)).own_chars == 2 * own


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"input": "{item.a}"}, "$.input: {item.a} is taken as plain text; a variable stands in two braces"),
        ({"refrence": "x"}, "$.refrence: unknown field, kept but not used. Did you mean reference?"),
        ({"pass_threshold": 2}, "$.pass_threshold: 2 is outside the range 0 to 1."),
    ],
)
def test_what_is_legal_and_probably_not_meant_is_warned_of(change: dict[str, Any], warning: str) -> None:
    assert [text.startswith(warning) for text in parse({**CHECK, **change}).all_warnings] == [True]
    inside = parse(multi(a={**CHECK, **change})).all_warnings
    assert any(warning.replace("$.", "$.graders.a.") in text for text in inside)


def test_a_key_that_is_like_no_field_is_nobodys_business() -> None:
    assert parse({**CHECK, "x-owner": "me"}).all_warnings == ()


def test_what_was_registered_is_known_through_all_levels() -> None:
    note = {"id": "grader_1", "key": "exact", "version": 2}
    spec = parse(multi(a={**CHECK, "registered": note}, b=CHECK))
    assert spec.registered == [note]


def test_without_children_models_or_code_there_are_none() -> None:
    spec = parse(CHECK)
    assert (spec.children, spec.models, spec.code, spec.registered) == ({}, {}, None, [])
