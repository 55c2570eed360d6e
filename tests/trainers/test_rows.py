"""A trainer's columns as rows."""

import json
import logging
from typing import Any

import pytest

import fairmark
from fairmark.errors import InvalidData
from fairmark.row import read_sample
from fairmark.trainers.rows import RowMaker

EXACT_TEXT = {
    "type": "string_check", "name": "exact", "operation": "ne", "input": "{{sample.output_text}}", "reference": "x",
}  # fmt: skip
CHAT = [{"role": "user", "content": "2 + 2?"}]
ANSWER = [{"role": "assistant", "content": "It is <answer>4</answer>."}]


def test_columns_and_prompt_are_the_item_and_the_answer_is_the_sample() -> None:
    rows = RowMaker().rows(["a?", "b?"], ["x", "y"], {"answer": ["x", "z"], "trainer_state": object()})
    assert rows == [
        {"item": {"answer": "x", "prompt": "a?"}, "sample": "x"},
        {"item": {"answer": "z", "prompt": "b?"}, "sample": "y"},
    ]


def test_a_chat_is_the_items_messages() -> None:
    (row,) = RowMaker().rows([CHAT], [ANSWER], {})
    assert row == {"item": {"messages": CHAT}, "sample": ANSWER}


def test_what_is_no_json_is_left_out_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    maker = RowMaker()
    columns: dict[str, Any] = {"answer": ["x"], "tensor": [object()], "functions": [[len]], "short": []}
    with caplog.at_level(logging.WARNING):
        rows = [maker.rows(["a?"], ["x"], columns)[0] for _ in range(3)]
    assert rows[0]["item"] == {"answer": "x", "prompt": "a?"}
    (first, second) = (record.message for record in caplog.records)
    assert first.endswith(": short")
    assert second.endswith(": functions, tensor")


def test_names_of_columns_can_be_mapped() -> None:
    (row,) = RowMaker({"answer": "ground_truth"}).rows(["a?"], ["x"], {"ground_truth": ["y"]})
    assert row["item"] == {"ground_truth": "y", "answer": "y", "prompt": "a?"}
    (row,) = RowMaker(lambda fields: {"all": sorted(fields)}).rows(["a?"], ["x"], {"ground_truth": ["y"]})
    assert row["item"] == {"all": ["ground_truth", "prompt"]}


def test_a_column_that_is_not_there_stops_the_job() -> None:
    with pytest.raises(InvalidData, match=r'item.answer: there is no column "truth". There are: ground_truth, prompt.'):
        RowMaker({"answer": "truth"}).rows(["a?"], ["x"], {"ground_truth": ["y"]})
    with pytest.raises(InvalidData, match="An item is an object"):
        RowMaker(lambda fields: 3).rows(["a?"], ["x"], {})  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="item: its function raised KeyError"):
        RowMaker(lambda fields: fields["truth"]).rows(["a?", "b?"], ["x", "y"], {})


@pytest.mark.parametrize(
    ("functions", "why"),
    [
        ({"extract": lambda text: None if text == "b" else text}, "extract: its function returned null"),
        ({"extract": lambda text: {"a": "a"}[text]}, "extract: its function raised KeyError"),
        ({"item": lambda fields: {"a": fields}[fields["answer"]]}, "item: its function raised KeyError"),
        ({"item": lambda fields: fields if fields["answer"] == "a" else None}, "item: its function returned null"),
    ],
)
def test_one_row_on_which_the_users_function_fails_fails_alone_and_says_why(functions: Any, why: str) -> None:
    maker = RowMaker(**functions)
    whole, broken = fairmark.grade_many(EXACT_TEXT, maker.rows(["p"] * 2, ["a", "b"], {"answer": ["a", "b"]}))
    assert (whole.status, broken.status) == ("graded", "error")
    assert why in str(broken.error)
    (later,) = fairmark.grade_many(EXACT_TEXT, maker.rows(["p"], ["b"], {"answer": ["b"]}))
    assert why in str(later.error)  # also where it is all of a later batch
    assert fairmark.grade(EXACT_TEXT, **maker.row("p", "b", {"answer": "b"})).error == later.error


def test_what_could_not_be_made_is_no_empty_answer_where_it_is_sent_on_as_json() -> None:
    row = json.loads(json.dumps(RowMaker().row("p", None, {})))
    result = fairmark.grade(EXACT_TEXT, **row)
    assert (result.status, result.error) == ("error", "there is no answer: the trainer handed over None.")


@pytest.mark.parametrize(
    ("answer", "graded"),
    [
        ("<answer>3</answer> no, <answer>4\n</answer>", "4\n"),
        ("4", ""),
        (ANSWER, "4"),
    ],
)
def test_a_pattern_cuts_the_answer(answer: Any, graded: str) -> None:
    (row,) = RowMaker(extract="<answer>(.*?)</answer>").rows(["a?"], [answer], {})
    assert row["sample"] == graded


def test_what_tools_gave_stands_before_the_answer() -> None:
    call = {"type": "function", "function": {"name": "add", "arguments": "{}"}}
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    called = {"role": "tool", "name": "add", "content": "4"}
    (row,) = RowMaker().rows([CHAT], [[calling, called, {"role": "assistant", "content": "It is 4."}]], {})
    assert row["item"]["messages"] == [*CHAT, calling, called]
    assert read_sample(row["sample"]).text == "It is 4."


def test_tool_calls_stay_when_the_answer_is_cut() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    (row,) = RowMaker(extract=str.upper).rows(
        [CHAT], [[{"role": "assistant", "content": "x", "tool_calls": [call]}]], {}
    )
    assert row["sample"] == {"output_text": "X", "output_tools": [call]}


def test_a_pattern_without_a_group_is_refused() -> None:
    with pytest.raises(InvalidData, match="It takes a pattern with a group"):
        RowMaker(extract="answer")


def test_no_answer_at_all_is_no_bad_answer() -> None:
    row = RowMaker().row("Capital?", None, {})
    assert fairmark.grade(EXACT_TEXT, **row).status == "error"
    row = RowMaker(extract="<a>(.*)</a>").row("Capital?", None, {})
    assert fairmark.grade(EXACT_TEXT, **row).status == "error"


def test_prompts_and_answers_must_be_as_many() -> None:
    with pytest.raises(InvalidData, match="prompts: found 1 for 2 completions"):
        RowMaker().rows(["a"], ["b", "c"], {})


@pytest.mark.parametrize(("name", "wrong"), [("item", "answer"), ("item", {"answer": 3}), ("extract", 3)])
def test_what_is_neither_a_function_nor_names_is_refused_before_the_first_row(name: str, wrong: Any) -> None:
    with pytest.raises(InvalidData, match=f"{name}: found .* It takes"):
        RowMaker(**{name: wrong})


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidData, match="is no regular expression"):
        RowMaker(extract="(")
