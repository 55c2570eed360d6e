"""Output items that were made elsewhere, in our own words."""

import json
from typing import Any

import pytest

from fairmark.evals import foreign

CRITERIA = [{"id": "a-1", "name": "a"}, {"id": "b-1", "name": "b"}, {"id": "c-1", "name": "b"}]


@pytest.mark.parametrize(
    ("result", "status", "outcome"),
    [
        ({"passed": True, "score": 1}, "pass", "pass"),
        ({"passed": False, "score": 0}, "fail", "fail"),
        ({"passed": False, "score": 0}, "error", "fail"),  # another criterion could not grade
        ({"passed": False, "score": None}, "error", "error"),
        ({"passed": False, "score": 0, "sample": {"error": {"message": "away"}}}, "error", "error"),
        ({"passed": False, "score": 0, "sample": {"error": {"message": "away"}}}, "fail", "fail"),
        ({"passed": None, "score": 0.7}, "pass", "skip"),  # a score without a verdict
        ({}, None, "skip"),
        ({"status": "error", "passed": True}, "pass", "error"),
        ({"status": "skipped", "passed": False}, "fail", "skip"),
    ],
)
def test_what_a_result_means(result: dict[str, Any], status: Any, outcome: str) -> None:
    assert foreign.result_outcome(result, status) == outcome


@pytest.mark.parametrize(
    ("status", "outcomes", "whole"),
    [
        ("pass", ["pass"], "pass"),
        ("passed", [], "pass"),
        ("pass", ["pass", "fail"], "fail"),
        ("fail", ["pass"], "fail"),
        ("fail", ["error"], "error"),
        ("error", [], "error"),
        (None, [], "skip"),
        ("odd", ["pass"], "pass"),
        (5, ["fail"], "fail"),
    ],
)
def test_a_status_stands_as_far_as_the_results_allow_it(status: Any, outcomes: list[Any], whole: str) -> None:
    assert foreign.whole_status({"status": status}, outcomes) == whole


def test_results_are_known_by_id_or_else_by_name_and_the_rest_is_told() -> None:
    results: list[dict[str, Any]] = [
        {"name": "b"},
        {"name": "a-1", "score": 1},
        {"name": "a-1", "score": 2},
        {"name": "x"},
        {},
    ]
    found, others = foreign.by_criterion(results, CRITERIA)
    assert found == [{"name": "a-1", "score": 1}, {"name": "b"}, None]
    assert others == ["x", "None"]


@pytest.mark.parametrize("score", [None, "1", True, float("inf"), 10**400])
def test_what_is_no_number_is_no_score(score: Any) -> None:
    assert foreign.result_score({"score": score}) == 0.0


def test_an_item_with_next_to_nothing_has_every_key() -> None:
    item = foreign.readable(b'{"results": [{"name": "a-1", "passed": true}]}', CRITERIA)
    assert item["datasource_item"] == {}
    assert item["sample"]["output"] == []
    (result,) = item["results"]
    assert (result["score"], result["passed"], result["status"], result["error"]) == (0.0, True, "graded", None)
    assert (result["warnings"], result["sub_rewards"], result["printed"], result["sample"]) == ([], {}, None, None)


def test_contents_of_several_parts_are_one_text() -> None:
    output = [{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
    item = foreign.readable(json.dumps({"sample": {"output": output, "error": "away"}}).encode(), ())
    assert item["sample"]["output"][0]["content"] == "ab"
    assert item["sample"]["error"] == {"message": "away"}
