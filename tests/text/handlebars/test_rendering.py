"""What a template does for one text: nothing but the data can be reached, and it always ends."""

from typing import Any

import pytest

from fairmark.errors import GradingFailed
from fairmark.text.handlebars import Handlebars, Own


def test_a_value_is_never_expanded_again() -> None:
    assert Handlebars("{{{a}}}").render({"a": "{{{b}}} {{#each c}}", "b": "secret"}) == "{{{b}}} {{#each c}}"


class Thing:
    """Something with attributes, in data that a caller brings."""

    hidden = "attribute"

    def method(self) -> str:
        return "called"

    def __str__(self) -> str:
        return "thing"


@pytest.mark.parametrize(
    "template",
    [
        "{{thing.hidden}}",
        "{{thing.method}}",
        '{{lookup thing "__class__"}}',
        '{{lookup thing "hidden"}}',
        '{{lookup object "keys"}}',
        '{{lookup object "__class__"}}',
        "{{object.keys}}",
        "{{object.items.0}}",
        "{{list.append}}",
        "{{list.-1}}",
        "{{list.[-1]}}",
        "{{list.[1:]}}",
        "{{text.format}}",
        "{{text.0}}",
        "{{five.real}}",
        "{{@root.constructor}}",
        "{{#each thing}}{{this}}{{/each}}",
        "{{#each function}}{{this}}{{/each}}",
        "{{#thing}}{{hidden}}{{/thing}}",
        '{{lookup list "__class__"}}',
        "{{lookup list object}}",
        "{{lookup object list}}",
        "{{\"__import__('os')\"}}",
    ],
)
def test_nothing_of_python_can_be_reached(template: str) -> None:
    values = {"thing": Thing(), "object": {"a": 1}, "list": ["x"], "text": "t", "five": 5, "function": len}
    assert Handlebars(template).render(values) == ""


def test_an_object_of_pythons_is_printed_as_its_text_and_never_called() -> None:
    assert Handlebars("{{thing}} {{thing.length}}").render({"thing": Thing()}) == "thing "


def test_a_rendered_text_has_1_mib_at_most() -> None:
    assert len(Handlebars("{{{a}}}").render({"a": "x" * (1 << 20)})) == 1 << 20
    with pytest.raises(GradingFailed, match="more than 1 MiB"):
        Handlebars("{{{a}}}b").render({"a": "x" * (1 << 20)})
    with pytest.raises(GradingFailed, match="more than 1 MiB"):
        Handlebars("{{{a}}}").render({"a": "ä" * ((1 << 19) + 1)})
    with pytest.raises(GradingFailed, match="more than 1 MiB"):
        Handlebars("{{{a}}}").render({"a": ["x" * 1000] * 2000})


LIST = list(range(1000))


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("{{#each @root.l}}" * 50 + "{{/each}}" * 50, {"l": LIST}),
        ("{{#each l}}{{#each ../l}}{{#if no}}{{/if}}{{/each}}{{/each}}", {"l": LIST}),
        ("{{#each l}}{{/each}}", {"l": range(10**6)}),
        ("{{#each l}}{{#if @root.d" + ".d" * 20_000 + "}}{{/if}}{{/each}}", {"l": LIST}),
        ("{{#each l}}{{" + "../" * 20_000 + "d}}{{/each}}", {"l": LIST}),
        ("{{#each d}}{{#each this}}{{#each this}}" + "{{#each @root.l}}" * 9 + "{{/each}}" * 12, {"l": LIST}),
    ],
)
def test_a_runaway_template_is_stopped_by_its_steps(template: str, values: dict[str, Any]) -> None:
    endless: dict[str, Any] = {}
    endless["d"] = endless
    values = {"d": endless, **{key: list(value) for key, value in values.items()}}
    with pytest.raises(GradingFailed, match="more than 100,000 steps"):
        Handlebars(template).render(values)


def test_data_that_cannot_be_written_fails_its_row() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (endless, deep, 10**5000):
        with pytest.raises(GradingFailed, match="cannot be written as text"):
            Handlebars("{{a}}").render({"a": value})


def test_a_lone_surrogate_passes_through() -> None:
    assert Handlebars("{{{a}}}").render({"a": "\ud83d"}) == "\ud83d"


def test_something_can_be_put_around_every_text_that_is_not_the_graders_own() -> None:
    values = {"a": "<row>", "own": Own("<own>"), "empty": "", "number": 5, "list": ["x"], "turns": [{"c": "in"}]}
    template = "{{a}} {{{a}}} {{{own}}} {{own}} {{empty}} {{number}} {{{list}}} {{#each turns}}{{c}}{{@index}}{{/each}}"
    text = Handlebars(template).render(values, lambda value: f"«{value}»")
    assert text == '«<row>» «<row>» <own> <own>  5 «["x"]» «in»0'


def test_a_condition_sees_the_value_without_what_is_put_around_it() -> None:
    assert Handlebars("{{#if a}}yes{{else}}no{{/if}}").render({"a": ""}, lambda value: f"«{value}»") == "no"
