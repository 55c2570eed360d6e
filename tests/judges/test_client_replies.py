"""What a judge answers: sloppy, unreadable, refused or cut off, it is read, sent back, or told."""

import json
from typing import Any

import pytest

from tests.judges.faults import (
    NO_JSON_SCHEMA,
    SCORE,
    Answer,
    Raw,
    Status,
)
from tests.judges.misbehaving import (
    CUT_OFF,
    LABEL_GRADER,
    REFUSAL,
    SERVER,
    UNREADABLE,
    Setup,
    assert_failed,
    flags,
    setup,
)

__all__ = ["setup"]


# The form of the answer.


def test_a_server_without_json_schema_is_asked_by_a_tool_and_remembered(setup: Setup) -> None:
    first = setup.grade(NO_JSON_SCHEMA, Answer(None, arguments=SCORE), sample="one")
    second = setup.grade(Answer(None, arguments=SCORE), sample="two")
    assert (first.reward, second.reward) == (0.75, 0.75)
    bodies = [request.body for request in setup.server.requests]
    assert [("response_format" in body, "tools" in body) for body in bodies] == [
        (True, False),
        (False, True),
        (False, True),
    ]


def test_a_server_that_takes_no_form_at_all_is_asked_in_plain_text(setup: Setup) -> None:
    refusals = [
        NO_JSON_SCHEMA,
        Status(400, "tools are not supported", param="tools"),
        Status(400, "response_format json_object is not supported"),
    ]
    result = setup.grade(*refusals, Answer("Mostly right.\n\nResult: 0.75"))
    assert (result.status, result.reward) == ("graded", 0.75)
    assert setup.asked == 4
    assert "response_format" not in setup.server.requests[-1].body
    assert "tools" not in setup.server.requests[-1].body


def test_a_server_that_refuses_every_form_fails_and_does_not_go_round_in_circles(setup: Setup) -> None:
    assert_failed(setup.grade(always=NO_JSON_SCHEMA), SERVER, "not supported")
    assert setup.asked <= 4


@pytest.mark.parametrize(
    ("content", "reward"),
    [
        ('Sure! Here you are:\n```json\n{"steps": [], "result": 0.75}\n```\nAnything else?', 0.75),
        ('{"steps": [], "result": "0.75"}', 0.75),
        ([{"type": "text", "text": SCORE}], 0.75),
        ({"steps": [], "result": 0.75}, 0.75),
        ('{"steps": [], "result": 7}', 1.0),
        ('{"steps": [], "result": -7}', 0.0),
    ],
)
def test_a_sloppy_answer_is_read(setup: Setup, content: Any, reward: float) -> None:
    result = setup.grade(Answer(content))
    assert (result.status, result.reward) == ("graded", reward)
    assert setup.asked == 1


@pytest.mark.parametrize("number", [7, -7])
def test_a_number_out_of_range_is_told(setup: Setup, number: int) -> None:
    [warning] = setup.grade(Answer(json.dumps({"steps": [], "result": number}))).warnings
    assert f"the judge's number {number} is outside the range 0 to 1" in warning


UNREAD: dict[str, Any] = {
    "nothing": "",
    "null": None,
    "blank": "  \n ",
    "prose": "I like this answer very much.",
    "NaN": '{"steps": [], "result": NaN}',
    "infinity": '{"steps": [], "result": Infinity}',
    "NaN in words": '{"steps": [], "result": "NaN"}',
    "too large a number": '{"steps": [], "result": 1e999}',
    "no number": '{"steps": [], "result": "excellent"}',
    "true": '{"steps": [], "result": true}',
    "no result": '{"steps": []}',
    "half a JSON": '{"steps": [], "result": 0.',
    "a list": "[0.75]",
}


@pytest.mark.parametrize("content", UNREAD.values(), ids=list(UNREAD))
def test_an_answer_that_cannot_be_read_is_sent_back_once_and_then_told(setup: Setup, content: Any) -> None:
    result = setup.grade(always=Answer(content))
    assert_failed(result, UNREADABLE, "judge: ")
    assert flags(result) == {UNREADABLE}
    assert setup.asked == 2
    assert len(setup.server.requests[1].body["messages"]) >= len(setup.server.requests[0].body["messages"])
    assert setup.server.requests[1].body["messages"] != setup.server.requests[0].body["messages"]


@pytest.mark.parametrize("content", UNREAD.values(), ids=list(UNREAD))
def test_an_answer_that_was_sent_back_may_be_mended(setup: Setup, content: Any) -> None:
    result = setup.grade(Answer(content), Answer())
    assert (result.status, result.reward) == ("graded", 0.75)
    assert result.model_dump()["metadata"]["token_usage"]["total_tokens"] == 240  # both answers were paid for


def test_a_label_that_is_none_of_them_is_told_with_those_there_are(setup: Setup) -> None:
    result = setup.grade(always=Answer('{"steps": [], "result": "superb"}'), grader=LABEL_GRADER)
    assert_failed(result, UNREADABLE, '"superb"', "good, bad")


@pytest.mark.parametrize("choices", [b"[]", b"null", b'"x"', b"[null]", b'[{"message": null}]', b'[{"message": "x"}]'])
def test_an_answer_without_a_message_is_not_a_grade(setup: Setup, choices: bytes) -> None:
    result = setup.grade(always=Raw(b'{"choices": %b, "usage": "none", "model": 7}' % choices))
    assert_failed(result, UNREADABLE, "empty")


def test_an_error_in_an_answer_of_status_200_is_told(setup: Setup) -> None:
    result = setup.grade(always=Raw(b'{"error": {"message": "the model is loading"}}'))
    assert_failed(result, SERVER, "the model is loading")


@pytest.mark.parametrize(
    ("answer", "flag", "told"),
    [
        (Answer(None, refusal="I will not grade that."), REFUSAL, "I will not grade that."),
        (Answer("", finish_reason="content_filter"), REFUSAL, "content filter"),
        (Answer('{"steps": [{"descr', finish_reason="length"), CUT_OFF, "token limit"),
        (Answer(SCORE, finish_reason="length"), CUT_OFF, "token limit"),
    ],
)
def test_a_judge_that_refuses_or_is_cut_off_is_believed(setup: Setup, answer: Answer, flag: str, told: str) -> None:
    result = setup.grade(always=answer)
    assert_failed(result, flag, told)
    assert flags(result) == {flag}
    assert setup.asked == 1


def test_a_tool_call_that_nobody_asked_for_is_read_all_the_same(setup: Setup) -> None:
    assert setup.grade(Answer(None, arguments=SCORE, finish_reason="tool_calls")).reward == 0.75


def test_a_zipped_answer_is_unzipped(setup: Setup) -> None:
    assert setup.grade(Answer(zipped=True)).reward == 0.75
