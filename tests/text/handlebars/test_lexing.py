"""A source is taken apart into texts and tags, in a time that does not explode, whatever is written there."""

from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.text.handlebars import Handlebars
from fairmark.text.handlebars.lexing import Lexer, Tag, without_blanks


def split(source: str) -> tuple[list[str], list[Tag]]:
    return Lexer(source, lambda at, message: InvalidGrader.at("", f"{at}: {message}")).split()


def test_one_text_stands_before_each_tag_and_one_after_the_last() -> None:
    texts, tags = split("a{{b}}c{{#if d}}{{/if}}")
    assert texts == ["a", "c", "", ""]
    assert [(tag.at, tag.sigil, [word.source for word in tag.words]) for tag in tags] == [
        (1, "", ["b"]),
        (7, "#", ["if", "d"]),
        (16, "/", ["if"]),
    ]
    assert split("plain { text }") == (["plain { text }"], [])


@pytest.mark.parametrize(
    ("word", "kind", "value"),
    [
        ("5", "literal", 5),
        ("-0.5", "literal", -0.5),
        ("true", "literal", True),
        ("null", "literal", None),
        (r"'it\'s'", "literal", "it's"),
        ('"a b"', "literal", "a b"),
    ],
)
def test_a_word_that_is_a_literal_has_its_value(word: str, kind: str, value: Any) -> None:
    _, [tag] = split("{{lookup a " + word + "}}")
    assert (tag.words[2].kind, tag.words[2].value, type(tag.words[2].value)) == (kind, value, type(value))


@pytest.mark.parametrize(
    ("source", "ups", "is_data", "is_this", "names"),
    [
        ("a.b", 0, False, False, ("a", "b")),
        ("../../a/b", 2, False, False, ("a", "b")),
        ("@../index", 1, True, False, ("index",)),
        ("this.a", 0, False, True, ("a",)),
        (".", 0, False, True, ()),
        ("a.[b c].0", 0, False, False, ("a", "b c", "0")),
    ],
)
def test_a_path_is_read(source: str, ups: int, is_data: bool, is_this: bool, names: tuple[str, ...]) -> None:
    _, [tag] = split("{{" + source + "}}")
    path = tag.words[0].value
    assert (path.ups, path.is_data, path.is_this, path.names) == (ups, is_data, is_this, names)


def test_a_call_holds_its_words_and_a_key_stands_before_its_value() -> None:
    _, [tag] = split("{{#if (lookup a 1) includeZero=true as |x y|}}")
    call, option = tag.words[1:]
    assert (call.kind, [word.source for word in call.value], call.source) == (
        "call",
        ["lookup", "a", "1"],
        "(lookup a 1)",
    )
    assert (option.key, option.value, tag.params) == ("includeZero", True, ["x", "y"])


def test_where_a_mistake_begins_is_told_by_its_place_in_the_source() -> None:
    with pytest.raises(InvalidGrader, match=r"5: not closed\."):
        split("text {{a")


def test_a_block_takes_its_own_line_away_and_a_tilde_all_blanks() -> None:
    assert without_blanks(*split("a\n  {{#if b}}  \nc")) == ["a\n", "c"]
    assert without_blanks(*split("a\n  {{b}}  \nc")) == ["a\n  ", "  \nc"]
    assert without_blanks(*split("a \n {{~b~}} \n c")) == ["a", "c"]


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
