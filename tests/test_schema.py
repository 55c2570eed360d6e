"""The published schemas: they say what `validate` says, as far as a schema can."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairmark import parse, schema
from fairmark.errors import InvalidGrader
from fairmark.graders import KINDS, all_kinds
from fairmark.web.graders import forms
from tests.thoroughness import share

ROOT = Path(__file__).parents[1]
ALL = schema.published()
VALIDATOR = jsonschema.Draft202012Validator(ALL)
JUDGE = {"model": "gpt-6-luna"}
STARTS = {
    name: {**forms.start(name, kind), **(JUDGE if "model" in kind.spec.model_fields else {})}
    for name, kind in KINDS.items()
}
STARTS["endpoint"]["url"] = "http://127.0.0.1:8100"
STARTS["binary_judge"]["criteria"] = "The reply is polite."


def written() -> dict[str, dict[str, Any]]:
    """The graders in docs and examples, by where they stand."""
    found: dict[str, dict[str, Any]] = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"^```json\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE):
            found[f"{page.name} {len(found)}"] = json.loads(block)
    for file in sorted((ROOT / "examples").glob("*.json")):
        content = json.loads(file.read_text())
        for number, grader in enumerate(
            [content] if "type" in content else [one["grader"] for one in content["graders"]]
        ):
            found[f"{file.name} {number}"] = grader
    return found


WRITTEN = written()


@pytest.mark.parametrize("place", WRITTEN)
def test_every_grader_in_docs_and_examples_fits(place: str) -> None:
    assert list(VALIDATOR.iter_errors(WRITTEN[place])) == []


@pytest.mark.parametrize("kind", [*all_kinds(), "registered"])
def test_the_schema_of_one_kind_stands_alone(kind: str) -> None:
    alone = schema.published(kind)
    jsonschema.Draft202012Validator.check_schema(alone)
    valid = {"type": "registered", "key": "exact"} if kind == "registered" else STARTS.get(kind, {})
    errors = list(jsonschema.Draft202012Validator(alone).iter_errors(valid))
    assert errors == [] if valid else alone["title"]
    assert list(jsonschema.Draft202012Validator(alone).iter_errors({"type": "another"}))
    assert len(alone["$defs"]) in (1, 2, len(ALL["$defs"]))


@pytest.mark.parametrize(
    ("grader", "word"),
    [
        ({}, "type"),
        ({"type": "string_chek"}, "string_chek"),
        ({"type": "string_check", "input": "a", "reference": "b"}, "operation"),
        ({"type": "string_check", "input": "a", "reference": "b", "operation": "equals"}, "equals"),
        ({"type": "string_check", "input": 1, "reference": "b", "operation": "eq"}, "1"),
        ({"type": "text_similarity", "input": "a", "reference": "b"}, "evaluation_metric"),
        ({"type": "score_model", "model": "m", "input": [{"role": "clown", "content": ""}]}, "clown"),
        ({"type": "multi", "graders": {}, "calculate_output": "1"}, "{}"),
        ({"type": "multi", "graders": {"a": {"type": "multi"}}, "calculate_output": "a"}, "multi"),
        ({"type": "cascade", "graders": [STARTS["string_check"]], "unsure": [0, 1]}, "cascade|short"),
        ({"type": "registered", "key": "Not A Key"}, "Not A Key"),
    ],
)
def test_what_is_wrong_is_refused_by_the_schema_and_by_us(grader: dict[str, Any], word: str) -> None:
    errors = list(VALIDATOR.iter_errors(grader))
    assert any(re.search(word, str(error)) for error in errors)
    if grader.get("type") != "registered":
        assert not parse.validate(grader).valid


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 10)
    | st.floats(0, 1)
    | st.sampled_from(["", "eq", "a", "{{ item.a }}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "a", "role"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("kind", STARTS)
def test_it_refuses_no_null_that_validate_accepts(kind: str) -> None:
    for field in KINDS[kind].spec.model_fields:
        grader = {**STARTS[kind], field: None}
        if parse.validate(grader).valid:
            assert list(VALIDATOR.iter_errors(grader)) == [], field


@settings(max_examples=share(1200), deadline=None)
@given(st.sampled_from(sorted(STARTS)), st.data())
def test_it_refuses_nothing_that_validate_accepts(kind: str, data: st.DataObject) -> None:
    grader: dict[str, Any] = dict(STARTS[kind])
    spec = KINDS[kind].spec
    names = [*spec.model_fields, *spec.other_names, "$schema", "anything"]
    for name in data.draw(st.lists(st.sampled_from([name for name in names if name != "type"]), max_size=3)):
        grader[name] = data.draw(JSON_VALUES)
    for name in data.draw(st.lists(st.sampled_from(sorted(grader)), max_size=1)):
        del grader[name]
    if parse.validate(grader).valid:
        assert list(VALIDATOR.iter_errors(grader)) == []


@pytest.mark.parametrize("kind", STARTS)
def test_what_a_form_begins_with_is_valid(kind: str) -> None:
    assert parse.validate(STARTS[kind]).errors == []
    assert list(VALIDATOR.iter_errors(STARTS[kind])) == []


def test_every_field_of_our_kinds_says_what_it_is_for() -> None:
    for name in KINDS:
        fields = ALL["$defs"][name]["properties"]
        assert [field for field, told in fields.items() if field != "type" and not told.get("description")] == []


def test_other_spellings_count() -> None:
    similar = {"type": "text_similarity", "input": "a", "reference": "b", "evaluation": "bleu"}
    assert list(VALIDATOR.iter_errors(similar)) == []
    assert parse.validate(similar).valid


def test_an_unknown_kind_is_told() -> None:
    with pytest.raises(InvalidGrader, match='unknown type "strin_check"'):
        schema.published("strin_check")
