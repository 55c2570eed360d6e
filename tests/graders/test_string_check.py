"""string_check."""

import pytest

import fairmark


def reward(operation: str, text: str, reference: str) -> float:
    grader = {
        "type": "string_check",
        "input": "{{sample.output_text}}",
        "reference": "{{item.r}}",
        "operation": operation,
    }
    return fairmark.grade(grader, text, {"r": reference}).reward


@pytest.mark.parametrize(
    ("operation", "text", "reference", "expected"),
    [
        ("eq", "Paris", "Paris", 1.0),
        ("eq", "paris", "Paris", 0.0),
        ("eq", "Paris ", "Paris", 0.0),
        ("eq", "", "", 1.0),
        ("ne", "Paris", "Paris", 0.0),
        ("ne", "Paris!", "Paris", 1.0),
        ("neq", "a", "b", 1.0),
        ("like", "in Paris today", "Paris", 1.0),
        ("like", "in paris today", "Paris", 0.0),
        ("like", "abc", "a%", 0.0),
        ("like", "100%", "0%", 1.0),
        ("like", "abc", "a_c", 0.0),
        ("like", "anything", "", 1.0),
        ("ilike", "IN PARIS", "paris", 1.0),
        ("ilike", "GROSSE STRASSE", "straße", 1.0),
        ("ilike", "Rome", "paris", 0.0),
    ],
)
def test_the_reward_is_one_exactly_when_the_comparison_holds(
    operation: str, text: str, reference: str, expected: float
) -> None:
    assert reward(operation, text, reference) == expected


def test_a_check_passes_when_it_holds_whatever_threshold_is_given() -> None:
    grader = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq", "pass_threshold": 2}
    assert fairmark.grade(grader).passed is True
    assert fairmark.grade({**grader, "operation": "ne", "pass_threshold": -1}).passed is False


def test_the_published_azure_rows_pass_two_of_five(northwind: list[dict[str, str]]) -> None:
    grader = {"type": "string_check", "input": "{{item.query}}", "reference": "What is", "operation": "like"}
    results = fairmark.grade_many(grader, northwind)
    assert [result.passed for result in results] == [True, False, False, True, False]
