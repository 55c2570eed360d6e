"""evaluate: what graders give, under which names, and the published numbers of the Azure documentation."""

import subprocess
import sys
from typing import Any

import pytest

import fairmark
from fairmark import evaluation

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


def test_importing_fairmark_does_not_import_evaluate() -> None:
    assert "evaluate" in fairmark.__all__
    # A fresh process: in this one, somebody may have asked for it.
    look = "import fairmark, sys; print('evaluate' in vars(fairmark), 'fairmark.evaluation' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", look], text=True).split() == ["False", "False"]
    with pytest.raises(AttributeError, match="module 'fairmark' has no attribute 'evaluat'"):
        _ = fairmark.evaluat
