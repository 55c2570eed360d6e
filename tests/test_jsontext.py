"""JSON in and out."""

from typing import Any

import pytest

from fairmark import jsontext


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        ('"\\ud83d"', "\ud83d"),  # half an emoji, cut off
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ('"\\ud83d\\ude00"', "😀"),
    ],
)
def test_json_is_read(text: str | bytes, value: Any) -> None:
    assert jsontext.decode(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        (b"  \n", "it is empty"),
        ("{", "expecting property name enclosed in double quotes at column 2"),
        ('{"a": 1,\n "b": }', "expecting value at line 2 column 7"),
        ("[1] x", "extra data at column 5"),
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("1e400", "the number 1e400 is out of range"),
        ("9" * 5000, "it holds a number of more than 4300 digits"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "it is nested too deeply"),
        (b'"\xff"', "byte 2 is not UTF-8"),
        ("{'a': 1}", "expecting property name enclosed in double quotes at column 2"),
    ],
)
def test_what_is_not_json_is_told_with_its_place(text: str | bytes, reason: str) -> None:
    with pytest.raises(jsontext.NotJson) as error:
        jsontext.decode(text)
    assert str(error.value) == reason


@pytest.mark.parametrize("text", ["{", " [1]", '\n"a"', "-1", "0.5", "\ttrue", "false", "null", "2 apples"])
def test_what_begins_as_json_may_be_json(text: str) -> None:
    assert jsontext.may_be_json(text)


@pytest.mark.parametrize("text", ["", " ", "the answer", "nothing", "NaN", "Infinity", "'a'", "\xa0{}", "+1", ".5"])
def test_what_begins_otherwise_is_none(text: str) -> None:
    assert not jsontext.may_be_json(text)
    with pytest.raises(jsontext.NotJson):
        jsontext.decode(text)


def test_what_utf8_cannot_hold_is_written_escaped() -> None:
    assert jsontext.encode({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'
    assert jsontext.encode({"a": "é"}) == '{"a":"é"}'.encode()
    assert jsontext.encode_pretty(["\ud83d"]) == '[\n  "\\ud83d"\n]'
    assert jsontext.encode_pretty(["é"]) == '[\n  "é"\n]'


def test_depth_is_measured_without_following_cycles_forever() -> None:
    value: Any = 0
    for _ in range(200):
        value = [value]
    assert jsontext.deeper_than(value, 199)
    assert not jsontext.deeper_than(value, 200)
    cycle: list[Any] = []
    cycle += [cycle, cycle]
    assert jsontext.deeper_than(cycle, 100)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (5, "a number (5)"),
        pytest.param(10**5000, "a number", id="a number too long to print"),
        ("a\nb", 'a string ("a\\nb")'),
        ("x" * 100, 'a string ("' + "x" * 59 + '…")'),
        ("\ud800", 'a string ("\\ud800")'),
        ({}, "an object"),
        ([1, 2], "a list of 2"),
        ({1}, "a Python set"),
    ],
)
def test_values_are_described_in_words(value: Any, text: str) -> None:
    assert jsontext.describe(value) == text


@pytest.mark.parametrize("odd", [b"1.50", b'"\\u00e9"', b'{"b": 1,  "a": 2}', b"12345678901234567890123"])
def test_members_and_elements_stay_as_they_were_written(odd: bytes) -> None:
    assert jsontext.encode(jsontext.members(b'{"x": ' + odd + b"}")) == b'{"x":' + odd + b"}"
    assert jsontext.encode(jsontext.elements(b"[" + odd + b"]")) == b"[" + odd + b"]"


def test_members_with_half_an_emoji_are_values() -> None:
    assert jsontext.encode(jsontext.members(b'{"x": "\\ud83d", "y": 1}')) == b'{"x":"\\ud83d","y":1}'
    assert jsontext.encode(jsontext.elements(b'["\\ud83d", 1]')) == b'["\\ud83d",1]'


@pytest.mark.parametrize(
    ("text", "words"), [(b"[]", "expected an object"), (b"{", "expecting property name"), (b"5", "expected an object")]
)
def test_what_is_no_object_has_no_members(text: bytes, words: str) -> None:
    with pytest.raises(jsontext.NotJson, match=words):
        jsontext.members(text)
    with pytest.raises(jsontext.NotJson):
        jsontext.elements(b"{}")
