"""The newest openai package runs evals: every source, the items page by page, cancel and delete."""

import re
from typing import Any

import pytest

from tests.clients.conftest import Facts, Server, Started

CAPITALS_COUNTS = {"total": 4, "passed": 3, "failed": 1, "errored": 0}
# Four rows, each an answer of the rule-based model.
SAMPLED = {
    "model_name": "gpt-4o-mini",
    "invocation_count": 4,
    "prompt_tokens": 400,
    "completion_tokens": 80,
    "total_tokens": 480,
    "cached_tokens": 0,
}


@pytest.fixture(scope="module")
def facts(server: Server) -> Facts:
    return Started(server, "openai", "openai_runs").facts()


def counts(run: dict[str, Any]) -> dict[str, int]:
    """Without what we add to the wire's own."""
    return {name: run["counts"][name] for name in CAPITALS_COUNTS}


def test_a_new_run_is_there_at_once_with_everything_a_client_reads(facts: Facts) -> None:
    created = facts["created"]
    assert facts["created_class"] == "RunCreateResponse"
    assert re.fullmatch("evalrun_[0-9a-f]{32}", created["id"])
    assert (created["object"], created["name"], created["metadata"]) == ("eval.run", "inline", {"try": "1"})
    assert created["status"] in ("queued", "in_progress")
    assert created["data_source"]["source"]["content"][0] == {
        "item": {"question": "The capital of France?", "answer": "Paris"},
        "sample": {"output_text": "Paris"},
    }
    assert created["result_counts"]["total"] in (0, 4)
    assert (created["per_model_usage"], created["per_testing_criteria_results"]) == (None, None)
    assert (created["error"], created["model"]) == (None, None)
    assert created["report_url"] == facts["report_url"]
    assert created["report_url"].startswith("http://127.0.0.1:")
    assert facts["created_request_id"].startswith("req_")


def test_rows_with_samples_are_graded_inline_and_from_a_file(facts: Facts) -> None:
    for run in (facts["inline"], facts["from_file"]):
        assert run["status"] == "completed"
        assert counts(run) == {"total": 4, "passed": 1, "failed": 3, "errored": 0}
        assert run["usage"] == []
        [criterion] = run["criteria"]
        assert (criterion["testing_criteria"], criterion["passed"], criterion["failed"]) == (facts["criterion"], 1, 3)
        assert run["source_class"] == "CreateEvalJSONLRunDataSource"
        assert (run["model"], run["error"]) == (None, None)


@pytest.mark.parametrize("name", ["completions", "responses", "referenced", "referenced_responses"])
def test_samples_are_made_by_the_model_under_test(facts: Facts, name: str) -> None:
    run = facts[name]
    assert run["status"] == "completed"
    assert counts(run) == CAPITALS_COUNTS
    assert run["model"] == "gpt-4o-mini"
    assert run["usage"] == [SAMPLED]


def test_the_sources_come_back_typed(facts: Facts) -> None:
    assert facts["completions"]["source_class"] == "CreateEvalCompletionsRunDataSource"
    assert facts["responses"]["source_class"] == "DataSourceResponses"


def test_the_messages_of_a_source_come_back_in_the_form_of_criterias(facts: Facts) -> None:
    assert facts["template"] == [
        {
            "type": "message",
            "role": "developer",
            "content": {"type": "input_text", "text": "Name the city, nothing else."},
        },
        {"type": "message", "role": "user", "content": {"type": "input_text", "text": "{{item.question}}"}},
    ]


@pytest.mark.parametrize(
    "name", ["completions json_schema", "responses json_schema", "completions tools", "responses tools"]
)
def test_structured_answers_and_tool_calls_can_be_asked_for(facts: Facts, name: str) -> None:
    assert counts(facts["structured"][name]) == CAPITALS_COUNTS


def test_a_tool_call_stands_in_the_items_output(facts: Facts) -> None:
    [output] = facts["tool_item"]["output"]
    assert output["tool_calls"][0]["function"] == {"name": "tell", "arguments": '{"city": "Paris"}'}
    assert facts["tool_item"]["finish_reason"] == "tool_calls"


def test_an_output_item_has_the_bare_item_its_position_and_its_results(facts: Facts) -> None:
    first, second, *_ = facts["items"]
    assert re.fullmatch("outputitem_[0-9a-f]{32}", first["id"])
    assert first["object"] == "eval.run.output_item"
    assert (first["run_id"], first["eval_id"]) == (facts["created"]["id"], facts["created"]["eval_id"])
    assert first["datasource_item"] == {"question": "The capital of France?", "answer": "Paris"}
    assert [item["datasource_item_id"] for item in facts["items"]] == [0, 1, 2, 3]
    assert [item["status"] for item in facts["items"]] == ["pass", "fail", "fail", "fail"]
    [result] = first["results"]
    assert (result["name"], result["score"], result["passed"], result["sample"], result["type"]) == (
        facts["criterion"],
        1.0,
        True,
        None,
        "string-check-grader",
    )
    assert second["results"][0]["passed"] is False
    assert first["sample"] == {
        "input": [],
        "output": [
            {"role": "assistant", "content": "Paris", "tool_calls": None, "tool_call_id": None, "function_call": None}
        ],
        "finish_reason": "stop",
        "model": "",
        "usage": {"total_tokens": 0, "completion_tokens": 0, "prompt_tokens": 0, "cached_tokens": 0},
        "error": None,
        "temperature": 1.0,
        "max_completion_tokens": 0,
        "top_p": 1.0,
        "seed": 0,
    }


def test_a_sampled_item_shows_what_was_asked_and_answered(facts: Facts) -> None:
    assert facts["item_class"] == "OutputItemListResponse"
    assert facts["result_class"] == "Result"
    assert facts["attributes"] == ["Paris", 120, True, facts["criterion"], 1.0]
    sampled = facts["sampled"]
    assert [(message["role"], message["content"]) for message in sampled["input"]] == [
        ("developer", "Name the city, nothing else."),
        ("user", "The capital of France?"),
    ]
    assert sampled["model"] == "gpt-4o-mini"
    assert sampled["usage"] == {
        "total_tokens": 120,
        "completion_tokens": 20,
        "prompt_tokens": 100,
        "cached_tokens": 0,
    }
    wanted = ("temperature", "seed", "max_completion_tokens", "top_p")
    assert [sampled[name] for name in wanted] == [0.2, 7, 50, 0.9]


def test_items_page_by_themselves_and_miss_none(facts: Facts) -> None:
    assert counts(facts["many"]) == {"total": 250, "passed": 84, "failed": 166, "errored": 0}
    assert [len(page) for page in facts["pages"]] == [100, 100, 50]
    assert [position for page in facts["pages"] for position in page] == list(range(250))
    assert facts["positions"] == list(range(250))
    assert facts["unique_ids"] == 250
    assert facts["after"] == [10, 11]
    assert facts["downward"] == list(range(249, -1, -1))
    assert facts["one"]


def test_items_are_filtered_by_status_over_several_pages(facts: Facts) -> None:
    assert facts["passing"] == list(range(0, 250, 3))
    assert facts["failing"] == 166


def test_a_run_is_canceled_once_and_a_finished_one_stays_finished(facts: Facts) -> None:
    assert facts["canceled"] == ["canceled", "canceled", "canceled", True]
    assert facts["finished_cancel"] == "completed"
    assert facts["canceled_runs"] == [facts["slow"]]


def test_runs_are_listed_oldest_first(facts: Facts) -> None:
    oldest_first, newest_first = facts["runs"]
    assert oldest_first[0] == facts["created"]["id"]
    assert oldest_first == newest_first[::-1]
    assert len(oldest_first) == 8
    assert oldest_first[-1] == facts["slow"]


def test_a_loop_that_deletes_the_runs_it_lists_visits_all(facts: Facts) -> None:
    assert facts["deleted_while_listed"] == [run for run in facts["runs"][0] if run != facts["slow"]]
    assert facts["left"] == 0


def test_what_is_deleted_or_belongs_elsewhere_is_not_found(facts: Facts) -> None:
    assert facts["deleted"] == {"object": "eval.run.deleted", "deleted": True, "run_id": facts["slow"]}
    names = ("after_delete", "other_eval", "unknown_item", "item_of_other_run")
    assert [facts[name]["class"] for name in names] == ["NotFoundError"] * 4
