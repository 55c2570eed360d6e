"""Forms made from specs."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from fairmark.graders import KINDS, Kind
from fairmark.parse import validate
from fairmark.result import Grade
from fairmark.spec import GraderSpec
from fairmark.web.graders import forms


@pytest.mark.parametrize("name", KINDS)
def test_every_field_of_a_spec_is_in_the_form_or_left_out_on_purpose(name: str) -> None:
    shown = {field.path.split(".")[0] for field in forms.fields(name, KINDS[name])}
    left_out = {"type", "name", "description"} | (
        {"pass_threshold"} if name in ("string_check", "custom", "regex", "numeric", "math_equal") else set()
    )
    assert shown == set(KINDS[name].spec.model_fields) - left_out


@pytest.mark.parametrize("name", KINDS)
def test_a_new_grader_lacks_only_what_nobody_can_tell_beforehand(name: str) -> None:
    found = validate(forms.start(name, KINDS[name], ["a-model"]))
    unknown = {"binary_judge": ["$.criteria"], "endpoint": ["$.url"]}.get(name, [])
    assert [problem.path for problem in found.errors] == unknown
    assert found.warnings == []


def test_widgets_follow_from_the_types() -> None:
    found = {field.path: field.widget for field in forms.fields("label_model", KINDS["label_model"])}
    assert found["input"] == "messages"
    assert found["labels"] == "lines"
    assert found["guard"] == "check"
    assert found["n"] == "whole"
    assert found["combine"] == "choice"
    assert found["pass_threshold"] == "number"  # noqa: S105  # no password
    assert found["sampling_params.temperature"] == "number"
    assert {field.path: field.widget for field in forms.fields("endpoint", KINDS["endpoint"])}["headers"] == "pairs"
    assert {field.path: field.widget for field in forms.fields("score_model", KINDS["score_model"])}["range"] == "range"


def test_choices_have_human_words_and_defaults_are_told() -> None:
    (operation,) = [field for field in forms.fields("string_check", KINDS["string_check"]) if field.path == "operation"]
    assert operation.required
    assert dict(operation.choices)["ilike"] == "contains, whatever the case"
    (timeout,) = [field for field in forms.fields("endpoint", KINDS["endpoint"]) if field.path == "timeout_s"]
    assert (timeout.required, timeout.default) == (False, "60")


class _Shout(GraderSpec):
    """Likes it loud.

    And more.
    """

    type: Literal["shout"]
    volume: Annotated[int, Field(description="From 1 to 11.")] = 11
    words: list[str]
    anything: Any = None


def test_a_kind_of_another_package_gets_a_form_out_of_its_types() -> None:
    kind = Kind(_Shout, pure=lambda spec, row, ctx: Grade(1.0))
    found = {field.path: field for field in forms.fields("shout", kind)}
    assert (found["volume"].widget, found["volume"].label) == ("whole", "Volume")
    assert (found["volume"].help, found["volume"].default) == ("From 1 to 11.", "11")
    assert (found["words"].widget, found["words"].required) == ("lines", True)
    assert found["anything"].widget == "json"
    assert forms.start("shout", kind) == {"type": "shout", "words": []}
    assert forms.groups({**KINDS, "shout": kind})[-1][::2] == ("From other packages", [("shout", kind)])


def test_every_kind_of_ours_is_offered_once() -> None:
    offered = [name for _, _, kinds in forms.groups(KINDS) for name, _ in kinds]
    assert sorted(offered) == sorted(KINDS)
    assert len({forms.title(name) for name in KINDS} - set(KINDS)) == len(KINDS)


def test_a_value_is_found_at_its_place() -> None:
    grader = {"sampling_params": {"temperature": 0}, "model": "m"}
    assert forms.value_at(grader, "sampling_params.temperature") == 0
    assert forms.value_at(grader, "sampling_params.seed") is None
    assert forms.value_at(grader, "model.name") is None
