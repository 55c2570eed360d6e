"""evaluate: what graders give, under which names, and the published numbers of the Azure documentation."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fairmark
from fairmark import evaluation
from fairmark.judgement import Judgement, Usage
from fairmark.parse import parse
from fairmark.result import Grade, Result

Rows = list[dict[str, Any]]

STRING = {"type": "string_check", "input": "{{item.query}}", "operation": "like", "reference": "What is"}
FUZZY = {
    "type": "text_similarity",
    "evaluation_metric": "fuzzy_match",
    "input": "{{item.response}}",
    "reference": "{{item.ground_truth}}",
    "pass_threshold": 0.5,
}
OVERLAP = """
    def grade(sample, item) -> float:
     found = set(item.get("response", "").lower().split())
     wanted = set(item.get("ground_truth", "").lower().split())

     if not wanted:
      return 0.0

     return min(1.0, len(found & wanted) / len(wanted))
"""
AS_PRINTED = OVERLAP.replace("      return", "     return")


def equals(field: str, value: str) -> dict[str, str]:
    return {"type": "string_check", "input": f"{{{{ {field} }}}}", "operation": "eq", "reference": value}


def column(result: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in result["rows"]]


def test_the_published_string_check_passes_rows_one_and_four(northwind: Rows) -> None:
    result = fairmark.evaluate(data=northwind, evaluators={"string": STRING})
    assert column(result, "outputs.string.passed") == [True, False, False, True, False]
    assert column(result, "outputs.string.score") == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert column(result, "outputs.string.string_result") == ["pass", "fail", "fail", "pass", "fail"]
    assert result["metrics"] == {"string.pass_rate": 0.4}


def test_the_published_similarity_has_its_published_digits(northwind: Rows) -> None:
    result = fairmark.evaluate(data=northwind, evaluators={"similarity": FUZZY})
    assert column(result, "outputs.similarity.score") == [
        0.5342163355408389,
        0.48369565217391314,
        0.4444444444444444,
        0.3416557161629436,
        0.6117136659436009,
    ]
    assert result["metrics"] == {"similarity.pass_rate": 0.4}


def test_the_published_python_grader_repaired_passes_three_of_five(northwind: Rows) -> None:
    grader = {"type": "python", "source": OVERLAP, "pass_threshold": 0.3}
    result = fairmark.evaluate(data=northwind, evaluators={"custom": grader})
    assert [round(score, 4) for score in column(result, "outputs.custom.score")] == [
        0.4,
        0.2353,
        0.8235,
        0.7059,
        0.1935,
    ]
    assert result["metrics"] == {"custom.pass_rate": 0.6}


def test_the_published_python_grader_as_printed_gives_the_published_zeros(northwind: Rows) -> None:
    grader = evaluation.AzureOpenAIPythonGrader(
        model_config={}, name="custom_similarity", image_tag="2025-05-08", pass_threshold=0.3, source=AS_PRINTED
    )
    with pytest.warns(
        UserWarning, match=r"custom: 5 of 5 rows could not be graded\. Row 1: \$\.source: line 7: not Pyt"
    ):
        result = fairmark.evaluate(data=northwind, evaluators={"custom": grader})
    assert column(result, "outputs.custom.score") == [0.0] * 5
    assert column(result, "outputs.custom.passed") == [False] * 5
    assert result["metrics"] == {"custom.pass_rate": 0.0}


def test_the_published_label_rule_as_a_callable_passes_row_three_alone(northwind: Rows) -> None:
    def label(response: str) -> dict[str, str]:
        size = len(response)
        return {
            "label": "too short" if size < 500 else "too long" if size > 600 else "just right",
            "label_result": "pass" if 500 <= size <= 600 else "fail",
        }

    result = fairmark.evaluate(data=northwind, evaluators={"label": label})
    assert column(result, "outputs.label.label") == ["too short", "too short", "just right", "too long", "too short"]
    assert result["metrics"] == {"label.binary_aggregate": 0.2}


def test_graders_alone_leave_the_data_columns_bare(northwind: Rows) -> None:
    result = fairmark.evaluate(data=northwind[:1], evaluators={"string": STRING})
    assert result["rows"] == [
        {
            **northwind[0],
            "outputs.string.passed": True,
            "outputs.string.score": 1.0,
            "outputs.string.sample": None,
            "outputs.string.type": "string_check",
            "outputs.string.error": None,
            "outputs.string.string_result": "pass",
        }
    ]
    assert (result["studio_url"], result["oai_eval_run_ids"]) == (None, [])


def test_one_callable_is_enough_to_prefix_the_data_columns(northwind: Rows) -> None:
    result = fairmark.evaluate(data=northwind, evaluators={"string": STRING, "size": len_of_query})
    assert list(result["rows"][0])[:4] == [
        "inputs.query",
        "inputs.ground_truth",
        "inputs.response",
        "outputs.size.output",
    ]
    assert result["metrics"] == {"size.output": 80.6, "string.pass_rate": 0.4}
    assert "oai_eval_run_ids" not in fairmark.evaluate(data=northwind, evaluators={"size": len_of_query})


def len_of_query(query: str) -> int:
    return len(query)


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


SHAPES: list[Any] = [
    equals("item.a", "x"),
    json.dumps(equals("item.a", "x")),
    parse(equals("item.a", "x")),
    SimpleNamespace(_grader_config=equals("item.a", "x")),
    SimpleNamespace(_grader_config=parse(equals("item.a", "x"))),
    SimpleNamespace(model_dump=lambda **_: equals("item.a", "x")),
    evaluation.AzureOpenAIGrader(model_config=None, grader_config=equals("item.a", "x")),
    evaluation.AzureOpenAIStringCheckGrader(
        model_config={"api_key": "k"}, credential=None, name="n", input="{{item.a}}", operation="eq", reference="x"
    ),
]


@pytest.mark.parametrize("grader", SHAPES, ids=lambda grader: type(grader).__name__)
def test_a_grader_may_have_any_of_its_shapes(grader: Any) -> None:
    assert fairmark.evaluate(data=[{"a": "x"}, {"a": "y"}], evaluators={"g": grader})["metrics"] == {"g.pass_rate": 0.5}


def test_azures_classes_tell_what_is_wrong_where_they_are_made() -> None:
    with pytest.raises(fairmark.InvalidGrader, match='unknown operation "contains"'):
        evaluation.AzureOpenAIStringCheckGrader(name="n", input="a", operation="contains", reference="b")
    with pytest.raises(TypeError, match="AzureOpenAIPythonGrader: missing arguments: pass_threshold, source"):
        evaluation.AzureOpenAIPythonGrader(name="n", model_config={})
    with pytest.raises(ValueError, match=r"found 1\.5\. It must lie between 0 and 1"):
        evaluation.AzureOpenAIPythonGrader(name="n", pass_threshold=1.5, source="def grade(sample, item): return 1")


def test_a_row_that_holds_its_item_is_unwrapped_for_graders_and_kept_in_the_result() -> None:
    rows = [{"item": {"a": "x", "o": {"n": 1}}, "id": "7", "sample": "s"}]
    graders = {"a": equals("item.a", "x"), "b": equals("item.id", "7"), "c": equals("item.sample", "s")}
    result = fairmark.evaluate(data=rows, evaluators={**graders, "d": equals("sample.output_text", "s")})
    assert set(result["metrics"].values()) == {1.0}
    assert {**rows[0], "item.a": "x", "item.o.n": 1}.items() <= result["rows"][0].items()


def test_objects_are_flattened_beside_themselves_and_missing_cells_are_nan() -> None:
    rows: Rows = [{"o": {"a": {"b": 1}, "l": [1]}, "n": None}, {"o": {"c": 2}}]
    first, second = fairmark.evaluate(data=rows, evaluators={"g": equals("item.o", "x")})["rows"]
    assert (first["o"], first["o.a.b"], first["o.l"], first["n"]) == ({"a": {"b": 1}, "l": [1]}, 1, [1], None)
    assert (second["o"], second["o.c"]) == ({"c": 2}, 2)
    assert all(math.isnan(cell) for cell in (first["o.c"], second["o.a.b"], second["o.l"], second["n"]))


@pytest.mark.parametrize("name", ["conversation", "messages"])
def test_nothing_is_flattened_beside_a_conversation(name: str) -> None:
    row = fairmark.evaluate(data=[{name: {"a": 1}, "o": {"b": 2}}], evaluators={"g": equals("item.o.b", "2")})["rows"][
        0
    ]
    assert list(row)[:2] == [name, "o"]
    assert row["outputs.g.passed"] is True
    assert not {"o.b", f"{name}.a"} & set(row)


def test_a_file_may_be_jsonl_or_an_array_or_csv(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"a": "x"}\n\n{"a": "y"}\n')
    (tmp_path / "d.json").write_text('[\n  {"a": "x"},\n  {"a": "y"}\n]')
    (tmp_path / "D.CSV").write_text("a\nx\ny\n")
    for name in ("d.jsonl", "d.json", "D.CSV"):
        result = fairmark.evaluate(data=tmp_path / name, evaluators={"g": equals("item.a", "x")})
        assert (column(result, "a"), result["metrics"]) == (["x", "y"], {"g.pass_rate": 0.5})


def test_the_result_is_saved_in_a_file_or_in_a_directory(tmp_path: Path) -> None:
    rows: Rows = [{"a": "é\ud83d"}, {"b": 1}]
    for path in (tmp_path, tmp_path / "own.json"):
        with pytest.warns(UserWarning, match="could not be graded"):
            result = fairmark.evaluate(data=rows, evaluators={"g": equals("item.a", "x")}, output_path=str(path))
        text = (path / "evaluation_results.json" if path.is_dir() else path).read_text()
        assert "é" in text
        assert "\n" not in text
        saved = json.loads(text)
        assert math.isnan(saved["rows"][0].pop("b"))
        del result["rows"][0]["b"]
        assert (saved["rows"][0], saved["metrics"]) == (result["rows"][0], result["metrics"])


def test_a_result_that_cannot_be_saved_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "evaluation_results.json").mkdir()
    with pytest.raises(fairmark.EvaluationFailed, match=r"evaluation_results\.json: is a directory") as caught:
        fairmark.evaluate(data=[{"a": "x"}], evaluators={"g": equals("item.a", "x")}, output_path=tmp_path)
    assert caught.value.result is not None
    assert caught.value.result["metrics"] == {"g.pass_rate": 1.0}


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


def test_importing_fairmark_does_not_import_evaluate() -> None:
    assert "evaluate" in fairmark.__all__
    assert "evaluate" not in vars(fairmark)
    with pytest.raises(AttributeError, match="module 'fairmark' has no attribute 'evaluat'"):
        _ = fairmark.evaluat
