"""Runs over stored chat completions and responses: which are chosen, what graders see of them, and asking anew."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark import jsontext
from fairmark.moving.archive import Archive
from tests import command
from tests.completions.provider import CREATED, Provider, environment
from tests.judges.faults import FaultServer
from tests.server.client import Server, wait_for
from tests.server.conftest import Start

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
LOUD = {
    "type": "string_check",
    "name": "loud",
    "input": "{{sample.output_text}}",
    "reference": "HELLO",
    "operation": "like",
}
REFERENCE = {"type": "item_reference", "item_reference": "item.input"}


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.always(Provider(refuses={"mcp"}))
        yield server


@pytest.fixture
def server(model: FaultServer, start: Start) -> Server:
    return start(env=environment(model))


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For what leaves nothing behind."""
    with FaultServer() as model:
        model.always(Provider())
        started = Server(tmp_path_factory.mktemp("standing") / "home", environment(model))
        yield started
        started.stop()


def chat(server: Server, text: str = "hello", **more: Any) -> None:
    messages = [{"role": "system", "content": "Be loud."}, {"role": "user", "content": text}]
    answer = server.post(CHAT, {"model": "luna", "messages": messages, "store": True, **more})
    assert answer.status == 200, answer.body


def respond(server: Server, text: Any = "hello", **more: Any) -> str:
    answer = server.post(RESPONSES, {"model": "luna", "input": text, **more})
    assert answer.status == 200, answer.body
    id_: str = answer.json()["id"]
    return id_


def new_eval(server: Server, config: Any = None, criteria: Any = None) -> str:
    body = {"data_source_config": config or {"type": "logs"}, "testing_criteria": criteria or [LOUD]}
    answer = server.post("/v1/evals", body)
    assert answer.status == 201, answer.body
    return f"/v1/evals/{answer.json()['id']}"


def run(server: Server, where: str, **data_source: Any) -> dict[str, Any]:
    created = server.post(f"{where}/runs", {"data_source": {"type": "completions", **data_source}})
    assert created.status == 201, created.body
    path = f"{where}/runs/{created.json()['id']}"
    wait_for(lambda: server.get(path).json()["status"] not in ("queued", "in_progress"))
    done: dict[str, Any] = server.get(path).json()
    assert done["status"] == "completed", done
    return done


def items(server: Server, run: dict[str, Any]) -> list[dict[str, Any]]:
    path = f"/v1/evals/{run['eval_id']}/runs/{run['id']}/output_items?limit=100"
    listed: list[dict[str, Any]] = server.get(path).json()["data"]
    return listed


def inputs(server: Server, run: dict[str, Any]) -> list[str]:
    return [item["datasource_item"]["input"][-1]["content"] for item in items(server, run)]


def test_what_is_stored_is_graded_the_newest_first(server: Server) -> None:
    parts = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    chat(server, "no", temperature=0.5)
    chat(server, parts, metadata={"a": "1"})  # type: ignore[arg-type]
    source = {"type": "stored_completions"}
    done = run(server, new_eval(server), source=source)
    assert done["result_counts"] == {"total": 2, "passed": 1, "failed": 1, "errored": 0, "skipped": 0}
    assert (done["model"], done["total_rows"], done["data_source"]) == (
        None,
        2,
        {"type": "completions", "source": source},
    )
    first, second = items(server, done)
    assert first["datasource_item"] == {
        "input": [{"role": "system", "content": "Be loud."}, {"role": "user", "content": parts}],
        "id": "chatcmpl-0002",
        "model": "luna-2026-09-01",
        "created_at": CREATED + 2,
        "metadata": {"a": "1"},
    }
    assert first["sample"]["output"][0]["content"] == "HELLO "
    assert second["sample"]["input"] == second["datasource_item"]["input"]
    assert (second["sample"]["model"], second["sample"]["temperature"]) == ("luna-2026-09-01", 0.5)
    assert second["sample"]["usage"]["total_tokens"] == 12


def test_the_config_chooses_and_the_run_narrows_it(server: Server) -> None:
    for number in range(6):
        more: dict[str, Any] = {"metadata": {"use": "x" if number < 5 else "y", "odd": str(number % 2)}}
        chat(server, str(number), **more, model="sol" if number == 3 else "luna")
    where = new_eval(server, {"type": "stored_completions", "metadata": {"use": "x"}})
    for filters, chosen in (
        ({}, "43210"),
        ({"metadata": None, "model": None, "created_after": None, "created_before": None, "limit": None}, "43210"),
        ({"metadata": {"odd": "1"}}, "31"),
        ({"metadata": {"use": "x", "odd": "0"}}, "420"),
        ({"model": "luna"}, "4210"),
        ({"model": "sol-2026-09-01"}, "3"),
        ({"limit": 2}, "43"),
        # Both ends belong to it.
        ({"created_after": CREATED + 2, "created_before": CREATED + 4}, "321"),
    ):
        done = run(server, where, source={"type": "stored_completions", **filters})
        assert "".join(inputs(server, done)) == chosen, filters
    done = run(server, new_eval(server), source={"type": "stored_completions"})
    assert "".join(inputs(server, done)) == "543210"


@pytest.mark.parametrize(
    ("source", "param", "code"),
    [
        ({"type": "stored_completions", "metadata": {"use": "z"}}, "data_source.source.metadata.use", "invalid_value"),
        ({"type": "stored_completions", "metadata": {"a": "b"}}, "data_source.source", "no_rows"),
        ({"type": "stored_completions", "meta": {}}, "data_source.source.meta", "unknown_parameter"),
        ({"type": "stored_completions", "users": ["u"]}, "data_source.source.users", "unknown_parameter"),
        ({"type": "stored_completions", "metadata": 5}, "data_source.source.metadata", "invalid_type"),
        ({"type": "stored_completions", "metadata": {"a": 5}}, "data_source.source.metadata.a", "invalid_type"),
        ({"type": "stored_completions", "model": 5}, "data_source.source.model", "invalid_type"),
        ({"type": "stored_completions", "limit": 0}, "data_source.source.limit", "invalid_value"),
        ({"type": "stored_completions", "limit": "5"}, "data_source.source.limit", "invalid_type"),
        ({"type": "stored_completions", "created_after": -1}, "data_source.source.created_after", "invalid_value"),
        ({"type": "responses", "temperature": "hot"}, "data_source.source.temperature", "invalid_type"),
        ({"type": "responses", "tools": "web"}, "data_source.source.tools", "invalid_type"),
    ],
)
def test_a_wrong_filter_is_told_and_nothing_is_left_behind(
    standing: Server, source: dict[str, Any], param: str, code: str
) -> None:
    chat(standing, metadata={"use": "x"})
    where = new_eval(standing, {"type": "logs", "metadata": {"use": "x"}})
    answer = standing.post(f"{where}/runs", {"data_source": {"type": "completions", "source": source}})
    assert (answer.status, answer.error["param"], answer.error["code"]) == (400, param, code), answer.body
    assert standing.get(f"{where}/runs").json()["data"] == []
    assert list(Path(standing.home / "files").glob("rows-*")) == []


def test_the_rows_of_a_run_are_fixed_when_it_is_created_and_go_with_it(server: Server) -> None:
    for number in range(3):
        chat(server, f"hello {number}")
    where = new_eval(server)
    created = server.post(
        f"{where}/runs", {"data_source": {"type": "completions", "source": {"type": "stored_completions"}}}
    ).json()
    for number in range(1, 4):
        assert server.request("DELETE", f"{CHAT}/chatcmpl-{number:04d}").status == 200
    chat(server, "later")
    path = f"{where}/runs/{created['id']}"
    wait_for(lambda: server.get(path).json()["status"] == "completed")
    assert inputs(server, server.get(path).json()) == ["hello 2", "hello 1", "hello 0"]
    assert server.request("DELETE", path).status == 200
    assert list(Path(server.home / "files").glob("rows-*")) == []


def test_another_model_is_asked_what_was_asked_before(server: Server, model: FaultServer) -> None:
    chat(server, "hello")
    chat(server, "bye")
    where = new_eval(server)
    model.requests.clear()
    for more in ({"input_messages": REFERENCE}, {}):
        done = run(server, where, source={"type": "stored_completions"}, model="sol", **more)
        assert (done["model"], done["data_source"]["input_messages"]) == ("sol", REFERENCE)
        assert done["result_counts"]["passed"] == 1
        assert [item["sample"]["model"] for item in items(server, done)] == ["sol-2026-09-01"] * 2
    asked = sorted(request.body["messages"][1]["content"] for request in model.requests)
    assert asked == ["bye", "bye", "hello", "hello"]
    template = {"type": "template", "template": [{"role": "user", "content": "Again: {{ item.input }}"}]}
    done = run(server, where, source={"type": "stored_completions", "limit": 1}, model="sol", input_messages=template)
    assert "AGAIN" in items(server, done)[0]["sample"]["output"][0]["content"]


def test_responses_are_graded_with_what_led_to_them(server: Server) -> None:
    first = respond(server, "hello", instructions="Be loud.")
    look = {"type": "function", "name": "look", "parameters": {}}
    second = respond(server, [{"role": "user", "content": "where?"}], previous_response_id=first, tools=[look])
    output = {"type": "function_call_output", "call_id": "call_2", "output": "there"}
    respond(server, [{"type": "item_reference", "id": "msg_1"}, output | {"content": "x"}], previous_response_id=second)
    done = run(server, new_eval(server), type="responses", source={"type": "responses"})
    third, called, plain = items(server, done)
    call = {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": '{"city": "WHERE?"}'}}
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "HELLO"}]
    assert plain["datasource_item"]["input"] == [{"role": "system", "content": "Be loud."}, said[0]]
    assert called["datasource_item"]["input"] == [*said, {"role": "user", "content": "where?"}]
    assert called["sample"]["output"][0]["tool_calls"] == [call]
    assert third["datasource_item"]["input"] == [
        *said,
        {"role": "user", "content": "where?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        said[1],
        {"role": "tool", "tool_call_id": "call_2", "content": "there"},
    ]
    assert plain["sample"]["usage"] == {
        "total_tokens": 12,
        "completion_tokens": 5,
        "prompt_tokens": 7,
        "cached_tokens": 0,
    }


def test_responses_are_chosen_by_how_they_were_asked_for(server: Server) -> None:
    respond(server, "0", instructions="Speak of Cats", temperature=0.5, user="ann")
    respond(server, "1", reasoning={"effort": "high"}, top_p=0.25, user="bob", metadata={"a": "1"})
    respond(server, "2", tools=[{"type": "web_search"}], model="sol")
    respond(server, "3", tools=[{"type": "function", "name": "look", "parameters": {}}])
    where = new_eval(server)
    for filters, chosen in (
        ({}, "3210"),
        ({"instructions_search": "cats"}, "0"),
        ({"temperature": 0.5}, "0"),
        ({"top_p": 0.25}, "1"),
        ({"reasoning_effort": "high"}, "1"),
        ({"users": ["bob", "ann"]}, "10"),
        ({"users": [], "tools": None}, "3210"),
        ({"tools": ["look"]}, "3"),
        ({"tools": ["web_search", "look"]}, "32"),
        ({"has_tool_calls": True}, "32"),
        ({"model": "sol"}, "2"),
        ({"metadata": {"a": "1"}}, "1"),
        ({"created_after": CREATED + 2, "created_before": CREATED + 3, "limit": 1}, "2"),
    ):
        done = run(server, where, type="responses", source={"type": "responses", **filters})
        assert "".join(inputs(server, done)) == chosen, filters


def test_imported_responses_are_chosen_by_what_they_say_of_how_they_were_asked_for(
    server: Server, tmp_path: Path
) -> None:
    about = {"object": "response", "model": "gpt-4o", "status": "completed", "output": []}
    made: list[dict[str, Any]] = [
        {**about, "instructions": "Speak of Cats", "temperature": 0.5, "user": "ann"},
        {**about, "instructions": [{"role": "developer", "content": "Dogs"}], "user": "bob"},
        {**about, "tools": [{"type": "function", "name": "look"}], "instructions": None},
    ]
    archive = Archive(tmp_path / "archive")
    responses = [{**one, "id": f"resp_{number}", "created_at": 1 + number} for number, one in enumerate(made)]
    archive.write("responses.jsonl", b"".join(jsontext.encode(one) + b"\n" for one in responses))
    for number in range(len(made)):
        asked = {"id": "i", "type": "message", "role": "user", "content": str(number)}
        archive.write(f"input_items/resp_{number}.jsonl", jsontext.encode(asked) + b"\n")
    archive.save_manifest({"source": "openai"})
    loaded = command.run(["import", "load", str(archive.folder)], env={"FAIRMARK_HOME": str(server.home)}, cwd=tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    where = new_eval(server)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "210"),
        ({"instructions_search": "cats"}, "0"),
        ({"instructions_search": "dogs"}, "1"),
        ({"users": ["bob", "ann"]}, "10"),
        ({"tools": ["look"]}, "2"),
    ]
    for filters, chosen in cases:
        done = run(server, where, type="responses", source={"type": "responses", **filters})
        assert "".join(inputs(server, done)) == chosen, filters
    assert items(server, done)[0]["sample"].get("temperature") == 1.0
    done = run(server, where, type="responses", source={"type": "responses", "users": ["ann"]})
    assert items(server, done)[0]["sample"]["temperature"] == 0.5


def test_a_tool_that_the_provider_runs_is_passed_to_it(server: Server, model: FaultServer) -> None:
    used = {
        "type": "string_check",
        "name": "used",
        "input": "{{sample.output_tools[0].type}}",
        "reference": "web_search_call",
        "operation": "eq",
    }
    tools = [{"type": "web_search", "search_context_size": "low"}]
    data_source = {
        "type": "responses",
        "source": {"type": "file_content", "content": [{"item": {"q": "hello"}}]},
        "input_messages": {"type": "template", "template": [{"role": "user", "content": "{{item.q}}"}]},
        "model": "luna",
        "sampling_params": {
            "tools": tools,
            "seed": 1,
            "max_completions_tokens": 9,
            "temperature": 0.5,
            "text": {"verbosity": "low"},
        },
    }
    done = run(server, new_eval(server, criteria=[LOUD, used]), **data_source)
    assert done["result_counts"]["passed"] == 1
    asked = model.requests[-1]
    assert asked.path == "/v1/responses"
    assert asked.body == {
        "model": "luna",
        "input": [{"role": "user", "content": "hello"}],
        "store": False,
        "max_output_tokens": 9,
        "temperature": 0.5,
        "text": {"verbosity": "low"},
        "tools": tools,
    }
    assert done["per_model_usage"][0]["total_tokens"] == 12
    refused = {**data_source, "sampling_params": {"tools": [{"type": "mcp", "server_label": "x"}]}}
    done = run(server, new_eval(server), **refused)
    (item,) = items(server, done)
    assert item["status"] == "error"
    assert "Hosted tool 'mcp' is not supported with this model." in item["sample"]["error"]["message"]
    assert "tools of its own: mcp." in item["sample"]["error"]["message"]
