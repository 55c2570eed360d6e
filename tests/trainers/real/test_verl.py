"""veRL's reward managers, those of the reward loop and those before it, with our function loaded by their own means."""

from collections.abc import Callable
from typing import Any

import pytest

PARIS = {"score": 1.5, "acc": 1.5, "both_exact": 1.0, "both_code": 0.5, "both_failed": 0.0}
ROME = {"score": 0.4, "acc": 0.4, "both_exact": 0.0, "both_code": 0.4, "both_failed": 0.0}
FAILED = {"score": 0.0, "acc": 0.0, "both_exact": 0.0, "both_code": 0.0, "both_failed": 1.0}
RAISED = "GradingFailed: ValueError: on purpose"


@pytest.fixture(scope="module")
def facts(calls: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return calls("verl")


def entry(logs: dict[str, float]) -> dict[str, Any]:
    return {"score": logs["score"], "logs": logs}


@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo"])
def test_by_path_every_manager_awaits_it_and_a_failure_is_raised_alone(facts: dict[str, Any], manager: str) -> None:
    assert facts["by_path"][manager] == [entry(PARIS), entry(ROME), RAISED]


def test_a_function_in_a_file_of_ones_own_is_awaited_too(facts: dict[str, Any]) -> None:
    assert facts["own_file"] == [entry(PARIS), entry(ROME), RAISED]


def test_the_limited_manager_has_zero_and_all_keys_for_a_failure(facts: dict[str, Any]) -> None:
    assert facts["rate_limited"] == [entry(PARIS), entry(ROME), entry(FAILED)]


def test_a_grader_may_stand_in_the_configuration(facts: dict[str, Any]) -> None:
    assert facts["inline"] == [entry(PARIS), entry(ROME), entry(FAILED)]
    assert facts["older_key"] == entry(PARIS)
    assert facts["no_grader"] == [
        "InvalidData: grader: missing. Name it in reward.custom_reward_function.reward_kwargs."
    ]


def test_a_row_without_end_and_a_killed_process_fail_alone(facts: dict[str, Any]) -> None:
    assert facts["bad_luck"] == [entry(PARIS), entry(FAILED), entry(FAILED)]


def test_a_thousand_rows_have_one_line_of_failures_and_not_one_each(facts: dict[str, Any]) -> None:
    count, total, failed = facts["many"]
    assert (count, total, failed) == (1024, pytest.approx(512 * 1.5 + 256 * 0.4), 256.0)
    assert facts["log"].count("rows were not graded") < 20


@pytest.mark.parametrize("manager", ["naive", "dapo"])
def test_managers_before_the_reward_loop_call_it_without_awaiting(facts: dict[str, Any], manager: str) -> None:
    assert facts["older"][manager] == {"last_tokens": pytest.approx([1.5, 0.4, 0.0]), "failed": [0.0, 0.0, 1.0]}
