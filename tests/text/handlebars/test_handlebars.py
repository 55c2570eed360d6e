"""Handlebars: the whole syntax, as a judge's prompt uses it."""

import pickle
from typing import Any

import pytest

from fairmark.text.handlebars import Handlebars

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


def test_a_template_is_equal_by_its_source_and_survives_a_pickle() -> None:
    template = Handlebars("{{a}}")
    assert template == Handlebars("{{a}}")
    assert template != Handlebars("{{{a}}}")
    again = pickle.loads(pickle.dumps(template))  # noqa: S301
    assert (again, again.render({"a": "x"})) == (template, "x")
