"""Pages of lists, to the byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairmark import longjson
from fairmark.moving.pull import pages
from fairmark.moving.pull.pages import Unreadable, one_line, read_head, read_page


@pytest.mark.parametrize(
    "objects",
    [
        [],
        ['{"id":"a"}'],
        ['{ "id" :"a",\n "x": [1,{"data": [2]}]}', '{"id": "b", "n": 1e-7, "big": 123456789012345678901234567890}'],
        [r'{"id":"a","half":"\ud83d"}', r'{"id":"b","quote":"\"},{\\"}'],  # which the fast reader does not take
    ],
    ids=["none", "one", "odd", "half an emoji"],
)
def test_objects_are_the_bytes_that_came(objects: list[str]) -> None:
    body = '{"object": "list",\n"data" :[' + " ,\n".join(objects) + '] , "has_more": true, "x": {"data": [3]}}'
    page = read_page(body.encode())
    assert [received.raw.decode() for received in page.objects] == objects
    assert page.has_more is bool(objects)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4), st.booleans(), st.sampled_from([None, 1]))
def test_the_slow_reader_tells_objects_apart_as_the_fast_one_does(
    values: list[object], is_ascii: bool, indent: int | None
) -> None:
    objects = [{"id": str(index), "value": value} for index, value in enumerate(values)]
    fast = json.dumps({"data": objects}, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    slow = fast[:-1] + rb', "half": "\ud83d"}'
    expected = [received.raw for received in read_page(fast).objects]
    assert [received.raw for received in read_page(slow).objects] == expected


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>", "it is no JSON"),
        (b"", "it is no JSON"),
        (b"[]", "in place of a list"),
        (b'{"data": {}}', "in place of a list"),
        (b'{"data": [1]}', "in place of an object"),
        (b'{"data": [{"id": 5}]}', "an object has the id"),
        (b'{"data": [{"name": "x"}]}', "an object has the id"),
        (b'{"data": [{"id": "' + b"x" * 200 + b'"}]}', "an object has the id"),
        (b'{"data": [' + b"[" * 5000 + b"]" * 5000 + b"]}", "nested too deeply"),
    ],
)
def test_what_is_no_page_is_told(body: bytes, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_page(body)


@pytest.mark.parametrize(("said", "more"), [(', "has_more": true', True), (', "has_more": false', False), ("", True)])
def test_without_a_word_about_more_there_is_more_until_a_page_is_empty(said: str, more: bool) -> None:
    assert read_page(b'{"data": [{"id": "a"}]' + said.encode() + b"}").has_more is more
    assert read_page(b'{"data": []' + said.encode() + b"}").has_more is False


def test_an_object_as_a_line_loses_its_line_breaks_and_nothing_else() -> None:
    assert one_line(b'{\r\n  "a": "x\\ny",\n  "b": [1,\n 2]\n}') == b'{  "a": "x\\ny",  "b": [1, 2]}'


def test_the_time_of_an_object_is_whatever_it_calls_it() -> None:
    assert read_head(b'{"created_at": 5}').time == 5
    assert read_head(b'{"created": 7, "created_at": null}').time == 7
    assert read_head(b'{"created_at": "yesterday"}').time == 0


def test_a_long_page_is_read_as_a_short_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns: it may hold all rows of many runs, and half an emoji too. Texts are long sooner here."""
    for name in ("LONG", "PIECE", "_WINDOW"):
        monkeypatch.setattr(longjson, name, getattr(longjson, name) // 10)
    monkeypatch.setattr(pages, "LONG", longjson.LONG)
    rows = ",".join(f'{{"item": {{"q": "number {number} \\ud83d"}}}}' for number in range(1_600))
    runs = [f'{{"id": "run_{number}",  "created_at": {number}, "data_source": [{rows}]}}' for number in range(2)]
    assert all(len(run) > longjson.LONG for run in runs)
    for more in (True, False):
        page = read_page(f'{{"data": [{runs[0]} , {runs[1]}], "has_more": {json.dumps(more)}}}'.encode())
        assert [one.raw.decode() for one in page.objects] == runs
        assert [(one.id, one.head.time) for one in page.objects] == [("run_0", 0), ("run_1", 1)]
        assert page.has_more is more
    for wrong in (f'{{"data": [{runs[0]}', f"[{runs[0]}]", f'{{"data": {runs[0]}}}'):
        with pytest.raises(Unreadable):
            read_page(wrong.encode())
