"""What graders add to an evaluation: their columns, their pass rate, and why a row has no grade."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import fairmark
from fairmark.judgement import Judgement, Usage
from fairmark.parse import parse
from fairmark.result import Grade, Result

Rows = list[dict[str, Any]]

FUZZY = {
    "type": "text_similarity",
    "evaluation_metric": "fuzzy_match",
    "input": "{{item.response}}",
    "reference": "{{item.ground_truth}}",
    "pass_threshold": 0.5,
}


def equals(field: str, value: str) -> dict[str, str]:
    return {"type": "string_check", "input": f"{{{{ {field} }}}}", "operation": "eq", "reference": value}


def column(result: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in result["rows"]]


@pytest.mark.parametrize(("label", "exists"), [("a" * 16, True), ("a" * 17, False)])
def test_a_result_column_exists_while_its_name_has_less_than_fifty_characters(label: str, exists: bool) -> None:
    name = f"outputs.{label}.{label}_result"
    row = fairmark.evaluate(data=[{"a": "x"}], evaluators={label: equals("item.a", "x")})["rows"][0]
    assert (name in row) is exists is (len(name) < 50)


def test_rows_without_a_grade_are_in_no_ratio_and_say_why() -> None:
    rows: Rows = [{"a": "x"}, {"b": "x"}, {"a": "y"}]
    message = 'a: 1 of 3 rows could not be graded. Row 2: {{ item.a }}: this item has no field "a". It has: b.'
    with pytest.warns(UserWarning, match="rows could not be graded") as warned:
        result = fairmark.evaluate(data=rows, evaluators={"a": equals("item.a", "x")})
    assert [str(each.message) for each in warned] == [message]
    assert warned[0].filename == __file__
    assert column(result, "outputs.a.passed") == [True, False, False]
    assert column(result, "outputs.a.error")[::2] == [None, None]
    assert message.endswith(column(result, "outputs.a.error")[1])
    assert result["metrics"] == {"a.pass_rate": 0.5}
    with pytest.raises(fairmark.EvaluationFailed, match=r"^a: Row 2: \{\{ item\.a \}\}: this item has no field"):
        fairmark.evaluate(data=rows, evaluators={"a": equals("item.a", "x")}, fail_on_evaluator_errors=True)


def test_where_no_row_was_graded_the_pass_rate_is_zero() -> None:
    with pytest.warns(UserWarning, match="2 of 2 rows could not be graded"):
        result = fairmark.evaluate(data=[{}, {}], evaluators={"a": equals("item.a", "x")})
    assert result["metrics"] == {"a.pass_rate": 0.0}


def test_a_grader_without_a_threshold_neither_passes_nor_fails() -> None:
    grader = {key: value for key, value in FUZZY.items() if key != "pass_threshold"}
    rows = [{"response": "ab", "ground_truth": "ab"}, {"response": "ab", "ground_truth": "cd"}]
    result = fairmark.evaluate(data=rows, evaluators={"s": grader})
    assert column(result, "outputs.s.passed") == column(result, "outputs.s.s_result") == [None, None]
    assert result["metrics"] == {"s.score": 0.5}


def test_what_judges_said_stands_in_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"steps": [{"description": "d", "conclusion": "c"}], "result": "just right"}
    judged = Judgement(
        "m", [{"role": "user", "content": "?"}], sampled_model="m-1", value=value, usage=Usage(1, 2, 3), attempts=1
    )
    spec = parse({key: value for key, value in FUZZY.items() if key != "pass_threshold"})

    def graded(grader: Any, rows: Any) -> Iterator[Result]:
        grades = [Grade(1.0, judgements=(judged,)), Grade(0.0, skipped="the budget is spent")]
        yield from (Result(spec, grade, 0.0) for grade, _ in zip(grades, rows, strict=True))

    monkeypatch.setattr("fairmark.evaluation.grading.grade_stream", graded)
    with pytest.warns(UserWarning, match=r"1 of 2 rows could not be graded\. Row 2: the budget is spent"):
        result = fairmark.evaluate(data=[{"a": 1}, {"a": 2}], evaluators={"g": spec})
    sample, none = column(result, "outputs.g.sample")
    assert json.loads(sample["output"][0]["content"]) == value
    assert (sample["output"][0]["role"], sample["model"], sample["usage"]["total_tokens"]) == ("assistant", "m-1", 3)
    assert none is None
    assert column(result, "outputs.g.passed") == [None, False]
    assert result["metrics"] == {"g.score": 1.0}
