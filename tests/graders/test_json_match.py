"""json_match."""

import asyncio
import json
from typing import Any

import pytest

import fairmark
from fairmark import run
from fairmark.parse import parse
from fairmark.row import make_row


def grader(**more: Any) -> dict[str, Any]:
    return {"type": "json_match", "input": "{{ sample.output_text }}", "reference": "{{ item.expected }}", **more}


def graded(answer: Any, expected: Any, **more: Any) -> fairmark.Result:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return fairmark.grade(grader(**more), text, {"expected": expected})


def test_the_reward_is_the_share_that_is_right_and_each_field_is_told() -> None:
    result = graded({"a": 1, "b": 2, "mine": 3}, {"a": 1, "b": 3})
    assert result.reward == pytest.approx(1 / 3)
    assert result.sub_rewards == {"a": 1.0, "b": 0.0}
    assert result.passed is False
    assert graded({"a": 1}, {"a": 1}).passed is True
    assert graded({"a": 1, "b": 2}, {"a": 1, "b": 3}, pass_threshold=0.5).passed is True


def test_rules_reach_the_comparison() -> None:
    assert graded({"p": 1.05}, {"p": 1}, tolerance=0.1).reward == 1.0
    assert graded({"p": 105}, {"p": 100}, relative_tolerance=0.05).reward == 1.0
    assert graded(["b", "A"], ["a", "b"], any_order=True, ignore_case=True).reward == 1.0
    assert graded({"a": 1, "b": 2}, {"a": 1}, extra_fields="ignore").reward == 1.0
    assert graded({"a": 1, "b": 2}, {"a": 1, "b": 0}, fields={"b": {"weight": 3}}).reward == 0.25


def test_the_expected_value_may_be_a_json_text_too() -> None:
    assert graded({"a": 1}, '{"a": 1}').reward == 1.0


def test_an_answer_in_a_fence_is_found_unless_that_is_forbidden() -> None:
    fenced = 'Here:\n```json\n{"a": 1}\n```'
    assert graded(fenced, {"a": 1}).reward == 1.0
    assert graded(fenced, {"a": 1}, extract=False).reward == 0.0


def test_an_answer_that_is_no_json_is_a_wrong_answer_and_says_so() -> None:
    result = graded("It is a.", {"a": 1, "b": 2})
    assert (result.status, result.reward, result.sub_rewards) == ("graded", 0.0, {"a": 0.0, "b": 0.0})
    assert result.warnings == ("the input is not JSON: expecting value at column 1",)


def test_a_schema_has_to_fit_before_anything_counts() -> None:
    schema = {"type": "object", "required": ["b"]}
    result = graded({"a": 1}, {"a": 1}, json_schema=schema)
    assert (result.reward, result.warnings) == (0.0, ('the input does not fit json_schema: $: "b" is missing',))
    alone = {"type": "json_match", "input": "{{ sample.output_text }}", "schema": schema}
    assert [fairmark.grade(alone, text).reward for text in ('{"b": 1}', '{"a": 1}')] == [1.0, 0.0]


def test_a_field_that_is_ignored_has_no_score() -> None:
    result = fairmark.grade(grader(fields={"a": {"ignore": True}}), '{"a": 2}', {"expected": {"a": 1}})
    assert (result.reward, result.sub_rewards) == (1.0, {})


@pytest.mark.parametrize("item", [{"expected": "Paris"}, {"other": {}}])
def test_a_reference_that_is_missing_or_no_json_is_an_error(item: dict[str, Any]) -> None:
    result = fairmark.grade(grader(), '{"a": 1}', item)
    assert (result.status, result.reward) == ("error", 0.0)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"reference": None}, "$.reference"),
        ({"reference": "{city: Paris}"}, "$.reference"),
        ({"fields": {"a": {"wight": 1}}}, '$.fields["a"].wight'),
        ({"schema": {"pattern": "a"}}, "$.schema.pattern"),
        ({"tolerance": -1}, "$.tolerance"),
        ({"any_order": "yes"}, "$.any_order"),
        ({"extra_fields": "forbid"}, "$.extra_fields"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in fairmark.validate(grader(**fields)).errors] == [path]


def test_long_lists_in_any_order_are_compared_elsewhere_beside_others() -> None:
    numbers = list(range(190))
    rows = [make_row({"expected": numbers}, json.dumps(numbers[::-1])) for _ in range(2)]
    results = asyncio.run(run.grade_rows(parse(grader(any_order=True)), rows, run.shared_context()))
    assert [result.reward for result in results] == [1.0, 1.0]
