"""Why a row has its reward, on one line."""

from typing import Any

import pytest

import fairmark
from fairmark import FakeAnswer, FakeJudge
from fairmark.reason import MOST_CHARS, reason, reason_of_row

EXACT = {
    "type": "string_check",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
TONE = {"type": "score_model", "model": "m", "input": [{"role": "user", "content": "{{ sample.output_text }}"}]}


@pytest.mark.parametrize(
    ("grader", "sample", "item", "words"),
    [
        (EXACT, "Rome", {"answer": "Paris"}, 'input "Rome", reference "Paris"'),
        (EXACT, "a\nb" * 100, {"answer": ""}, "input "),
        ({**EXACT, "type": "json_match"}, "no", {"answer": {"a": 1}}, "the input is not JSON: "),
        ({**EXACT, "type": "json_match"}, '{"a": 2}', {"answer": {"a": 1, "b": 2}}, "a 0, b 0; input "),
        (EXACT, "Rome", {}, '{{ item.answer }}: this item has no field "answer"'),
        ({"type": "tool_calls", "reference": "[]"}, "Rome", {}, 'input "[]", reference "[]"'),
    ],
)
def test_the_reason_tells_what_was_compared_or_what_went_wrong(
    grader: dict[str, Any], sample: str, item: dict[str, Any], words: str
) -> None:
    told = reason_of_row(fairmark.grade(grader, sample, item), item, sample)
    assert words in told
    assert "\n" not in told
    assert len(told) <= MOST_CHARS


def test_what_a_judge_said_is_told_by_its_last_conclusion() -> None:
    said = '{"steps": [{"description": "d", "conclusion": "rude,\\nreally"}], "result": 0.1}'
    result = fairmark.grade(TONE, "Bah!", judge=FakeJudge(FakeAnswer(said)))
    assert reason(result) == "m said: rude, really"
    assert reason(fairmark.grade(TONE, "Bah!", judge=FakeJudge(0.3))) == "m said: 0.3"


def test_there_is_nothing_to_say_of_a_reward_alone() -> None:
    assert reason(fairmark.grade(EXACT, "Paris", {"answer": "Paris"})) == ""


def test_half_an_emoji_can_be_told() -> None:
    result = fairmark.grade(EXACT, "\ud83d", {"answer": "x"})
    reason_of_row(result, {"answer": "x"}, "\ud83d").encode()


def test_where_nothing_was_compared_the_sample_is_told() -> None:
    result = fairmark.grade(TONE, "Bah!", judge=FakeJudge(0.3))
    assert reason_of_row(result, {}, "Bah!") == 'm said: 0.3; sample "Bah!"'
