"""The result and its wire form."""

import json

import fairmark

CHECK = {"type": "string_check", "name": "exact", "input": "{{item.a}}", "reference": "b", "operation": "eq"}


def test_the_wire_form_has_exactly_the_documented_keys() -> None:
    result = fairmark.grade(CHECK, item={"a": "b"})
    dump = result.model_dump()
    assert dump == {
        "reward": 1.0,
        "metadata": {
            "name": "exact",
            "type": "string_check",
            "errors": {
                "formula_parse_error": False,
                "sample_parse_error": False,
                "truncated_observation_error": False,
                "unresponsive_reward_error": False,
                "invalid_variable_error": False,
                "other_error": False,
                "python_grader_server_error": False,
                "python_grader_server_error_type": None,
                "python_grader_runtime_error": False,
                "python_grader_runtime_error_details": None,
                "model_grader_server_error": False,
                "model_grader_refusal_error": False,
                "model_grader_parse_error": False,
                "model_grader_server_error_details": None,
            },
            "execution_time": result.execution_time,
            "scores": {},
            "token_usage": None,
            "sampled_model_name": None,
        },
        "sub_rewards": {},
        "model_grader_token_usage_per_model": {},
        "status": "graded",
        "passed": True,
        "error": None,
        "warnings": [],
        "printed": None,
    }
    assert json.loads(result.model_dump_json()) == dump


def test_a_failure_has_reward_zero_its_flag_and_another_status() -> None:
    dump = fairmark.grade(CHECK, item={}).model_dump()
    assert (dump["reward"], dump["status"], dump["passed"]) == (0.0, "error", False)
    assert [key for key, value in dump["metadata"]["errors"].items() if value] == ["invalid_variable_error"]
    assert dump["error"] == '{{ item.a }}: this item has no field "a". It has none.'


def test_a_result_shows_itself_briefly() -> None:
    assert repr(fairmark.grade(CHECK, item={"a": "b"})) == "Result(reward=1.0, status='graded', passed=True)"
    assert "error='{{ item.a }}" in repr(fairmark.grade(CHECK, item={}))


def test_a_message_that_holds_half_an_emoji_can_still_be_written() -> None:
    result = fairmark.grade(CHECK, item={"\ud83d": 1})
    assert json.loads(result.model_dump_json())["status"] == "error"
