"""A run by the API whose models are not there: refused before anybody is asked anything. See also test_readiness.py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges.faults import Answer, FaultServer, Raw, Status
from tests.server.client import EXACT, VALIDATE, Server, wait_for
from tests.server.conftest import Start, start

__all__ = ["start"]

JUDGE = {
    "type": "score_model",
    "name": "judged",
    "model": "judge-mini",
    "input": [{"role": "user", "content": "Rate {{sample.output_text}}."}],
}
LIST = Raw(json.dumps({"object": "list", "data": [{"id": "judge-mini"}, {"id": "student-1"}]}).encode())
TOML = '[aliases]\n"gpt-old" = "judge-mini"\n"gpt-older" = "judge-micro"\n[models.secret]\nprovider = "openai"\n'
CONFIG = {"type": "custom", "item_schema": {}, "include_sample_schema": True}


@pytest.fixture
def provider() -> Iterator[FaultServer]:
    """The environment's provider: whatever the name, it is asked. It lists two models."""
    with FaultServer() as made:
        made.always(LIST, "/models")
        yield made


@pytest.fixture
def server(start: Start, tmp_path: Path, provider: FaultServer) -> Server:
    (tmp_path / "fairmark.toml").write_text(TOML)
    return start(env=environment(provider))


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, FaultServer]]:
    """For those that do not ask who asked for the list first."""
    folder = tmp_path_factory.mktemp("standing")
    (folder / "fairmark.toml").write_text(TOML)
    with FaultServer() as provider:
        provider.always(LIST, "/models")
        server = Server(folder / "home", environment(provider))
        yield server, provider
        server.stop()


def environment(provider: FaultServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-house", "OPENAI_BASE_URL": f"{provider.url}/v1"}


def new_run(server: Server, judge: str, sampled: str | None = None) -> tuple[int, dict[str, Any]]:
    """(status, what was answered) for a run with a judge, and a model that is to answer."""
    criteria = [EXACT, {**JUDGE, "model": judge}]
    made = server.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": criteria}).json()
    rows: list[dict[str, Any]] = [{"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}]
    source: dict[str, Any] = {"type": "jsonl"}
    if sampled is not None:
        rows = [{"item": {"answer": "Paris"}}]
        template = [{"role": "user", "content": "Say {{ item.answer }}."}]
        source = {"type": "completions", "model": sampled, "input_messages": {"type": "template", "template": template}}
    source["source"] = {"type": "file_content", "content": rows}
    path = f"/v1/evals/{made['id']}/runs"
    answer = server.post(path, {"data_source": source})
    found: dict[str, Any] = answer.json()
    if answer.status != 201:
        assert server.get(path).json()["data"] == []
        return answer.status, found["error"]
    wait_for(lambda: server.get(f"{path}/{found['id']}").json()["status"] == "completed")
    return answer.status, found


def asked(provider: FaultServer, start: int = 0) -> set[str]:
    return {request.path for request in provider.requests[start:]}


def test_a_mistyped_judge_is_refused_with_the_nearest_names_before_anything_is_asked(
    server: Server, provider: FaultServer
) -> None:
    status, error = new_run(server, "judge-minni", "student-1")
    assert (status, error["code"], error["param"]) == (400, "model_not_found", "testing_criteria[1].model")
    assert 'model "judge-minni": openai does not list it' in error["message"]
    assert "Did you mean judge-mini?" in error["message"]
    assert asked(provider) == {"/v1/models"}


def test_a_mistyped_judge_is_a_warning_of_validation_and_of_the_registry(server: Server, provider: FaultServer) -> None:
    grader = {"type": "multi", "graders": {"j": {**JUDGE, "model": "judge-minni"}}, "calculate_output": "j"}
    checked = server.post(VALIDATE, {"grader": grader})
    kept = server.post("/v1/graders", {"key": "typo", "grader": grader})
    assert (checked.status, kept.status) == (200, 201)
    for answer in (checked, kept):
        (warning,) = answer.json()["warnings"]
        assert warning.startswith('$.graders.j.model: model "judge-minni": openai does not list it at ')
        assert "Did you mean judge-mini?" in warning
    assert server.post(VALIDATE, {"grader": JUDGE}).json()["warnings"] == []
    assert [request.path for request in provider.requests] == ["/v1/models"]


def test_a_mistyped_model_that_is_to_answer_is_refused_too(server: Server, provider: FaultServer) -> None:
    status, error = new_run(server, "judge-mini", "studnet-1")
    assert (status, error["code"], error["param"]) == (400, "model_not_found", "data_source.model")
    assert "Did you mean student-1?" in error["message"]
    assert asked(provider) == {"/v1/models"}


def test_an_alias_of_a_mistyped_name_is_refused_with_both(standing: tuple[Server, FaultServer]) -> None:
    status, error = new_run(standing[0], "gpt-older")
    assert (status, error["code"]) == (400, "model_not_found")
    assert '"judge-micro" (alias of "gpt-older")' in error["message"]


@pytest.mark.parametrize("judge", ["judge-mini", "ft:judge-mini:acme::abc", "gpt-old", "secret"])
def test_what_is_listed_or_need_not_be_is_asked(standing: tuple[Server, FaultServer], judge: str) -> None:
    server, provider = standing
    before = len(provider.requests)
    assert new_run(server, judge, "student-1")[0] == 201
    assert "/v1/chat/completions" in asked(provider, before)


def test_a_provider_that_tells_no_list_is_asked_for_any_name(server: Server, provider: FaultServer) -> None:
    provider.forget()
    provider.always(Answer())
    provider.always(Status(500), "/models")
    assert new_run(server, "judge-minni")[0] == 201


def test_a_model_that_nobody_has_is_refused(start: Start) -> None:
    server = start()
    status, error = new_run(server, "judge-mini")
    assert (status, error["code"], error["param"]) == (400, "model_not_found", "testing_criteria[1].model")
    assert 'unknown model "judge-mini"' in error["message"]
