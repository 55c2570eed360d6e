"""The newest openai package grades: every kind, every failure."""

from typing import Any

import pytest

from tests.clients.conftest import Client, Facts, Server, Started

NO_ERRORS = {
    "formula_parse_error": False,
    "sample_parse_error": False,
    "truncated_observation_error": False,
    "unresponsive_reward_error": False,
    "invalid_variable_error": False,
    "other_error": False,
    "python_grader_server_error": False,
    "python_grader_server_error_type": None,
    "python_grader_runtime_error": False,
    "python_grader_runtime_error_details": None,
    "model_grader_server_error": False,
    "model_grader_refusal_error": False,
    "model_grader_parse_error": False,
    "model_grader_server_error_details": None,
}
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 0}


@pytest.fixture(scope="module")
def facts(server: Server) -> Facts:
    return Started(server, "openai", "openai_graders").facts()


def test_every_kind_in_the_schema_comes_back_from_validate_as_its_own_class(facts: Facts) -> None:
    classes = {kind: found["class"] for kind, found in facts["validated"].items()}
    assert classes.pop("label_model")
    assert classes.pop("multi")  # the client's types know neither here; what they hold is right all the same
    assert classes == {
        "string_check": "StringCheckGrader",
        "text_similarity": "TextSimilarityGrader",
        "python": "PythonGrader",
        "score_model": "ScoreModelGrader",
    }


def test_validate_gives_back_the_whole_grader(facts: Facts) -> None:
    graders = {kind: found["grader"] for kind, found in facts["validated"].items()}
    assert graders["string_check"] == {
        "type": "string_check",
        "name": "exact",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference_answer}}",
        "operation": "eq",
    }
    assert graders["label_model"]["labels"] == ["positive", "neutral", "negative"]
    assert graders["label_model"]["input"] == [
        {
            "role": "user",
            "content": {"type": "input_text", "text": "{{sample.output_text}}: I love it"},
            "type": "message",
        }
    ]
    assert graders["multi"]["calculate_output"] == "0.5 * exact + 0.5 * alignment"
    assert set(graders["multi"]["graders"]) == {"exact", "alignment"}
    assert graders["score_model"]["sampling_params"] == {"temperature": 1, "top_p": 1, "seed": 42}
    assert all(found["valid"] is True for found in facts["validated"].values())


def test_every_kind_grades(facts: Facts) -> None:
    assert {kind: found["reward"] for kind, found in facts["ran"].items()} == {
        "string_check": 1.0,
        "text_similarity": 1.0,
        "python": 1.0,
        "score_model": 1.0,
        "label_model": 1.0,
        "multi": 1.0,
    }
    for kind, found in facts["ran"].items():
        assert (found["class"], found["type"]) == ("GraderRunResponse", kind)
        assert found["takes_time"]
    assert [found["name"] for found in facts["ran"].values()] == [
        "exact",
        "close",
        "length",
        "alignment",
        "mood",
        "both",
    ]


def test_all_fourteen_error_fields_are_there_when_nothing_failed(facts: Facts) -> None:
    assert all(found["errors"] == NO_ERRORS for found in facts["ran"].values())


def test_only_a_multi_has_sub_rewards(facts: Facts) -> None:
    both = {"exact": 1.0, "alignment": 1.0}
    assert facts["ran"]["multi"]["sub_rewards"] == facts["ran"]["multi"]["scores"] == both
    assert facts["ran"]["score_model"]["sub_rewards"] == facts["ran"]["string_check"]["scores"] == {}


def test_usage_is_an_object_with_a_model_and_null_without(facts: Facts) -> None:
    for kind in ("score_model", "label_model", "multi"):
        found = facts["ran"][kind]
        assert (found["token_usage"], found["sampled_model_name"]) == (USAGE, "gpt-5-mini")
        assert found["per_model"] == {"gpt-5-mini": USAGE}
    for kind in ("string_check", "text_similarity", "python"):
        found = facts["ran"][kind]
        assert (found["token_usage"], found["sampled_model_name"], found["per_model"]) == (None, None, {})


def test_every_answer_has_a_request_id(facts: Facts) -> None:
    found = [each["request_id"] for each in [*facts["validated"].values(), *facts["ran"].values()]]
    assert all(each.startswith("req_") for each in found)
    assert len(set(found)) == len(found)
    assert facts["header"].startswith("req_")
    assert facts["content_type"] == "application/json"


@pytest.mark.parametrize(
    ("case", "flag"),
    [
        ("invalid_variable", "invalid_variable"),
        ("sample_parse", "sample_parse"),
        ("formula", "formula_parse"),
        ("python_runtime", "python_runtime"),
        ("model_refusal", "model_refusal"),
        ("model_parse", "model_parse"),
        ("model_server", "model_server"),
    ],
)
def test_a_grader_that_fails_gives_no_reward_and_its_own_flag(facts: Facts, case: str, flag: str) -> None:
    found: dict[str, Any] = dict(facts["failed"][case])
    details = (found.pop("python_details"), found.pop("model_details"))
    assert found.pop("reward") == 0.0
    assert [name for name, is_set in found.items() if is_set] == [flag]
    assert ("ZeroDivisionError" in (details[0] or "")) == (case == "python_runtime")
    assert ("this model cannot take that" in (details[1] or "")) == (case == "model_server")


def test_the_guides_own_spellings_work(facts: Facts) -> None:
    assert facts["reference_answer"] == 1.0
    reward, grader = facts["spellings"]
    assert reward == 1.0
    assert (grader["operation"], grader["name"]) == ("ne", "string_check")


def test_the_model_on_this_machine_judges_and_talks_through_the_server(client: Client) -> None:
    facts = client("openai", "openai_local")
    assert facts["said"]
    assert facts["pieces"] > 3
    assert facts["stored"] == [facts["said"], facts["streamed"]]
    assert facts["errors"] == []
    assert 0.0 <= facts["reward"] <= 1.0
    assert facts["usage"]["total_tokens"] > 0
    assert facts["model"]
