"""The newest openai package is told what is wrong: which exception, which parameter, which code."""

import pytest

from tests.clients.conftest import Facts, Server, Started


@pytest.fixture(scope="module")
def facts(server: Server) -> Facts:
    return Started(server, "openai", "openai_errors").facts()


BAD = "BadRequestError"


@pytest.mark.parametrize(
    ("case", "param", "code", "said"),
    [
        ("validate operation", "grader.operation", "invalid_value", "equals"),
        ("validate no input", "grader.input", "missing_required_parameter", "grader.input"),
        ("validate unknown type", "grader.type", "invalid_value", "no_such"),
        ("validate text", "grader", "invalid_type", "object"),
        ("validate source", "grader.source", "invalid_value", "line 1"),
        ("validate namespace", "grader.input", "invalid_value", "output"),
        ("validate bare multi", "grader.graders", None, "graders"),
        ("run operation", "grader.operation", "invalid_value", "equals"),
        ("run no sample", "model_sample", "invalid_type", "model_sample"),
        ("run item text", "item", "invalid_type", "object"),
        ("eval labels", "testing_criteria[1].passing_labels[0]", "invalid_value", "bad"),
        ("eval no threshold", "testing_criteria[0].pass_threshold", "missing_required_parameter", "pass_threshold"),
        ("eval no criteria", "testing_criteria", "invalid_value", "at least one"),
        ("eval config type", "data_source_config.type", "invalid_value", "dice"),
        ("eval no schema", "data_source_config.item_schema", "missing_required_parameter", "item_schema"),
        ("eval metadata", "metadata.a", "invalid_type", "string"),
        ("evals limit", "limit", "invalid_value", "100"),
        ("evals limit 0", "limit", "invalid_value", "1"),
        ("evals order", "order", "invalid_value", "sideways"),
        ("evals after", "after", "invalid_value", "eval_0000"),
        ("run no rows", "data_source.source.content", "invalid_value", "empty"),
        ("run bad row", "data_source.source.content[4]", "invalid_value", "object"),
        ("run bad line", "data_source.source.id", "invalid_value", "line 2"),
        ("run unknown file", "data_source.source.id", "file_not_found", "file-no"),
        ("run empty file id", "data_source.source.id", "file_not_found", "no such file"),
        ("run logs", "data_source.source", "no_rows", "no stored chat completion"),
        ("run responses", "data_source.source", "no_rows", "no stored response"),
        ("run type", "data_source.type", "invalid_value", "dice"),
        ("run no messages", "data_source.input_messages", "missing_required_parameter", "input_messages"),
        (
            "run built-in tool",
            "data_source.sampling_params.tools[0].type",
            "unsupported_tool",
            "web_search_preview",
        ),
        ("run temperature", "data_source.sampling_params.temperature", "invalid_type", "number"),
        ("runs status", "status", "invalid_value", "asleep"),
        ("no JSON", None, "invalid_json", "JSON"),
    ],
)
def test_a_mistake_is_a_bad_request_that_names_its_place(
    facts: Facts, case: str, param: str | None, code: str | None, said: str
) -> None:
    found = facts[case]
    assert (found["class"], found["param"], found["type"]) == (BAD, param, "invalid_request_error")
    if code is not None:
        assert found["code"] == code
    assert said in found["message"]


@pytest.mark.parametrize(
    "case",
    [
        "eval unknown",
        "run of unknown eval",
        "items of unknown run",
        "cancel unknown run",
        "file unknown",
        "unknown route",
    ],
)
def test_what_does_not_exist_is_not_found(facts: Facts, case: str) -> None:
    assert (facts[case]["class"], facts[case]["status_code"]) == ("NotFoundError", 404)
    assert facts[case]["type"] == "invalid_request_error"


@pytest.mark.parametrize("case", ["wrong key", "wrong azure key", "wrong key for graders", "wrong key, unknown route"])
def test_a_wrong_key_is_an_authentication_error(facts: Facts, case: str) -> None:
    assert (facts[case]["class"], facts[case]["code"]) == ("AuthenticationError", "invalid_api_key")
    assert "fm-wrong" not in facts[case]["message"]


def test_every_error_has_a_request_id_and_none_is_a_422_or_a_fault_of_ours(facts: Facts) -> None:
    for case, found in facts.items():
        assert found["class"] is not None, case
        assert found["status_code"] in (400, 401, 404, 405), case
        assert found["request_id"].startswith("req_"), case
