"""Azure's packages: evaluate() with the graders of its documentation, and the OpenAI client of a Foundry project."""

import json
from typing import Any

import pytest

from tests.clients.conftest import Client, Facts


def column(facts: Facts, name: str) -> list[Any]:
    return [row[name] for row in facts["rows"]]


def test_evaluate_gives_the_published_numbers_row_by_row(client: Client, northwind: list[dict[str, Any]]) -> None:
    # One test: it sleeps 4.5 s for every grader, and these three do that at the same time.
    facts = client("azure", "azure_evaluate")
    _check_azure(facts["azure"], northwind)
    _check_openai(facts["openai"], northwind)
    _check_no_deployment(facts["no_deployment"])


def _check_azure(facts: Facts, northwind: list[dict[str, Any]]) -> None:
    assert facts["metrics"] == {"string.pass_rate": 0.4, "similarity.pass_rate": 0.4, "label.pass_rate": 0.2}
    assert len(facts["runs"]) == 3
    assert column(facts, "query") == [row["query"] for row in northwind]
    assert column(facts, "outputs.string.passed") == [True, False, False, True, False]
    assert column(facts, "outputs.string.string_result") == ["pass", "fail", "fail", "pass", "fail"]
    assert column(facts, "outputs.string.sample") == [None] * 5
    assert column(facts, "outputs.similarity.score") == [
        0.5342163355408389,
        0.48369565217391314,
        0.4444444444444444,
        0.3416557161629436,
        0.6117136659436009,
    ]
    assert column(facts, "outputs.similarity.passed") == [True, False, False, False, True]
    assert column(facts, "outputs.label.passed") == [False, False, True, False, False]
    said = [json.loads(sample["output"][0]["content"]) for sample in column(facts, "outputs.label.sample")]
    assert [each["result"] for each in said] == ["too short", "too short", "just right", "too long", "too short"]
    assert not any("row_missing" in name for name in facts["rows"][0])


def _check_openai(facts: Facts, northwind: list[dict[str, Any]]) -> None:
    """With a local function among the graders."""
    rates = {"string.pass_rate": 0.4, "score.pass_rate": 0.0, "length.characters": 382.4}
    assert facts["metrics"] == rates
    assert column(facts, "inputs.query") == [row["query"] for row in northwind]
    assert column(facts, "outputs.length.characters") == [310, 222, 575, 620, 185]
    assert column(facts, "outputs.string.passed") == [True, False, False, True, False]
    assert column(facts, "outputs.score.score") == [4.0] * 5


def _check_no_deployment(facts: Facts) -> None:
    """More rows than a page has. Code that fails is a grade of 0, and so are rows that cannot be graded."""
    assert facts["metrics"] == {"custom.pass_rate": 0.6, "as_printed.pass_rate": 0.0, "raw.pass_rate": 0.0}
    assert [round(score, 4) for score in column(facts, "outputs.custom.score")] == [
        0.4,
        0.2353,
        0.8235,
        0.7059,
        0.1935,
    ] * 25
    assert column(facts, "outputs.custom.passed") == [True, False, True, True, False] * 25
    for label in ("as_printed", "raw"):
        assert column(facts, f"outputs.{label}.score") == [0.0] * 125
        assert column(facts, f"outputs.{label}.passed") == [False] * 125


def test_a_foundry_projects_openai_client_runs_the_documented_example(client: Client) -> None:
    facts = client("azure", "azure_project")
    assert facts["addresses"]["by_token"].rstrip("/").endswith("/api/projects/p/openai/v1")
    for road in facts["roads"].values():
        assert road["status"] == "completed"
        assert road["counts"]["passed"] == 1
        assert road["metadata"] == {"team": "eval-exp", "scenario": "notifications-v1"}
        assert road["report_url"][0] == road["report_url"][1]
        assert road["report_url"][0].startswith("http://127.0.0.1:")
        assert road["results"] == [
            ["label_grader", 1.0, True],
            ["text_check_grader", pytest.approx(1.0), True],
            ["string_check_grader", 1.0, True],
            ["score", 1.0, True],
        ]
        assert [each["testing_criteria"] for each in road["criteria"]] == road["names"]
