"""The newest openai package keeps evals."""

import re

import pytest

from tests.clients.conftest import Facts, Server, Started

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def facts(server: Server) -> Facts:
    return Started(server, "openai", "openai_evals").facts()


def test_every_criterion_is_of_its_own_class_and_has_an_id(facts: Facts) -> None:
    assert facts["criteria_classes"] == [
        "LabelModelGrader",
        "StringCheckGrader",
        "TestingCriterionEvalGraderTextSimilarity",
        "TestingCriterionEvalGraderPython",
        "TestingCriterionEvalGraderScoreModel",
    ]
    assert facts["thresholds"] == [None, None, 0.5, 0.5, 5.5]
    for name, criterion in zip(["a mood", "exact", "close", "code", "score"], facts["criteria"], strict=True):
        assert re.fullmatch(f"{name}-{UUID}", criterion["id"])
        assert criterion["name"] == name


def test_an_eval_is_created_with_the_schema_of_its_rows(facts: Facts) -> None:
    assert facts["class"] == "EvalCreateResponse"
    assert facts["source_class"] == "EvalCustomDataSourceConfig"
    assert facts["schema"]["type"] == "object"
    assert facts["schema"]["required"] == ["item", "sample"]
    assert facts["schema"]["properties"]["item"]["properties"]["answer"] == {"type": "string"}
    assert facts["schema"]["properties"]["sample"]["type"] == "object"
    assert (facts["eval"]["object"], facts["eval"]["name"], facts["eval"]["metadata"]) == (
        "eval",
        "everything",
        {"team": "blue"},
    )
    assert re.fullmatch("eval_[0-9a-f]{32}", facts["eval"]["id"])
    assert facts["request_id"].startswith("req_")
    assert facts["status"] == 201


def test_a_name_may_be_missing_and_criteria_may_share_theirs(facts: Facts) -> None:
    assert (facts["nameless"]["name"], facts["nameless"]["metadata"]) == ("", {})
    first, second = facts["nameless"]["testing_criteria"]
    assert first["name"] == second["name"]
    assert first["id"] != second["id"]


def test_configs_for_logs_come_back_typed(facts: Facts) -> None:
    plain = {
        "type": "object",
        "properties": {"item": {"type": "object"}, "sample": {"type": "object"}},
        "required": ["item", "sample"],
    }
    assert facts["logs"] == [
        "DataSourceConfigLogs",
        {"type": "logs", "metadata": {"usecase": "chat"}, "schema": plain},
    ]
    assert facts["stored"] == [
        "EvalStoredCompletionsDataSourceConfig",
        {"type": "stored_completions", "metadata": {"usecase": "chat"}, "schema": plain},
    ]


def test_an_update_changes_only_what_it_names(facts: Facts) -> None:
    assert facts["updated"] == ["renamed", {"team": "blue"}]
    assert facts["updated_metadata"] == ["renamed", {"team": "red"}]
    assert facts["retrieved"] == {**facts["eval"], "name": "renamed", "metadata": {"team": "red"}}


def test_lists_page_by_themselves_oldest_first(facts: Facts) -> None:
    everyone = facts["all"]
    assert facts["pages"] == [everyone[:3], everyone[3:6], everyone[6:]]
    assert facts["newest_first"] == everyone[::-1]
    assert facts["last_updated_first"] == everyone[0]


def test_a_deleted_eval_is_gone(facts: Facts) -> None:
    assert facts["deleted"] == {"object": "eval.deleted", "deleted": True, "eval_id": facts["all"][0]}
    gone = [facts[name]["class"] for name in ("after_delete", "delete_again", "update_deleted")]
    assert gone == ["NotFoundError"] * 3
