"""The newest openai package does what published notebooks do with the hosted service."""

import pytest

from tests.clients.conftest import Facts, Server, Started


@pytest.fixture(scope="module")
def facts(server: Server) -> Facts:
    return Started(server, "openai", "openai_notebooks").facts()


def test_a_whole_chat_completion_is_a_sample(facts: Facts) -> None:
    assert facts["dumped"]["passed"] == [[True, True, True, True]]
    sample = facts["dumped_sample"]
    assert sample["output"][0]["content"] == '{"city": "Paris"}'
    assert (sample["model"], sample["usage"]["total_tokens"]) == ("gpt-4o-mini", 12)


def test_tool_calls_are_read_out_of_choices_and_into_their_arguments(facts: Facts) -> None:
    assert facts["called"]["passed"] == [[True, True]]
    assert facts["called_output"]["tool_calls"][0]["function"]["name"] == "extract"


def test_a_model_that_speaks_is_graded_by_its_transcript_and_heard_by_the_judge(facts: Facts) -> None:
    for name in ("spoken", "heard"):
        assert facts[name]["statuses"] == ["pass"], name
        assert facts[name]["scores"] == [[1.0, 0.25]], name
        assert facts[f"{name}_output"] == "Paris", name
    assert facts["spoken_sampling"] == [1024, 42]


def test_a_picture_reaches_the_judge_and_is_kept_as_its_address(facts: Facts) -> None:
    assert facts["captioned"]["scores"] == [[0.25]]
    assert facts["captioned_input"] == "Caption: A dog<image>https://example.com/dog.png</image>"


def test_a_row_without_a_sample_is_graded_as_an_empty_text_and_warned_about(facts: Facts) -> None:
    assert (facts["bare"]["passed"], facts["bare"]["statuses"]) == ([[True]], ["pass"])
    assert any("sample" in warning for warning in facts["bare_warnings"])
    assert facts["bare_sample"]["output"] == []


def test_any_other_missing_part_of_a_sample_is_an_error_of_the_row(facts: Facts) -> None:
    assert facts["missing"]["statuses"] == ["error"]
    assert facts["missing"]["passed"] == [[False]]
    assert facts["missing"]["counts"]["errored"] == 1


def test_a_judge_with_one_system_message_scores_on_the_ranges_own_scale(facts: Facts) -> None:
    assert facts["judged"]["scores"] == [[7.0], [4.0]]
    assert facts["judged"]["passed"] == [[True], [False]]


def test_the_judges_answer_is_read_back_as_json(facts: Facts) -> None:
    assert [said["result"] for said in facts["judge_said"]] == [7.0, 4.0]
    assert facts["judge_said"][0]["steps"] == [{"description": "Compare.", "conclusion": "Seen by rule."}]
    sample = facts["judge_sample"]
    assert sample["output"][0]["role"] == "assistant"
    assert sample["input"][0]["role"] == "system"
    assert sample["input"][0]["content"].endswith("Model answer: Paris")
    assert sample["model"] == "gpt-4.1"
    assert sample["usage"]["total_tokens"] == 120
    names = ("finish_reason", "temperature", "top_p", "max_completions_tokens", "seed", "error")
    assert [sample[name] for name in names] == ["stop", 1.0, 1.0, 4096, None, None]
    [usage] = facts["judge_usage"]
    assert (usage["model_name"], usage["invocation_count"], usage["total_tokens"]) == ("gpt-4.1", 2, 240)


def test_references_of_a_pydantic_schema_can_still_be_resolved(facts: Facts) -> None:
    schema = facts["nested"]
    reference = schema["properties"]["item"]["properties"]["symbols"]["items"]["$ref"]
    at = schema
    for part in reference.removeprefix("#/").split("/"):
        at = at[part]
    assert at["properties"]["kind"]["enum"] == ["function", "class"]


def test_a_score_beyond_the_default_range_is_clamped_and_warned_about(facts: Facts) -> None:
    assert facts["clamped"]["scores"] == [[1.0]]
    assert facts["clamped"]["passed"] == [[True]]
    assert any("range" in warning for warning in facts["clamped_warnings"])


def test_a_model_name_left_as_a_placeholder_is_refused_before_anything_runs(facts: Facts) -> None:
    assert "unknown model" in facts["placeholder_error"]
    assert "{{aoai_deployment_and_model}}" in facts["placeholder_error"]
