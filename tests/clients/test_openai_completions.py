"""The openai package asks models through the server, and reads what is stored."""

from collections.abc import Iterator

import pytest

from tests.clients.behind import JudgeAndProvider
from tests.clients.conftest import Facts, Server, Started
from tests.judges.faults import FaultServer


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with FaultServer() as model:
        model.always(JudgeAndProvider())
        home = tmp_path_factory.mktemp("server")
        (home / "fairmark.toml").write_text(
            f'[providers.house]\nbase_url = "{model.url}"\n[models.luna]\nprovider = "house"\n'
        )
        running = Server(home, model.url)
        try:
            yield running
        finally:
            log = running.stop()
        assert "Traceback" not in log


@pytest.fixture(scope="module", params=["openai", "openai_oldest"])
def facts(behind: Server, request: pytest.FixtureRequest) -> Facts:
    return Started(behind, request.param, "openai_completions").facts()


def test_answers_streams_and_calls_come_through(facts: Facts) -> None:
    said = facts["sync"]
    assert said["answer"] == said["chunks"] == said["retrieved"] == "HELLO"
    assert said["request_id"] == "req_of_the_model"
    assert said["headers"] == ["99", "12"]
    assert said["call"] == '{"city": "HELLO"}'
    assert said["embedded"] == [0.25, 0.5]
    assert said["events"] == ["response.created", "response.completed", "HELLO"]
    assert "luna" in said["models"]


def test_every_route_of_what_is_stored_answers(facts: Facts) -> None:
    said = facts["sync"]
    assert said["listed"] == [[way, "luna-2026-09-01"] for way in ("whole", "stream", "tools")]
    assert said["streamed"] == [True, "HELLO", 12]
    assert said["updated"] == {"way": "changed"}
    assert said["messages"] == [["system", "Say it.", True], ["user", "hello", True]]
    assert said["response"] == ["HELLO", "HELLO", {"way": "response"}]
    assert said["stored_stream"] == "HELLO"
    assert said["items"] == [["user", "hello"]]
    assert said["deleted"] == [True, True]
    assert said["missing"] == ["not_found", "not_found"]


def test_the_asynchronous_client_does_the_same(facts: Facts) -> None:
    assert facts["async"] == {
        "chunks": "HELLO",
        "listed": [True],
        "messages": ["system", "user"],
        "response": "HELLO",
        "events": "HI",
        "items": ["hello"],
        "retrieved": "HELLO",
        "embedded": [0.25, 0.5],
        "listed_model": True,
        "updated": {},
        "deleted": True,
    }


@pytest.fixture(scope="module", params=["openai", "openai_oldest"])
def notebooks(behind: Server, request: pytest.FixtureRequest) -> Facts:
    return Started(behind, request.param, "openai_logged_notebooks").facts()


def test_the_notebook_that_monitors_stored_completions_runs(notebooks: Facts) -> None:
    facts = notebooks["monitoring"]
    assert facts["listed"] == [6, "chat.completion"]
    assert facts["linked"]
    for version, status in (("v1", "pass"), ("v2", "fail")):
        assert facts["statuses"][f"{version}-run"] == [status] * 3
        assert facts["statuses"][f"new-model-{version}"] == [status] * 3
        assert facts["models"][f"{version}-run"] == ["gpt-4o-mini-2026-09-01"]
        assert facts["models"][f"new-model-{version}"] == ["gpt-4o-2026-09-01"]


def test_the_notebook_that_grades_the_last_responses_runs(notebooks: Facts) -> None:
    facts = notebooks["responses"]
    assert facts["linked"]
    stored, anew = facts["outputs"]
    assert stored == ["EXPLAIN: SECOND FILE", "EXPLAIN: FIRST FILE"]
    assert anew == ["EXPLAIN:\nSECOND FILE", "EXPLAIN:\nFIRST FILE"]
    assert facts["scores"] == [[4.0, 4.0]] * 2
    assert facts["models"] == ["gpt-4.1-mini-2026-09-01"]


@pytest.mark.parametrize(("name", "kind"), [("search", "web_search_call"), ("mcp", "mcp_call")])
def test_the_notebooks_whose_tools_the_provider_runs_run(notebooks: Facts, name: str, kind: str) -> None:
    facts = notebooks[name]
    assert facts["statuses"] == ["pass", "fail"] * 2
    assert facts["outputs"] == ["LOOK FOR PARIS", "LOOK FOR ROME"] * 2
    assert facts["called"] == [kind] * 4
    assert facts["errors"] == []


def test_a_hosted_tool_that_the_provider_refuses_is_an_error_of_the_row_that_says_so(notebooks: Facts) -> None:
    facts = notebooks["refused"]
    assert facts["statuses"] == ["error", "error"]
    for message in facts["errors"]:
        assert "Hosted tool 'file_search' is not supported" in message
        assert "tools of its own: file_search" in message


def test_the_notebook_of_preferences_runs_up_to_the_training_that_nobody_has(notebooks: Facts) -> None:
    facts = notebooks["preferences"]
    assert facts["made"] == ["WHERE IS IT?", "WHEN DOES IT COME?"]
    assert facts["outputs"] == sorted(facts["made"])
    assert facts["scores"] == [4.0, 4.0]
    refused = facts["training"]
    assert (refused["class"], refused["code"]) == ("BadRequestError", "unsupported_method")
    assert "dpo" in refused["message"]


def test_langchain_asks_through_the_server(behind: Server) -> None:
    facts = Started(behind, "langchain", "langchain_asks").facts()
    for way in ("chat", "responses"):
        assert facts[way]["invoked"] == "HELLO", way
        assert facts[way]["streamed"] == "HELLO", way
        assert facts[way]["pieces"] > 3, way
        assert facts[way]["called"] == [["look", {"city": "HELLO"}]], way
    assert facts["awaited"] == "HELLO"
    assert facts["embedded"] == [0.25, 0.5]
    assert facts["refused"].endswith("NotFoundError")


def test_vercels_ai_sdk_asks_through_the_server(behind: Server) -> None:
    facts = Started(behind, "vercel", "vercel.cjs").facts()
    for way in ("chat", "responses"):
        assert facts[way]["text"] == "HELLO", way
        assert facts[way]["streamed"] == "HELLO", way
        assert facts[way]["pieces"] > 3, way
        assert facts[way]["called"] == [["look", {"city": "HELLO"}]], way
    assert facts["embedded"] == [0.25, 0.5]
    assert facts["refused"] == 404
