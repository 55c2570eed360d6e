"""tool_calls."""

import json
from typing import Any

import pytest

import fairmark

PARIS = {"name": "weather", "arguments": {"city": "Paris", "unit": "C"}}
ROME = {"name": "weather", "arguments": {"city": "Rome", "unit": "C"}}
TIME = {"name": "time", "arguments": {}}


def called(call: dict[str, Any]) -> dict[str, Any]:
    """As a chat completion has it."""
    function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return {"id": "call_1", "type": "function", "function": function}


def graded(calls: list[Any], reference: Any, **more: Any) -> fairmark.Result:
    grader = {"type": "tool_calls", "reference": "{{ item.calls }}", **more}
    sample = {"output_text": "", "output_tools": calls}
    return fairmark.grade(grader, sample, {"calls": reference})


@pytest.mark.parametrize(
    ("calls", "expected", "more", "reward"),
    [
        ([PARIS], [PARIS], {}, 1.0),
        ([PARIS, ROME], [ROME, PARIS], {}, 1.0),
        ([PARIS, ROME], [ROME, PARIS], {"order": "same"}, 0.75),
        ([TIME, PARIS, ROME], [PARIS, ROME], {"order": "same", "extra_calls": "ignore"}, 1.0),
        ([ROME], [PARIS], {}, 0.75),  # half for the name, half of the rest for one argument of two
        ([ROME], [PARIS], {"name_weight": 0}, 0.5),
        ([ROME], [PARIS], {"name_weight": 1}, 1.0),
        ([ROME], [PARIS], {"arguments": "ignore"}, 1.0),
        ([ROME], [PARIS], {"partial": False}, 0.0),
        ([TIME], [PARIS], {}, 0.0),
        ([PARIS, TIME], [PARIS], {}, 0.5),
        ([PARIS, TIME], [PARIS], {"extra_calls": "ignore"}, 1.0),
        ([PARIS], [PARIS, TIME], {"extra_calls": "ignore"}, 0.5),
        ([], [], {}, 1.0),
        ([TIME], [], {}, 0.0),
        ([], [TIME], {}, 0.0),
        ([PARIS], [{"name": "weather"}], {}, 1.0),  # without arguments only the name counts
        ([PARIS], PARIS, {}, 1.0),  # a single call needs no list
        ([{"name": "weather", "arguments": {"city": "PARIS", "unit": "c"}}], [PARIS], {"ignore_case": True}, 1.0),
        ([ROME], [PARIS], {"fields": {"city": {"ignore": True}}}, 1.0),
    ],
)
def test_the_reward_is_the_share_of_calls_that_are_right(
    calls: list[Any], expected: Any, more: dict[str, Any], reward: float
) -> None:
    result = graded([called(call) for call in calls], expected, **more)
    assert result.error is None
    assert result.reward == pytest.approx(reward)


@pytest.mark.parametrize(
    "call",
    [
        called(PARIS),
        PARIS,
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": json.dumps(PARIS["arguments"])},
        {"type": "tool_use", "name": "weather", "input": PARIS["arguments"]},
        {"name": "weather", "parameters": PARIS["arguments"]},
    ],
)
def test_calls_are_read_as_every_api_writes_them(call: dict[str, Any]) -> None:
    assert graded([call], [PARIS]).reward == 1.0
    assert graded([called(PARIS)], [call]).reward == 1.0
    assert graded([called(ROME)], [call]).reward == 0.75


def test_a_chat_completion_is_looked_into() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [called(PARIS)]}
    grader = {"type": "tool_calls", "reference": "{{ item.calls }}"}
    assert fairmark.grade(grader, {"choices": [{"message": message}]}, {"calls": [PARIS]}).reward == 1.0
    assert fairmark.grade(grader, "Just a text.", {"calls": [PARIS]}).reward == 0.0


@pytest.mark.parametrize("calls", [[TIME], ["weather"]])
def test_a_reward_of_zero_has_no_sign(calls: list[Any]) -> None:
    assert str(graded(calls, [PARIS]).reward) == "0.0"


def test_arguments_that_are_no_json_earn_the_name_alone_and_are_told() -> None:
    result = graded([{"function": {"name": "weather", "arguments": "{city: Paris}"}}], [PARIS])
    assert result.reward == 0.5
    assert result.warnings == ('the arguments of tool call 1 are not a JSON object: a string ("{city: Paris}")',)
    assert graded(["what"], [PARIS]).warnings == ('tool call 1 is none: a string ("what")',)


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("nothing", "reference: expected a list of calls"),
        (5, "reference: expected a list of calls"),
        ([{"tool": "weather"}], "reference[0]: expected a call with a name"),
        ([{"name": "weather", "arguments": [1]}], "reference[0].arguments: expected an object"),
        ([{"name": "weather", "argumnets": {"city": "Rome"}}], 'reference[0]: expected arguments under "arguments"'),
        ([TIME] * 201, "found 201 calls"),
    ],
)
def test_a_reference_that_is_none_is_an_error(reference: Any, told: str) -> None:
    result = graded([], reference)
    assert result.status == "error"
    assert str(result.error).startswith(told)


def test_no_sample_at_all_is_an_error_and_no_missing_call() -> None:
    result = fairmark.grade({"type": "tool_calls", "reference": "[]"}, None)
    assert (result.status, result.errors["invalid_variable_error"]) == ("error", True)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"reference": None}, "$.reference"),
        ({"reference": "weather"}, "$.reference"),
        ({"name_weight": 2}, "$.name_weight"),
        ({"order": "strict"}, "$.order"),
        ({"partial": 1}, "$.partial"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], path: str) -> None:
    grader = {"type": "tool_calls", "reference": "[]", **fields}
    assert [problem.path for problem in fairmark.validate(grader).errors] == [path]
