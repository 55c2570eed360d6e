"""multi: named graders, a formula, and every component reported."""

from typing import Any

import pytest

import fairmark
from fairmark.judges.base import Budget
from fairmark.judges.fake import FakeAnswer, FakeJudge

EMAIL = {
    "type": "string_check",
    "input": "{{sample.output_json.email}}",
    "reference": "{{item.email}}",
    "operation": "eq",
}
NAME = {
    "name": "name_grader",
    "type": "text_similarity",
    "input": "{{sample.output_json.name}}",
    "reference": "{{item.name}}",
    "evaluation": "fuzzy_match",
    "pass_threshold": 0.9,
}
GUIDE = {"type": "multi", "graders": {"name": NAME, "email": EMAIL}, "calculate_output": "(name + email) / 2"}
ITEM = {"name": "John Doe", "email": "john.doe@gmail.com"}
FORMULA = "It takes a string: a formula over the graders' keys, such as 0.5 * a + 0.5 * b."
SHAPE = 'It takes an object: {"key": grader, …}; the keys are the variables of calculate_output.'


def check(operation: str = "eq", **more: Any) -> dict[str, Any]:
    return {"type": "string_check", "input": "a", "reference": "a", "operation": operation, **more}


def multi(formula: str, **graders: Any) -> dict[str, Any]:
    return {"type": "multi", "graders": graders, "calculate_output": formula}


def test_the_guides_example_gives_half_a_point_for_the_email_and_the_rest_for_the_name() -> None:
    result = fairmark.grade(GUIDE, '{"name": "Jon Doe", "email": "john.doe@gmail.com"}', ITEM)
    assert result.sub_rewards == {"name": 0.9333333333333332, "email": 1.0}
    assert result.reward == pytest.approx(0.9666666666666666, abs=1e-15)
    assert result.model_dump()["metadata"]["scores"] == result.sub_rewards


def test_the_guides_tool_call_example_reads_name_and_arguments() -> None:
    grader = multi(
        "0.5 * function_name + 0.5 * arguments",
        function_name={**check(), "input": "get_acceptors", "reference": "{{sample.output_tools[0].function.name}}"},
        arguments={
            **check(),
            "input": '{"smiles": "{{item.smiles}}"}',
            "reference": "{{sample.output_tools[0].function.arguments}}",
        },
    )
    call = {"function": {"name": "get_acceptors", "arguments": '{"smiles": "CCO"}'}}
    completion = {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}
    assert fairmark.grade(grader, completion, {"smiles": "CCO"}).reward == 1.0
    assert fairmark.grade(grader, completion, {"smiles": "CC"}).reward == 0.5


def test_a_failed_component_counts_zero_is_reported_and_its_flag_is_merged() -> None:
    result = fairmark.grade(GUIDE, '{"name": "John Doe"}', ITEM)
    assert result.sub_rewards == {"name": 1.0, "email": 0.0}
    assert result.reward == 0.5
    assert result.status == "error"
    assert result.passed is False
    assert [key for key, value in result.errors.items() if value] == ["invalid_variable_error"]
    assert result.error == (
        'email: {{ sample.output_json.email }}: sample.output_json has no field "email". It has: name.'
    )


def test_flags_of_several_components_are_all_there() -> None:
    grader = multi("1 / (a + b)", a=NAME, b={**check(), "reference": "{{item.missing}}"})
    result = fairmark.grade(grader, "no json", ITEM)
    assert {key for key, value in result.errors.items() if value} == {
        "sample_parse_error",
        "invalid_variable_error",
        "formula_parse_error",
    }
    assert result.reward == 0.0
    assert result.sub_rewards == {"a": 0.0, "b": 0.0}


def test_a_formula_without_a_value_scores_zero_with_its_flag_and_keeps_the_components() -> None:
    result = fairmark.grade(multi("1 / (a - 1)", a=check()))
    assert (result.reward, result.status, result.sub_rewards) == (0.0, "error", {"a": 1.0})
    assert result.errors["formula_parse_error"] is True
    assert result.error == 'calculate_output "1 / (a - 1)": division by zero, with a = 1.'


@pytest.mark.parametrize(("formula", "reward"), [("a * 7 - 9", -2.0), ("a + a", 2.0)])
def test_the_reward_is_not_clamped(formula: str, reward: float) -> None:
    assert fairmark.grade(multi(formula, a=check())).reward == reward


def test_a_threshold_on_the_whole_decides_and_one_on_a_component_does_not() -> None:
    grader = multi("0.5 * a", a=check(pass_threshold=5))
    assert fairmark.grade(grader).passed is None
    assert fairmark.grade({**grader, "pass_threshold": 0.5}).passed is True
    assert fairmark.grade({**grader, "pass_threshold": 0.6}).passed is False


def test_a_list_of_graders_with_proper_names_becomes_a_dictionary() -> None:
    grader = {"type": "multi", "graders": [check(name="a"), check("ne", name="b")], "calculate_output": "a + 2 * b"}
    echo = fairmark.validate(grader).grader or {}
    assert list(echo["graders"]) == ["a", "b"]
    assert fairmark.grade(grader).reward == 1.0


@pytest.mark.parametrize(
    ("grader", "problems"),
    [
        (
            {"type": "multi", "graders": check(), "calculate_output": "a"},
            [f"$.graders: found a single grader. {SHAPE}"],
        ),
        ({"type": "multi", "graders": {}, "calculate_output": "1"}, [f"$.graders: found no grader. {SHAPE}"]),
        ({"type": "multi", "graders": "x", "calculate_output": "1"}, [f'$.graders: found a string ("x"). {SHAPE}']),
        ({"type": "multi", "graders": [], "calculate_output": "1"}, [f"$.graders: found a list of 0. {SHAPE}"]),
        (
            {"type": "multi", "graders": [check(name="a"), check(name="b c")], "calculate_output": "a"},
            [f'$.graders[1].name: found a string ("b c"). In a list each grader needs its own name. {SHAPE}'],
        ),
        (
            {"type": "multi", "graders": [check(name="a"), check(name="a")], "calculate_output": "a"},
            [f'$.graders[1].name: found a string ("a") again. In a list each grader needs its own name. {SHAPE}'],
        ),
        (
            multi("a + c", a=check("equals"), b={"type": "multi"}, d=5),
            [
                '$.graders.a.operation: unknown operation "equals". Use one of: eq, ne, like, ilike.',
                "$.graders.b.type: a multi grader cannot stand inside a multi grader.",
                "$.graders.d: a grader is an object with a type, found a number (5).",
                '$.calculate_output: unknown variable "c". The graders\' keys are: a, b, d.',
            ],
        ),
        (
            {"type": "multi", "graders": {"a b": check("x")}, "calculate_output": "1"},
            ['$.graders["a b"].operation: unknown operation "x". Use one of: eq, ne, like, ilike.'],
        ),
        (
            {"type": "multi", "calculate_output": "1"},
            ["$.graders: missing. It takes an object."],
        ),
        (
            {"type": "multi", "graders": {"a": check()}},
            [f"$.calculate_output: missing. {FORMULA}"],
        ),
        (
            {"type": "multi", "graders": {"a": check()}, "calculate_output": 5},
            [f"$.calculate_output: found a number (5). {FORMULA}"],
        ),
    ],
)
def test_wrong_multi_graders_are_refused_with_every_problem(grader: Any, problems: list[str]) -> None:
    assert [str(problem) for problem in fairmark.validate(grader).errors] == problems


def test_a_broken_formula_is_a_problem_of_its_field() -> None:
    (problem,) = fairmark.validate(multi("a +", a=check())).errors
    assert problem.path == "$.calculate_output"
    assert "found end of the formula" in problem.message


def test_a_grader_the_formula_does_not_use_is_a_warning() -> None:
    assert fairmark.validate(multi("a", a=check(), b=check(), **{"c-d": check()})).warnings == [
        "$.graders.b: calculate_output does not use this grader.",
        "$.graders.c-d: calculate_output does not use this grader.",
    ]


def test_unknown_keys_inside_components_are_echoed_too() -> None:
    echo = fairmark.validate({**multi("a", a=check(image_tag=None)), "invalid_grade": 0}).grader or {}
    assert echo["graders"]["a"]["image_tag"] is None
    assert echo["invalid_grade"] == 0


def judged(model: str) -> dict[str, Any]:
    return {
        "type": "score_model",
        "model": model,
        "input": [{"role": "user", "content": model + ": {{sample.output_text}}"}],
    }


def test_the_judgements_of_all_components_are_there_and_added_up() -> None:
    result = fairmark.grade(multi("(a + b + c) / 3", a=judged("one"), b=judged("two"), c=check()), judge=FakeJudge(0.5))
    assert result.sub_rewards == {"a": 0.5, "b": 0.5, "c": 1.0}
    dump = result.model_dump()
    assert [judgement["model"] for judgement in dump["judgements"]] == ["one", "two"]
    assert dump["metadata"]["token_usage"]["total_tokens"] == 240
    assert set(dump["model_grader_token_usage_per_model"]) == {"one", "two"}
    assert dump["cost"] == pytest.approx(0.00024)


def test_a_judge_that_fails_counts_zero_and_its_flag_is_merged() -> None:
    result = fairmark.grade(multi("a + b", a=judged("one"), b=check()), judge=FakeJudge(FakeAnswer(fault="refusal")))
    assert (result.reward, result.status, result.sub_rewards) == (1.0, "error", {"a": 0.0, "b": 1.0})
    assert [key for key, value in result.errors.items() if value] == ["model_grader_refusal_error"]
    assert (result.error or "").startswith("a: one: the judge refused")
    assert len(result.judgements) == 1


def test_where_a_component_was_left_out_so_is_the_whole() -> None:
    grader = multi("a + b", a=judged("one"), b=check())
    rows = [{"item": {}, "sample": "x"}]
    (result,) = fairmark.grade_many(grader, rows, judge=FakeJudge(1), budget=Budget(tokens=0))
    assert (result.status, result.reward, result.passed) == ("skipped", 0.0, None)
    assert result.skipped == "a: not asked: the budget of 0 tokens is spent."
    assert not any(result.errors.values())
    assert result.sub_rewards == {"a": 0.0, "b": 1.0}


def test_a_formula_that_has_no_value_without_the_part_left_out_is_no_error() -> None:
    grader = multi("b / a", a=judged("one"), b=check())
    (result,) = fairmark.grade_many(grader, [{"item": {}, "sample": "x"}], judge=FakeJudge(1), budget=Budget(tokens=0))
    assert result.status == "skipped"
    assert not any(result.errors.values())


def test_a_component_that_fails_makes_an_error_although_another_was_left_out() -> None:
    grader = multi("a + b", a=judged("one"), b={**check(), "reference": "{{item.missing}}"})
    (result,) = fairmark.grade_many(grader, [{"item": {}, "sample": "x"}], judge=FakeJudge(1), budget=Budget(tokens=0))
    assert result.status == "error"
    assert [key for key, value in result.errors.items() if value] == ["invalid_variable_error"]
