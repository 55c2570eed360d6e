"""Long JSON read in turns: the same values as at once, whatever their form, and the same refusals."""

import json
import random
import string
from typing import Any

import msgspec
import pytest

from fairmark import jsontext, longjson
from fairmark.longjson import LongList, decode, elements, members, raws
from tests.thoroughness import share

LONG = longjson.LONG // 10
"""Of the texts here, and below for what is under test: short ones have the same borders, and are read sooner."""
MOST_MEMBERS = longjson.MOST_MEMBERS // 10
ROW = {"item": {"question": 'Where\\ is "it"? ü €', "tags": [1, 2.5, None], "more": {"a": []}}, "sample": "x, {]"}
ROWS = [ROW | {"sample": f"number {number}"} for number in range(2 * LONG // 100)]


def texts(value: Any) -> list[bytes]:
    """Tight, as Python writes it, and on many lines."""
    ways: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 2}, {"ensure_ascii": False}]
    return [json.dumps(value, **way).encode() for way in ways]


LONG_VALUES = {
    "rows": {"data_source": {"source": {"content": ROWS}, "type": "jsonl"}, "name": "x"},
    "rows of many messages": [{"messages": [{"role": "user", "content": f"{n}"}] * 30} for n in range(200)],
    "rows that are all different": [
        [n] if n % 3 else {"a": {"b": [n, {"c": "}, {"}]}} if n % 2 else "],[" for n in range(7_000)
    ],
    "one long row among short ones": [ROW, {"item": ROWS}, ROW, ROWS, ROW],
    "long strings": {"a": "A" * LONG, "b": ['\\"' * LONG, "\\" * LONG], "model": "luna"},
    "numbers": [*range(20_000), -1.5e300, 0.25],
    "strings": [f'{n}, "' for n in range(10_000)],
    "lists": [[n, []] for n in range(10_000)],
    "many members": {f"name{n}": {"a": n} for n in range(5_000)},
    "lists in lists": [[[ROWS]]],
    "half an emoji": {"rows": ROWS, "cut": "\ud83d"},
}


@pytest.fixture(autouse=True)
def _shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LONG", "PIECE", "_WINDOW", "MOST_MEMBERS"):
        monkeypatch.setattr(longjson, name, getattr(longjson, name) // 10)


@pytest.mark.parametrize("name", LONG_VALUES)
def test_a_long_text_has_the_value_that_it_has_at_once(name: str) -> None:
    for text in texts(LONG_VALUES[name]) if name != "half an emoji" else [json.dumps(LONG_VALUES[name]).encode()]:
        assert len(text) > LONG
        assert decode(text) == LONG_VALUES[name]
        assert decode(b" \n" + text + b"\r\n\t ") == LONG_VALUES[name]


@pytest.mark.parametrize("text", texts(LONG_VALUES["rows"]), ids=["tight", "usual", "indented", "raw"])
def test_the_rows_of_a_long_list_can_be_looked_through_again_and_again_and_are_written_as_they_were(
    text: bytes,
) -> None:
    value = decode(text, rows=True)
    rows = value["data_source"]["source"]["content"]
    assert isinstance(rows, LongList)
    assert len(rows) == len(ROWS)
    assert list(rows) == list(rows) == ROWS
    assert jsontext.decode(jsontext.encode(value)) == LONG_VALUES["rows"]
    assert value["name"] == "x"


def test_a_list_of_few_elements_is_a_list_however_long_they_are() -> None:
    value = decode(texts(LONG_VALUES["one long row among short ones"])[0], rows=True)
    assert type(value) is list
    assert list(value[1]["item"]) == list(value[3]) == ROWS


@pytest.mark.parametrize("name", ["rows", "long strings", "many members"])
def test_members_are_the_bytes_that_were_written(name: str) -> None:
    for text in texts(LONG_VALUES[name]):
        parts = members(text)
        assert members(text, checked=True) == parts
        assert {key: jsontext.decode(bytes(part)) for key, part in parts.items()} == LONG_VALUES[name]
        assert all(bytes(part) in text for part in list(parts.values())[:10])


def test_a_short_text_has_the_members_that_it_has_at_once() -> None:
    assert members(b'{"a": [1 ], "b":2}') == {"a": msgspec.Raw(b"[1 ]"), "b": msgspec.Raw(b"2")}


def test_members_of_what_is_no_object_are_refused() -> None:
    with pytest.raises(jsontext.NotJson, match="expected an object, found a list"):
        members(json.dumps(ROWS).encode())


LONG_TEXT = json.dumps(LONG_VALUES["rows"]).encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LONG_TEXT[:-1], "at byte"),
        (LONG_TEXT + b"}", "the end at byte"),
        (LONG_TEXT + b" 1", "the end at byte"),
        (b" " * 2 * LONG, "a value at byte"),
        (b"[" * 2 * LONG, "too deeply"),
        (b'{"a":' * LONG, "too deeply"),
        (b'{"a": "' + b"x" * LONG, "the end of a string"),
        (b'{"a": "' + b'\\"' * LONG, "the end of a string"),
        (b'{"a" 1,' + LONG_TEXT[1:], "a colon"),
        (b"{a: 1," + LONG_TEXT[1:], "a name in quotes"),
        (b'{"a": ,' + LONG_TEXT[1:], "a value"),
        (b'{"a": NaN,' + LONG_TEXT[1:], "NaN"),
        (b'{"a": 1 2,' + LONG_TEXT[1:], "a comma"),
        (b'{"a": [1}],' + LONG_TEXT[1:], "counted from byte"),
        (b"[1 1," + b"2," * LONG + b"2]", "a comma or the end of the list"),
        (b"[" + b"2," * LONG + b"2,]", "a value"),
        (b"[" + b"2," * LONG + b"2}", "a comma or the end of the list|closing"),
        (b"[" + b'"\xff",' * LONG + b"2]", "UTF-8"),
        (b"{" + b'"a":1,' * MOST_MEMBERS + b'"a":1}', "more than 20000 names"),
    ],
    ids=lambda value: value if isinstance(value, str) else "text",
)
def test_what_is_no_json_is_refused_with_the_place(text: bytes, words: str) -> None:
    with pytest.raises(jsontext.NotJson, match=words):
        decode(text)
    with pytest.raises(jsontext.NotJson):
        members(b'{"inside": ' + text + b"}", checked=True)
    with pytest.raises(jsontext.NotJson):
        raws(b"[1, " + text + b"]")


def _any_value(picks: random.Random, depth: int) -> Any:
    kind = picks.randrange(7 if depth else 5)
    if kind == 5:
        return [_any_value(picks, depth - 1) for _ in range(picks.randrange(6))]
    if kind == 6:
        return {_text(picks): _any_value(picks, depth - 1) for _ in range(picks.randrange(6))}
    return [None, True, picks.randrange(10**6), picks.random(), _text(picks)][kind]


def _text(picks: random.Random) -> str:
    return "".join(picks.choices(string.ascii_letters + '"\\{}[],: \n€', k=picks.randrange(12)))


@pytest.mark.parametrize("seed", range(4))
def test_any_value_is_read_as_it_is_and_any_cut_of_it_is_refused(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With small limits, so that short texts have all the borders of long ones."""
    for name, size in (("LONG", 80), ("PIECE", 30), ("MANY", 3), ("_WINDOW", 40)):
        monkeypatch.setattr(longjson, name, size)
    picks = random.Random(seed)
    for _ in range(share(400)):
        value = [_any_value(picks, 5) for _ in range(picks.randrange(1, 12))]
        text = json.dumps(value, indent=picks.choice([None, 1])).encode()
        assert decode(text) == value
        assert _plain(decode(text, rows=True)) == value
        listed = [bytes(raw) for raw in raws(text)]
        assert [decode(raw) for raw in listed] == value
        assert all(raw in text for raw in listed)
        assert decode(bytes(members(b'{"a": ' + text + b"}", checked=True)["a"])) == value
        cut = text[: picks.randrange(1, len(text))]
        with pytest.raises(jsontext.NotJson):
            raws(cut)
        with pytest.raises(jsontext.NotJson):
            members(b'{"a": ' + cut + b"}", checked=True)
        with pytest.raises(jsontext.NotJson):
            decode(cut)


def test_what_is_no_list_has_no_elements() -> None:
    assert raws(b"[1, [2 ]]") == [msgspec.Raw(b"1"), msgspec.Raw(b"[2 ]")]
    with pytest.raises(jsontext.NotJson, match="expected a list, found an object"):
        raws(LONG_TEXT)


def _plain(value: Any) -> Any:
    if isinstance(value, (LongList, list)):
        return [_plain(inner) for inner in value]
    return {name: _plain(inner) for name, inner in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "text", texts({"object": "list", "data": [*ROWS[:3], {"item": ROWS}, 1, "x"], "has_more": True})
)
def test_the_elements_of_a_member_are_the_bytes_that_were_written(text: bytes) -> None:
    listed = elements(text, "data")
    assert listed is not None
    assert [decode(one) for one in listed] == [*ROWS[:3], {"item": ROWS}, 1, "x"]
    assert all(one in text for one in listed)
    assert elements(text, "has_more") is None
    assert elements(text, "absent") is None
    assert elements(b'{"data": [ ]}', "data") == []
    for wrong in (text[:-20], b'{"data": [1 2]}', b'{"data": [1,]}'):
        with pytest.raises(jsontext.NotJson):
            elements(wrong, "data")
