"""Templates: paths, rendering, and what happens where a path leads nowhere."""

import json
from datetime import date
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidGrader, SampleNotJson, VariableMissing
from fairmark.row import NO_SAMPLE, make_row
from fairmark.text.template import Template
from tests.thoroughness import share

TOOLS = [{"id": "1", "type": "function", "function": {"name": "quote", "arguments": '{"symbols": ["A", "B"], "n": 2}'}}]
ITEM = {
    "answer": "Paris",
    "number": 1.5,
    "big": 123456789012345678901234567890,
    "yes": True,
    "nothing": None,
    "nested": {"list": [1, {"name": "é"}], "a b": 2},
    "with space": "s",
    "dotted.key": "d",
    "text": '{"inner": [10, 20]}',
    "braces": "{{ item.answer }}",
    "0": "zero",
    "hy-phen": "h",
}


def render(template: str, sample: Any = "", item: Any = ITEM) -> str:
    return Template(template).render(make_row(item, sample))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("no variable", "no variable"),
        ("", ""),
        ("{{ item.answer }}", "Paris"),
        ("{{item.answer}}", "Paris"),
        ("{{\n item.answer\t}}", "Paris"),
        ("<{{item.answer}}|{{item.answer}}>", "<Paris|Paris>"),
        ("{{item.number}}", "1.5"),
        ("{{item.big}}", "123456789012345678901234567890"),
        ("{{item.yes}}", "true"),
        ("{{item.nothing}}", "null"),
        ("{{item.nested}}", '{"list": [1, {"name": "é"}], "a b": 2}'),
        ("{{item.nested.list[1].name}}", "é"),
        ("{{item.nested.list.0}}", "1"),
        ('{{item["with space"]}}', "s"),
        ("{{item['dotted.key']}}", "d"),
        ('{{item.nested["a b"]}}', "2"),
        ("{{item.text.inner[1]}}", "20"),
        ("{{item.0}}", "zero"),
        ("{{item.hy-phen}}", "h"),
        ("{{sample.output_text}}", "out"),
    ],
)
def test_a_path_is_replaced_by_what_stands_there(template: str, text: str) -> None:
    assert render(template, "out") == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{{item.answer}}}", "{Paris}"),
        ("{{{{item.answer}}}}", "{{Paris}}"),
        ('{"a": {"b": "{{item.answer}}"}}', '{"a": {"b": "Paris"}}'),
        ("{{}}", "{{}}"),
        ("{{ 1 + 2 }}", "{{ 1 + 2 }}"),
        ("{{item.answer}", "{{item.answer}"),
        ("{item.answer}}", "{item.answer}}"),
        ("}}{{", "}}{{"),
        ("\\frac{{1}}{2}", "\\frac{{1}}{2}"),
        ('{{"key": "value"}}', '{{"key": "value"}}'),
    ],
)
def test_braces_that_hold_no_variable_stay_as_they_are(template: str, text: str) -> None:
    assert render(template) == text


def test_what_a_variable_brings_in_is_not_expanded_again() -> None:
    assert (
        render("{{item.braces}} {{sample.output_text}}", "{{ item.answer }}") == "{{ item.answer }} {{ item.answer }}"
    )


def test_the_whole_item_and_the_whole_sample_render_as_json() -> None:
    assert json.loads(render("{{item}}")) == ITEM
    assert json.loads(render("{{ sample }}", "7")) == {
        "output_text": "7",
        "output_json": 7,
        "output_tools": [],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "7"}, "finish_reason": "stop"}],
    }


def test_a_path_goes_on_inside_a_json_string() -> None:
    sample = {"output_text": "", "output_tools": TOOLS}
    assert render("{{sample.output_tools[0].function.arguments.symbols}}", sample) == '["A", "B"]'
    assert render("{{sample.output_tools[0].function.arguments.symbols[1]}}", sample) == "B"
    assert render("{{sample.output_tools[0].function.arguments}}", sample) == '{"symbols": ["A", "B"], "n": 2}'


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{item.anser}}", '{{ item.anser }}: this item has no field "anser". It has: answer, other.'),
        ("{{item.answer.x}}", '{{ item.answer.x }}: item.answer is a string ("Paris") and has no fields.'),
        ("{{item.other[2]}}", "{{ item.other[2] }}: item.other is a list of 1 element and has no [2]."),
        ("{{item.other.x}}", "{{ item.other.x }}: item.other is a list of 1 element and has no [x]."),
        (
            "{{sample.output_tools[0].function}}",
            "{{ sample.output_tools[0].function }}: sample.output_tools is a list of 0 elements and has no [0].",
        ),
        (
            "{{sample.tools}}",
            '{{ sample.tools }}: this sample has no field "tools". It has: output_text, output_tools, choices.',
        ),
        ('{{item["no such"]}}', '{{ item["no such"] }}: this item has no field "no such". It has: answer, other.'),
    ],
)
def test_a_missing_variable_is_told_with_the_fields_that_do_exist(template: str, message: str) -> None:
    with pytest.raises(VariableMissing) as failure:
        render(template, "text", {"answer": "Paris", "other": [0]})
    assert str(failure.value) == message


def test_a_key_with_dots_is_hinted_at() -> None:
    with pytest.raises(VariableMissing, match=r'A key with dots is written \["dotted\.key"\]'):
        render("{{item.dotted.key}}")


def test_output_json_of_a_sample_that_is_not_json_is_its_own_failure() -> None:
    with pytest.raises(SampleNotJson, match=r'the sample is not JSON\. It is: "hello"'):
        render("{{sample.output_json.name}}", "hello")
    assert render("{{sample.output_json.name}}", '{"name": "Jo"}') == "Jo"
    with pytest.raises(VariableMissing, match=r"sample\.output_json has no field"):
        render("{{sample.output_json.nam}}", '{"name": "Jo"}')


def test_without_a_sample_output_text_is_empty_with_a_warning_and_other_paths_fail() -> None:
    row = make_row(ITEM, None)
    assert Template("<{{sample.output_text}}>").render(row) == "<>"
    assert row.warnings == (NO_SAMPLE,)
    for path in ("sample.output_json.a", "sample.choices[0]", "sample.output_tools"):
        with pytest.raises(VariableMissing):
            Template("{{" + path + "}}").render(make_row(ITEM, None))


@pytest.mark.parametrize(
    ("template", "problems"),
    [
        ("{{ foo }}", ['{{ foo }}: unknown namespace "foo"']),
        ("{{itemx.a}} {{ other.b }}", ['unknown namespace "itemx"', 'unknown namespace "other"']),
        ("{{item.a | upper}}", ['cannot read " | upper"']),
        ("{{item.a|upper}}", ['cannot read "|upper"']),
        ("{{item.}}", ['cannot read "."']),
        ("{{item..a}}", ['cannot read "..a"']),
        ("{{item[-1]}}", ['cannot read "[-1]"']),
        ("{{item[x]}}", ['cannot read "[x]"']),
        ("{{ sample[ }}", ['cannot read "["']),
        ("{{ item + 1 }}", ["{{ item + 1 }}: not a path"]),
        ("{{ item.two words }}", ['cannot read " words"']),
    ],
)
def test_every_wrong_variable_of_a_template_is_told_when_it_is_compiled(template: str, problems: list[str]) -> None:
    with pytest.raises(InvalidGrader) as error:
        Template(template)
    assert len(error.value.problems) == len(problems)
    for problem, text in zip(error.value.problems, problems, strict=True):
        assert text in problem.message


def test_unmatched_braces_around_a_variable_are_noticed() -> None:
    assert Template("{{item.a} and {item.b}} and {{item.c}}").stray() == ["{item.a}", "{item.b}}"]
    assert Template('{"item": 1} {{item.c}}').stray() == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(derandomize=True, max_examples=share(300), deadline=None)
@given(value=json_values, before=st.text(alphabet="ab{} .[]\"'"), after=st.text(alphabet="ab{} .[]\"'"))
def test_any_value_renders_as_itself_or_as_json_between_its_neighbours(value: Any, before: str, after: str) -> None:
    before, after = before.replace("{{", "").rstrip("{"), after.replace("}}", "").lstrip("}")
    text = Template(before + "{{ item.value }}" + after).render(make_row({"value": value}, ""))
    expected = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert text == before + expected + after


@settings(derandomize=True, max_examples=share(300), deadline=None)
@given(
    keys=st.lists(st.text(alphabet=st.characters(exclude_characters="\"'{}")), min_size=1, max_size=4), leaf=st.text()
)
def test_any_key_can_be_reached_in_brackets(keys: list[str], leaf: str) -> None:
    item: Any = leaf
    for key in reversed(keys):
        item = {key: item}
    path = "".join(f'["{key}"]' for key in keys)
    assert Template("{{item" + path + "}}").render(make_row(item, "")) == leaf


@settings(derandomize=True, max_examples=share(500), deadline=None)
@given(st.text(alphabet="{}item.sample[]\"'0 |"))
def test_any_text_compiles_or_is_refused_and_text_without_variables_is_kept(source: str) -> None:
    try:
        template = Template(source)
    except InvalidGrader:
        return
    if not template.variables:
        assert template.render(make_row({}, "")) == source


@pytest.mark.parametrize(
    ("piece", "variables"),
    [("{{", 0), ("{{'", 0), ('{{"a', 0), ("{{item[", 0), ("{{ item.a }}" + "{{ }}" * 9, 2_000), ("{ {item.a} }", 0)],
)
def test_a_long_template_is_read_in_one_go(piece: str, variables: int) -> None:
    # A scan that starts again at every brace would take hours here.
    assert len(Template(piece * (variables or 20_000) + "x" * 1_000_000).variables) == variables


def test_a_template_has_a_limit_of_variables() -> None:
    assert len(Template("{{ item.a }}" * 2_000).variables) == 2_000
    with pytest.raises(InvalidGrader, match="found more than 2,000 variables in one template"):
        Template("{{ item.a }}" * 200_000)


@pytest.mark.parametrize("value", ["x" * 1_000_000, {"deep": "x" * 1_000_000}])
def test_a_short_template_cannot_make_a_text_without_end_of_a_row(value: Any) -> None:
    template = Template("{{ item.a }} " * 1_000)
    row = make_row({"a": value}, "")
    for render in (template.render, lambda row: template.render_with(row, str.upper)):
        with pytest.raises(GradingFailed, match="the grader's text for this row is longer than 16,000,000 characters"):
            render(row)
    assert len(Template("{{ item.a }} " * 15).render(row)) > 15_000_000


class Missing:
    """Stands in for pandas' values, which are known by the names of their types."""


NA, NAT = type("NAType", (Missing,), {})(), type("NaTType", (Missing,), {})()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (numpy.int64(3), "3"),
        (numpy.float32(0.5), "0.5"),
        (numpy.float64(0.25), "0.25"),
        (numpy.longdouble("1.5"), "1.5"),
        (numpy.array([1.5], dtype=numpy.longdouble), "[1.5]"),
        (numpy.longdouble("nan"), "null"),
        (numpy.bool_(True), "true"),
        (numpy.ma.masked, "null"),
        (numpy.datetime64("NaT"), "null"),
        (numpy.str_("x"), "x"),
        (numpy.array([1, 2]), "[1, 2]"),
        (numpy.array([[1.5], [float("nan")]]), "[[1.5], [null]]"),
        ({"a": numpy.int8(1), "b": [numpy.array([2])]}, '{"a": 1, "b": [[2]]}'),
        (float("nan"), "null"),
        (numpy.float64("nan"), "null"),
        (NA, "null"),
        (NAT, "null"),
        ({"a": [float("nan"), NA, 1.0]}, '{"a": [null, null, 1.0]}'),
    ],
)
def test_values_of_numpy_and_pandas_are_what_they_are(value: Any, text: str) -> None:
    assert Template("{{ item.x }}").render(make_row({"x": value}, "")) == text
    sent = jsontext.decode(jsontext.encode({"x": value}))["x"]
    assert sent == (text if type(value) is numpy.str_ else jsontext.decode(text))


def test_a_path_leads_into_an_array() -> None:
    row = make_row({"x": numpy.array([[1, 2], [3, 4]])}, float("nan"))
    assert Template("{{ item.x[1][0] }}").render(row) == "3"
    assert row.sample.is_absent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("3.50"), "3.50"),
        (date(2026, 1, 2), "2026-01-02"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (PurePosixPath("/a/b"), "/a/b"),
        (numpy.datetime64("2026-01-02"), "2026-01-02"),
        (numpy.array("4"), "4"),
    ],
)
def test_what_json_does_not_know_is_its_text_without_quotation_marks(value: Any, text: str) -> None:
    row = make_row({"v": value, "deep": {"v": value}}, "")
    assert Template("{{ item.v }} {{ item.deep.v }}").render(row) == f"{text} {text}"


def test_a_null_that_is_filled_in_is_warned_of() -> None:
    row = make_row({"v": None}, "")
    assert Template("{{ item.v }}").render(row) == "null"
    assert row.warnings == ("{{ item.v }} is null, and stands there as the text null.",)
