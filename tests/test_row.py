"""Rows: what an item and a sample may be given as, and what templates and graders then see."""

import hashlib
import json
from typing import Any

import pytest

import fairmark
from fairmark import jsontext, longjson
from fairmark.errors import GradingFailed
from fairmark.row import NO_SAMPLE, LongRow, Row, UnreadItem, hash_item, make_row, read_sample, split_row, unread

EXPECTED = (
    "sample: expected a text, an object with output_text, a chat completion, a message with its content, "
    "or a chat as a list of messages;"
)
MESSAGE = {"role": "assistant", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_a_text_sample_has_all_members() -> None:
    assert read_sample("hi").members == {
        "output_text": "hi",
        "output_tools": [],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    }


@pytest.mark.parametrize(
    ("text", "value"), [('{"a": 1}', {"a": 1}), ("[1]", [1]), ("0.9", 0.9), ("null", None), ('"x"', "x")]
)
def test_output_json_is_there_exactly_when_the_text_is_json(text: str, value: Any) -> None:
    assert read_sample(text).members["output_json"] == value
    assert "output_json" not in read_sample(text + "}").members


def test_a_chat_completion_gives_text_and_tools() -> None:
    message = {"role": "assistant", "content": '{"a": 1}', "tool_calls": [CALL]}
    completion = {"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    sample = read_sample(completion)
    assert sample.text == '{"a": 1}'
    assert sample.members["output_tools"] == [CALL]
    assert sample.members["output_json"] == {"a": 1}
    assert sample.members["choices"] == completion["choices"]
    assert sample.members["model"] == "m"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, "b"], "ab"),
        ("plain", "plain"),
    ],
)
def test_message_content_becomes_one_text(content: Any, text: str) -> None:
    assert read_sample({"choices": [{"message": {"content": content}}]}).text == text


def test_given_members_win_over_derived_ones() -> None:
    sample = read_sample(
        {"output_text": "1", "output_json": {"k": 2}, "output_tools": [CALL], "output_audio": {"data": ""}}
    )
    assert sample.members["output_json"] == {"k": 2}
    assert sample.members["output_tools"] == [CALL]
    assert sample.members["choices"][0]["message"] == {"role": "assistant", "content": "1", "tool_calls": [CALL]}
    assert sample.members["output_audio"] == {"data": ""}


def test_an_object_that_dumps_to_a_dict_is_a_sample() -> None:
    class Completion:
        def model_dump(self) -> dict[str, Any]:
            return {"choices": [{"message": {"content": "typed"}}]}

    assert read_sample(Completion()).text == "typed"


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_sample_is_not_an_empty_answer(nothing: Any) -> None:
    assert read_sample(nothing).is_absent
    assert read_sample(nothing).members == {}
    assert not read_sample("").is_absent


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (5, "sample: expected a string or an object, found a number (5)."),
        (["a"], f'{EXPECTED} found a list with a string ("a").'),
        ([], f"{EXPECTED} found a list without a message by the assistant."),
        ([{"role": "user", "content": "Hi"}], f"{EXPECTED} found a list without a message by the assistant."),
        ({"respond": "x", "model": "m"}, f"{EXPECTED} found an object with respond, model."),
        ({"output_text": None}, "sample.output_text: expected a string, found null."),
        ({"output_text": None, "model": "m"}, "sample.output_text: expected a string, found null."),
        ({"content": None}, f"{EXPECTED} found a message with null."),
        ({"role": "assistant", "content": None}, f"{EXPECTED} found a message with null."),
        ({"text": None}, "sample.text: expected a string, found null."),
        ({"output_text": 5}, "sample.output_text: expected a string, found a number (5)."),
        ({"choices": [{"message": {"content": {"a": 1}}}]}, "sample.output_text: expected a string, found an object."),
    ],
)
def test_what_cannot_be_a_sample_is_refused(sample: Any, message: str) -> None:
    with pytest.raises(GradingFailed) as failure:
        read_sample(sample)
    assert str(failure.value) == message


@pytest.mark.parametrize("choices", [[], [{}], [{"message": None}], "x"])
def test_choices_without_a_message_are_refused(choices: Any) -> None:
    with pytest.raises(GradingFailed, match="choices: there is no message in it"):
        read_sample({"choices": choices, "model": "m"})


@pytest.mark.parametrize(
    "sample",
    [
        {"role": "assistant", "content": "Paris"},
        {"content": "Paris"},
        {"content": [{"type": "text", "text": "Par"}, {"type": "text", "text": "is"}]},
        {"text": "Paris"},
        [{"role": "assistant", "content": "Paris"}],
        [{"content": "Paris"}],
        ({"role": "user", "content": "Capital?"}, {"role": "assistant", "content": "Paris"}),
        [
            {"role": "assistant", "content": "Wait"},
            {"role": "tool", "content": "x"},
            {"role": "assistant", "content": "Paris"},
        ],
        {"choices": [{"text": "Paris"}]},
        {"output_text": None, "choices": [{"message": {"content": "Paris"}}]},
    ],
)
def test_the_shapes_that_providers_and_trainers_hand_over_are_read(sample: Any) -> None:
    read = read_sample(sample)
    assert read.text == "Paris"
    assert read.members["output_text"] == "Paris"
    assert read.members["output_tools"] == []
    assert read_sample(read.given).text == "Paris"


@pytest.mark.parametrize(
    "sample",
    [
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]},
        {"output_text": None, "output_tools": [CALL]},
        {"output_text": None, "choices": [{"message": {"content": None, "tool_calls": [CALL]}}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "tool_calls": [CALL]},
        [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
    ],
)
def test_an_answer_may_be_tool_calls_and_no_text(sample: Any) -> None:
    read = read_sample(sample)
    assert (read.text, read.members["output_tools"]) == ("", [CALL])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"item": {"a": 1}, "response": "x"}, '. It has "response"; a model\'s answer has to stand under "sample".'),
        ({"item": {"a": 1}, "answer": "x"}, '. It has "answer"; a model\'s answer has to stand under "sample".'),
        ({"a": 1, "completion": "x"}, '. Its item has "completion"; a model\'s answer has to stand under "sample".'),
        ({"item": {"output": "x"}}, '. Its item has "output"; a model\'s answer has to stand under "sample".'),
        ({"a": 1, "sample": 7}, '. What it has under "sample" is none: a number (7).'),
        ({"item": {"answer": "x"}}, ""),
        ({"item": {}, "id": 5}, ""),
    ],
)
def test_a_sample_under_another_key_is_named_when_somebody_asks_for_it(row: dict[str, Any], message: str) -> None:
    read = make_row(*split_row(row))
    assert not read.warnings
    read.warn_of_no_sample()
    assert list(read.warnings) == [NO_SAMPLE + message]


@pytest.mark.parametrize(
    ("row", "item", "sample"),
    [
        ({"item": {"a": 1}, "sample": "s"}, {"a": 1}, "s"),
        ({"item": {"a": 1}}, {"a": 1}, None),
        ({"item": {"a": 1}, "sample": None, "extra": 1}, {"a": 1}, None),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, None),
        ({"a": 1, "sample": "s"}, {"a": 1}, "s"),
        ({"a": 1, "sample": 7}, {"a": 1, "sample": 7}, None),
        ({"item": "a word", "price": 2}, {"item": "a word", "price": 2}, None),
        ({"sample": "s"}, {}, "s"),
        ({}, {}, None),
        ({"item": None, "sample": "s"}, {"item": None}, "s"),
        ({"a": 1, "sample": [MESSAGE]}, {"a": 1}, [MESSAGE]),
        ({"a": 1, "sample": [1]}, {"a": 1, "sample": [1]}, None),
    ],
)
def test_a_data_row_is_wrapped_or_flat(row: dict[str, Any], item: Any, sample: Any) -> None:
    assert split_row(row) == (item, sample)


def test_what_is_no_row_is_refused() -> None:
    with pytest.raises(GradingFailed, match="row: expected an object, found a list of 2"):
        split_row([1, 2])
    with pytest.raises(GradingFailed, match=r'item: expected an object, found a string \("x"\)'):
        make_row("x", "")


@pytest.mark.parametrize(
    "long",
    [
        [{"b": number, "a": None} for number in range(2_500)],
        ["half \ud83d"] * 1_500,
        {"rows": list(range(200_000)), "more": "text"},
    ],
)
def test_a_long_list_in_an_item_changes_nothing_of_its_hash(long: Any) -> None:
    item = {"q": long, "n": 1, "a": "first"}
    body = json.dumps(item, separators=(",", ":"), sort_keys=True, ensure_ascii="\\ud83d" in json.dumps(long))
    whole = int.from_bytes(hashlib.blake2b(body.encode(), digest_size=8).digest(), signed=True)
    assert hash_item(item) == whole
    assert hash_item(longjson.decode(json.dumps(item).encode(), rows=True)) == whole


LONG_ITEM = {"answer": "Paris", "rows": [{"a": number} for number in range(60_000)]}
LONG_TEXT = json.dumps(LONG_ITEM).encode()


def test_an_item_that_was_not_read_is_read_when_somebody_looks_at_it() -> None:
    row = make_row(UnreadItem(LONG_TEXT), "Paris")
    assert isinstance(row, LongRow)
    assert row.chars == len(LONG_TEXT) + len("Paris")
    assert jsontext.encode(row.data) == b'{"item":%b,"sample":"Paris"}' % LONG_TEXT
    assert row.item == LONG_ITEM
    assert row.item is row.item
    row.warn("mine")
    again = row.again()
    assert (again.warnings, again.item) == ((), LONG_ITEM)
    assert split_row({"item": row.item_to_send, "sample": "x"}) == (row.item_to_send, "x")


@pytest.mark.parametrize(
    ("text", "reason"), [(b'{"a": ', "item: not JSON"), (b"[1]", "item: expected an object, found a list of 1")]
)
def test_an_unread_item_that_is_none_fails_its_row_alone(text: bytes, reason: str) -> None:
    grader = {"type": "string_check", "input": "{{item.a}}", "reference": "1", "operation": "eq"}
    given = [{"item": UnreadItem(text), "sample": ""}, {"item": {"a": "1"}, "sample": ""}]
    wrong, right = fairmark.grade_many(grader, given)
    assert (wrong.status, right.reward) == ("error", 1.0)
    assert reason in (wrong.error or "")


def test_lists_that_were_not_read_are_read_by_whoever_grades() -> None:
    item = longjson.decode(b'{"in": {"it": %b}}' % LONG_TEXT, rows=True)
    row = unread(Row(item, read_sample("")))
    assert row.item == {"in": {"it": LONG_ITEM}}
    plain = Row({"a": "x" * 1_000_000}, read_sample(""))
    assert unread(plain) is plain


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": '{"city":"Paris"}'}},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "weather", "input": {"city": "Paris"}}]},
    ],
)
def test_calls_of_other_forms_are_tool_calls_too(message: dict[str, Any]) -> None:
    call = {"type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}}
    for sample in (message, [message], {"choices": [{"message": message}]}):
        assert read_sample(sample).members["output_tools"] == [call]
