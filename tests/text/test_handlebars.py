"""Handlebars: the whole syntax, the limits, and that nothing but the data can be reached."""

import pickle
from typing import Any

import pytest

from fairmark.errors import GradingFailed, InvalidGrader
from fairmark.text.handlebars import Handlebars, Own
from fairmark.text.handlebars.compiling import MOST_PROBLEMS

VALUES: dict[str, Any] = {
    "text": "text",
    "html": '<b>"it\'s" & `a=b`</b>',
    "empty": "",
    "zero": 0,
    "five": 5,
    "half": 0.5,
    "whole": 2.0,
    "yes": True,
    "no": False,
    "nothing": None,
    "list": ["a", "b", "c"],
    "none": [],
    "object": {"key": "value", "inner": {"deep": "down"}, "a key": "spaced", "length": "own"},
    "bare": {},
    "turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}],
    "braces": "{{text}}",
}

CASES = [
    # Variables and paths.
    ("plain", "plain"),
    ("", ""),
    ("{{text}}", "text"),
    ("{{ text }}", "text"),
    ("{{\n text\n}}", "text"),
    ("{{object.key}}", "value"),
    ("{{object/key}}", "value"),
    ("{{object.inner.deep}}", "down"),
    ("{{object.[a key]}}", "spaced"),
    ("{{list.0}}", "a"),
    ("{{list.[1]}}", "b"),
    ("{{turns.1.content}}", "Yo"),
    ("{{turns.[0].role}}", "user"),
    ("{{list.9}}", ""),
    ("{{list.length}}", "3"),
    ("{{none.length}}", "0"),
    ("{{text.length}}", "4"),
    ("{{object.length}}", "own"),
    ("{{this.text}} {{./text}}", "text text"),
    ("{{missing}}", ""),
    ("{{missing.deeper.still}}", ""),
    ("{{nothing}}", ""),
    ("{{../text}}", ""),
    ("{{@root.text}}", "text"),
    ("{{@index}}", ""),
    ("{{five}} {{half}} {{whole}} {{zero}}", "5 0.5 2 0"),
    ("{{yes}} {{no}}", "true false"),
    ('{{lookup object "a key"}}', "spaced"),
    ("{{lookup list 2}}", "c"),
    ("{{lookup turns.0 'role'}}", "user"),
    ('{{lookup object "missing"}}', ""),
    ('{{lookup (lookup object "inner") "deep"}}', "down"),
    ('{{"text"}}', "text"),
    # Lists and objects are JSON, unlike in JavaScript.
    ("{{{list}}}", '["a", "b", "c"]'),
    ("{{{object.inner}}}", '{"deep": "down"}'),
    # A prompt is no web page: nothing is escaped, however many braces there are.
    ("{{html}}", "<b>\"it's\" & `a=b`</b>"),
    ("{{{html}}}", "<b>\"it's\" & `a=b`</b>"),
    ("{{{ text }}}", "text"),
    ("{{&html}}", "<b>\"it's\" & `a=b`</b>"),
    ("<&>", "<&>"),
    (r"\{{text}}", "{{text}}"),
    (r"\\{{text}}", "\\text"),
    ('{"a": {{five}}}', '{"a": 5}'),
    ("{ {text} }", "{ {text} }"),
    ("{{{braces}}}", "{{text}}"),
    # if, unless, else.
    ("{{#if yes}}A{{/if}}", "A"),
    ("{{#if no}}A{{/if}}", ""),
    ("{{#if no}}A{{else}}B{{/if}}", "B"),
    ("{{#if no}}A{{^}}B{{/if}}", "B"),
    ("{{#if no}}A{{else if text}}B{{else}}C{{/if}}", "B"),
    ("{{#if no}}A{{else if empty}}B{{else if zero}}C{{else}}D{{/if}}", "D"),
    ("{{#if no}}A{{else unless no}}B{{/if}}", "B"),
    ("{{#if no}}A{{else each list}}{{this}}{{/if}}", "abc"),
    ("{{#if no}}A{{else with object}}{{key}}{{/if}}", "value"),
    ("{{#if empty}}A{{else}}B{{/if}}", "B"),
    ("{{#if zero}}A{{else}}B{{/if}}", "B"),
    ("{{#if zero includeZero=true}}A{{else}}B{{/if}}", "A"),
    ("{{#if none}}A{{else}}B{{/if}}", "B"),
    ("{{#if bare}}A{{else}}B{{/if}}", "A"),
    ("{{#if nothing}}A{{else}}B{{/if}}", "B"),
    ("{{#if missing.deeper}}A{{else}}B{{/if}}", "B"),
    ("{{#if list.length}}A{{/if}}{{#if none.length}}B{{/if}}", "A"),
    ('{{#if (lookup object "key")}}A{{/if}}', "A"),
    ("{{#unless no}}A{{else}}B{{/unless}}", "A"),
    ("{{#unless text}}A{{else}}B{{/unless}}", "B"),
    ("{{#if text}}{{../text}}{{text}}{{/if}}", "text"),  # a condition steps into nothing
    # each.
    ("{{#each list}}{{this}}{{/each}}", "abc"),
    ("{{#each list}}{{.}}{{/each}}", "abc"),
    ("{{#each list}}{{@index}}{{this}}{{/each}}", "0a1b2c"),
    ("{{#each list}}{{#if @first}}[{{/if}}{{this}}{{#if @last}}]{{/if}}{{/each}}", "[abc]"),
    ("{{#each list}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}", "a, b, c"),
    ("{{#each list}}{{@key}}{{/each}}", "012"),
    ("{{#each object.inner}}{{@key}}={{this}}{{/each}}", "deep=down"),
    ("{{#each turns}}{{role}}: {{content}};{{/each}}", "user: Hi;assistant: Yo;"),
    ("{{#each turns}}{{../text}}{{/each}}", "texttext"),
    ("{{#each turns}}{{@root.five}}{{/each}}", "55"),
    ("{{#each turns}}{{#each ../list}}{{@../index}}{{@index}}{{../role}} {{/each}}{{/each}}",
     "00user 01user 02user 10assistant 11assistant 12assistant "),
    ("{{#each none}}A{{else}}B{{/each}}", "B"),
    ("{{#each missing}}A{{else}}{{text}}{{/each}}", "text"),
    ("{{#each text}}A{{else}}B{{/each}}", "B"),
    ("{{#each turns as |turn i|}}{{i}}{{turn.role}}{{/each}}", "0user1assistant"),
    ("{{#each turns as |turn|}}{{#each ../list as |x|}}{{turn.content}}{{x}}{{/each}}{{/each}}", "HiaHibHicYoaYobYoc"),
    ("{{#each list as |text|}}{{text}}{{this.text}}{{/each}}", "abc"),
    # with and sections.
    ("{{#with object}}{{key}}{{../text}}{{/with}}", "valuetext"),
    ("{{#with object.inner}}{{deep}}{{/with}}", "down"),
    ("{{#with missing}}A{{else}}B{{/with}}", "B"),
    ("{{#with object as |o|}}{{o.key}}{{/with}}", "value"),
    ("{{#with zero}}{{this}}{{/with}}", "0"),
    ("{{#each turns}}{{#with ../object}}{{@index}}{{../role}}{{../../text}} {{/with}}{{/each}}",
     "0usertext 1assistanttext "),
    ("{{#turns}}{{role}}{{/turns}}", "userassistant"),
    ("{{#object}}{{key}}{{/object}}", "value"),
    ("{{#yes}}{{text}}{{/yes}}", "text"),
    ("{{#no}}A{{else}}B{{/no}}", "B"),
    ("{{^missing}}A{{/missing}}", "A"),
    # Comments and blanks.
    ("a{{! a comment }}b", "ab"),
    ("a{{!-- with }} in it --}}b", "ab"),
    ("a{{!}}b", "ab"),
    ("a {{~text~}} b", "atextb"),
    ("a {{~text}} b", "atext b"),
    ("a {{~{text}~}} b", "atextb"),
    ("a\n{{~#if yes~}}\n b \n{{~/if~}}\nc", "abc"),
    ("a {{~! gone ~}} b", "ab"),
    ("a\n{{#if yes}}\nb\n{{/if}}\nc", "a\nb\nc"),
    ("a\n  {{#if yes}}  \nb\n{{else}}\nx\n{{/if}}\nc", "a\nb\nc"),
    ("{{#each list}}\n{{this}}\n{{/each}}\n", "a\nb\nc\n"),
    ("a\r\n{{! alone }}\r\nb", "a\r\nb"),
    ("a\n{{text}}\nb", "a\ntext\nb"),
    ("a {{#if yes}}\nb{{/if}}\nc", "a \nb\nc"),
]  # fmt: skip


@pytest.mark.parametrize(("template", "text"), CASES)
def test_a_template_comes_out_as_handlebars_says(template: str, text: str) -> None:
    assert Handlebars(template).render(VALUES) == text


def test_a_value_is_never_expanded_again() -> None:
    assert Handlebars("{{{a}}}").render({"a": "{{{b}}} {{#each c}}", "b": "secret"}) == "{{{b}}} {{#each c}}"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{#if a}}", "line 1: {{#if a}}: this block is not closed."),
        ("a\nb\n{{#each a}}x", "line 3: {{#each a}}: this block is not closed."),
        ("{{#if a}}{{else if b}}", "line 1: {{#if a}}: this block is not closed."),
        ("{{#if a}}{{/each}}", "line 1: {{/each}}: this does not close {{#if a}} of line 1."),
        ("{{#if a}}{{#each b}}{{/if}}{{/each}}", "line 1: {{/if}}: this does not close {{#each b}} of line 1."),
        ("{{/if}}", "line 1: {{/if}}: nothing is open that this could close."),
        ("{{#if a}}{{/if b}}", "line 1: {{/if b}}: a closing tag holds the name of its block and nothing else."),
        ("{{else}}", "line 1: {{else}}: an else without a block that it belongs to."),
        ("{{#if a}}{{else}}{{else}}{{/if}}", "line 1: {{else}}: an else without a block that it belongs to."),
        ("{{a", "line 1: {{a: not closed."),
        ("{{{a}}", "line 1: {{{a}}}: not closed."),
        ("{{", "line 1: {{: not closed."),
        ("{{}}", "line 1: {{}}: there is nothing between the braces."),
        ("{{#}}{{/if}}", "line 1: {{#}}: a block without a name. Use one of: if, unless, each, with."),
        ("{{! a", "line 1: {{! a: this comment is not closed."),
        ("{{!-- a }}", "line 1: {{!-- a }}: this comment is not closed."),
        ("{{#if}}{{/if}}", "line 1: {{#if}}: if takes one argument, found 0."),
        ("{{#each a b}}{{/each}}", "line 1: {{#each a b}}: each takes one argument, found 2."),
        ("{{#each a b=1}}{{/each}}", 'line 1: {{#each a b=1}}: unknown option "b" of each.'),
        ("{{shout a}}", 'line 1: {{shout a}}: unknown helper "shout". Use lookup; blocks: if, unless, each, with.'),
        ("{{#repeat 3}}{{/repeat}}",
         'line 1: {{#repeat 3}}: unknown helper "repeat". Use one of: if, unless, each, with.'),
        ('{{log "a"}}', 'line 1: {{log "a"}}: unknown helper "log". Use lookup; blocks: if, unless, each, with.'),
        ("{{#if (eq a b)}}{{/if}}",
         'line 1: {{#if (eq a b)}}: unknown helper "eq". Use lookup; blocks: if, unless, each, with.'),
        ("{{if a}}", "line 1: {{if a}}: if begins a block: {{#if …}} … {{/if}}."),
        ("{{lookup a}}", "line 1: {{lookup a}}: lookup takes two arguments, an object or a list and a key."),
        ("{{lookup}}", "line 1: {{lookup}}: lookup takes two arguments, an object or a list and a key."),
        ("{{#if (lookup a b}}{{/if}}", "line 1: {{#if (lookup a b}}: not closed."),
        ("{{a)}}", "line 1: {{a)}}: a closing parenthesis without an opening one."),
        ("{{a %}}", 'line 1: {{a %}}: cannot read "%}}".'),
        ("{{a..b}}", 'line 1: {{a..b}}: "a..b" is not a path.'),
        ("{{a/../b}}", 'line 1: {{a/../b}}: "a/../b" is not a path.'),
        ("{{a.}}", 'line 1: {{a.}}: "a." is not a path.'),
        ("{{@}}", 'line 1: {{@}}: cannot read "@}}".'),
        ("{{@this}}", 'line 1: {{@this}}: "@this" is not a path.'),
        ('{{a "b}}', 'line 1: {{a "b}}: cannot read "\\"b}}".'),
        ("{{> partial}}", "line 1: {{> partial}}: partials are not supported."),
        ("{{#> partial}}{{/partial}}", "line 1: {{#> partial}}: partials are not supported."),
        ('{{#*inline "a"}}{{/inline}}', 'line 1: {{#*inline "a"}}: decorators are not supported.'),
        ("{{* a}}", "line 1: {{* a}}: decorators are not supported."),
        ("{{{{raw}}}}{{{{/raw}}}}",
         "line 1: {{{{raw}}}: raw blocks are not supported. Braces that are text are written \\{{."),
        ("{{#if a as |b|}}{{/if}}",
         "line 1: {{#if a as |b|}}: if gives nothing a name: as |…| stands with each and with."),
        ("{{a as |b|}}", "line 1: {{a as |b|}}: as |…| stands in a tag that begins a block."),
        ("{{#each a as |b c d|}}{{/each}}",
         "line 1: {{#each a as |b c d|}}: as |…| gives two names at most, to the element and to its key."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_template_is_told_when_it_is_made(template: str, problem: str) -> None:
    with pytest.raises(InvalidGrader) as caught:
        Handlebars(template)
    assert [each.message for each in caught.value.problems] == [problem]


def test_all_unknown_helpers_are_told_together_but_not_thousands() -> None:
    with pytest.raises(InvalidGrader) as caught:
        Handlebars("{{a b}}\n{{c d}}\n{{#if}}{{/if}}")
    assert [problem.message[:7] for problem in caught.value.problems] == ["line 1:", "line 2:", "line 3:"]
    with pytest.raises(InvalidGrader) as caught:
        Handlebars("{{a b}}" * 5000)
    assert len(caught.value.problems) == MOST_PROBLEMS


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


@pytest.mark.parametrize(
    "template",
    [
        "{{thing.__class__}}",
        "{{thing.__class__.__mro__.1.__subclasses__}}",
        "{{thing.[__class__]}}",
        "{{thing.[__init__].[__globals__]}}",
        "{{object.__class__.__name__}}",
        "{{list.__len__}}",
        "{{text.__class__}}",
        "{{five.__add__}}",
        "{{function.__globals__}}",
        "{{function.__code__}}",
        "{{this.__class__}}",
        "{{@root.__class__}}",
        "{{__proto__}}",
        "{{__builtins__}}",
        "{{@__class__}}",
        "{{@root.function.__call__}}",
        "{{#with thing}}{{hidden}}{{__dict__}}{{/with}}",
        "{{#each object as |o|}}{{o.__class__}}{{/each}}",
        "{{[0].__class__}}",
        "{{[__import__('os').system('true')]}}",
    ],
)
def test_an_attempt_at_what_python_hides_is_refused_before_anything_is_rendered(template: str) -> None:
    with pytest.raises(InvalidGrader, match=r'"__.*" cannot be reached: nothing that begins with __ can\.'):
        Handlebars(template)


def test_an_object_of_pythons_is_printed_as_its_text_and_never_called() -> None:
    assert Handlebars("{{thing}} {{thing.length}}").render({"thing": Thing()}) == "thing "


def test_a_helper_cannot_be_brought_along_by_the_data() -> None:
    with pytest.raises(InvalidGrader):
        Handlebars("{{shout text}}")
    assert Handlebars("{{lookup object 'lookup'}}{{object.if}}").render({"object": {"lookup": 1, "if": 2}}) == "12"


def test_a_template_has_64_kib_at_most() -> None:
    assert Handlebars("ä" * 32_768).render({}) == "ä" * 32_768
    with pytest.raises(InvalidGrader, match="longer than 64 KiB"):
        Handlebars("ä" * 32_768 + "x")


def test_a_rendered_text_has_1_mib_at_most() -> None:
    assert len(Handlebars("{{{a}}}").render({"a": "x" * (1 << 20)})) == 1 << 20
    with pytest.raises(GradingFailed, match="more than 1 MiB"):
        Handlebars("{{{a}}}b").render({"a": "x" * (1 << 20)})
    with pytest.raises(GradingFailed, match="more than 1 MiB"):
        Handlebars("{{{a}}}").render({"a": "ä" * ((1 << 19) + 1)})
    with pytest.raises(GradingFailed, match="more than 1 MiB"):
        Handlebars("{{{a}}}").render({"a": ["x" * 1000] * 2000})


def test_blocks_nest_100_levels_deep_at_most() -> None:
    assert Handlebars("{{#if a}}" * 100 + "x" + "{{/if}}" * 100).render({"a": 1}) == "x"
    for template in (
        "{{#if a}}" * 101 + "{{/if}}" * 101,
        "{{#if a}}" + "{{else if a}}" * 100 + "{{/if}}",
        "{{#if a}}" * 5000,
    ):
        with pytest.raises(InvalidGrader, match="blocks are nested deeper than 100 levels"):
            Handlebars(template)
    with pytest.raises(InvalidGrader, match="parentheses are nested deeper than 100 levels"):
        Handlebars("{{lookup " + "(" * 20_000)


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


@pytest.mark.parametrize(
    "template",
    [
        "{{" * 32_000,
        "{{ " * 20_000,
        '{{"' * 20_000,
        "{{[" * 20_000,
        "{{!--" * 13_000,
        "{{!" + "-" * 60_000,
        "{{a " + "b" * 60_000,
        "{{a" + ".a" * 30_000,
        "{{a" + " " * 60_000,
        "{{#each a as |" + "b " * 30_000,
    ],
)
def test_hostile_text_is_refused_without_ado(template: str) -> None:
    with pytest.raises(InvalidGrader):
        Handlebars(template)


@pytest.mark.parametrize(
    ("template", "length"),
    [
        ("{{a}}" * 13_000, 13_000),
        ("\\{{" * 20_000, 40_000),
        ("{{~a~}} " * 8_000, 8_000),
        ("{{#if a}}" + " " * 60_000 + "{{/if}}", 60_000),
        ("{{!-- --}}" * 6_500, 0),
        ("{{#if a}}\n{{/if}}\n" * 3_000, 0),
    ],
)
def test_long_templates_are_no_trouble(template: str, length: int) -> None:
    assert len(Handlebars(template).render({"a": "x"})) == length


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


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{{a}} {{{b.c}}} {{#if d}}{{e}}{{/if}}", {"a", "b", "d", "e"}),
        ("{{#each a}}{{b}}{{../c}}{{@root.d}}{{else}}{{e}}{{/each}}", {"a", "c", "d", "e"}),
        ("{{#each a as |x|}}{{x}}{{/each}}{{#with b}}{{c}}{{/with}}", {"a", "b"}),
        ("{{#a}}{{b}}{{/a}}{{lookup c d}}{{this.e}}{{@index}}", {"a", "c", "d", "e"}),
    ],
)
def test_the_variables_of_a_template_are_known(template: str, names: set[str]) -> None:
    assert Handlebars(template).names == names


def test_a_template_is_equal_by_its_source_and_survives_a_pickle() -> None:
    template = Handlebars("{{a}}")
    assert template == Handlebars("{{a}}")
    assert template != Handlebars("{{{a}}}")
    again = pickle.loads(pickle.dumps(template))  # noqa: S301
    assert (again, again.render({"a": "x"})) == (template, "x")
