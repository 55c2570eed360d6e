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
