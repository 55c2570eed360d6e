"""verifiers' Task with our reward as a method, and plugged in by the configuration."""

from collections.abc import Callable
from typing import Any

import pytest

PARIS = {"both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}
FAILED = {"both/exact": 0.0, "both/code": 0.0, "both/failed": 1.0}


@pytest.fixture(scope="module")
def facts(calls: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return calls("verifiers")


def test_a_trace_has_the_weighted_reward_and_the_parts_as_metrics(facts: dict[str, Any]) -> None:
    paris, rome, _ = facts["method"]
    assert paris == {"reward": 3.0, "rewards": {"quality": [1.5, 2.0]}, "metrics": PARIS, "raised": None}
    assert rome["reward"] == pytest.approx(0.8)


def test_a_failure_leaves_the_trace_without_a_reward(facts: dict[str, Any]) -> None:
    failed = facts["method"][2]
    assert failed["rewards"] == {"quality": None}
    assert failed["raised"] == "TaskError: ValueError: on purpose"
    assert failed["metrics"] == FAILED


def test_it_can_be_plugged_in_by_configuration(facts: dict[str, Any]) -> None:
    paris, failed = facts["plugged"]
    assert paris["rewards"] == {"quality": [1.5, 3.0]}
    assert failed["raised"] == "TaskError: ValueError: on purpose"


def test_what_is_graded_is_what_verifiers_takes_for_the_answer(facts: dict[str, Any]) -> None:
    assert facts["answers"] == [[[], ""], ["Paris", "Paris"]]


def test_a_row_without_end_and_a_killed_process_fail_alone(facts: dict[str, Any]) -> None:
    paris, endless, killed = facts["bad_luck"]
    assert paris["rewards"] == {"quality": [1.5, 2.0]}
    assert "deadline" in endless["raised"]
    assert "ended by itself" in killed["raised"]
    assert endless["metrics"] == killed["metrics"] == FAILED


def test_rows_that_are_scored_together_get_what_one_gets(facts: dict[str, Any]) -> None:
    assert facts["many"] == 1
