"""Chat completions and responses that are stored: list, get, change, delete, and what was asked."""

import json
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.completions.provider import Parts, Provider, completion, environment
from tests.judges.faults import FaultServer, Raw
from tests.server.client import Answer, Server, wait_for
from tests.server.conftest import Start
from tests.server.test_passing import fates, new_key

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.always(Provider())
        yield server


@pytest.fixture
def server(model: FaultServer, start: Start) -> Server:
    return start(env=environment(model))


def ask(server: Server, text: str = "hello", **more: Any) -> Answer:
    message = {"role": "user", "content": text}
    return server.post(CHAT, {"model": "luna", "messages": [message], "store": True, **more})


def listed(server: Server, query: str = "") -> list[str]:
    return [one["id"] for one in server.get(f"{CHAT}?{query}").json()["data"]]


def test_only_what_is_to_be_stored_is(server: Server) -> None:
    for store in (True, False, None):
        assert ask(server, store=store).status == 200
    assert listed(server) == ["chatcmpl-0001"]
    for store in (True, False, None):
        server.post(RESPONSES, {"model": "luna", "input": "hi", "store": store})
    server.post(RESPONSES, {"model": "luna", "input": "hi"})
    there = [server.get(f"{RESPONSES}/resp_{number:04d}").status for number in (4, 5, 6, 7)]
    assert there == [200, 404, 200, 200]
    assert server.get(f"{CHAT}/resp_0004").status == 404
    assert fates(server) == {"stored": 4}
    assert server.gauge("fairmark_completions_stored") == 4


def test_a_stored_completion_tells_its_answer_and_how_it_was_asked(server: Server) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    answer = ask(server, "Paris?", metadata={"run": "1"}, temperature=0.5, seed=7, tools=[tool], user="u1").json()
    stored = server.get(f"{CHAT}/{answer['id']}").json()
    assert {name: stored[name] for name in answer} == answer
    assert stored["metadata"] == {"run": "1"}
    assert (stored["temperature"], stored["seed"], stored["top_p"]) == (0.5, 7, None)
    assert (stored["tools"], stored["input_user"]) == ([tool], "u1")
    assert stored["request_id"] == "req_of_the_model"
    assert stored["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look"
    page = server.get(CHAT).json()
    assert page["data"] == [stored]
    assert (page["object"], page["first_id"], page["last_id"], page["has_more"]) == (
        "list", "chatcmpl-0001", "chatcmpl-0001", False,
    )  # fmt: skip


def test_a_stream_is_stored_as_the_completion_it_told(server: Server) -> None:
    whole = ask(server).json()
    ask(server, stream=True)
    first, second = server.get(CHAT).json()["data"]
    assert first["id"] == whole["id"]
    for name in ("choices", "usage", "model", "object", "system_fingerprint"):
        assert second[name] == first[name], name
    server.post(RESPONSES, {"model": "luna", "input": "hello", "stream": True, "metadata": {"a": "b"}})
    stored = server.get(f"{RESPONSES}/resp_0003").json()
    assert stored["output"][0]["content"][0]["text"] == "HELLO"
    assert (stored["status"], stored["metadata"]) == ("completed", {"a": "b"})


def test_lists_are_filtered_and_paged(server: Server) -> None:
    for number in range(5):
        ask(server, metadata={"even": str(number % 2 == 0), "n": str(number)}, model="luna" if number < 4 else "sol")
    ids = [f"chatcmpl-{number:04d}" for number in range(1, 6)]
    assert listed(server) == ids
    assert listed(server, "order=desc") == ids[::-1]
    assert listed(server, "metadata[even]=True") == ids[::2]
    assert listed(server, "metadata[even]=True&metadata[n]=2") == [ids[2]]
    assert listed(server, "metadata%5Beven%5D=True&model=luna") == [ids[0], ids[2]]
    assert listed(server, "model=sol-2026-09-01") == [ids[4]]
    assert listed(server, "model=nobody") == []
    page = server.get(f"{CHAT}?limit=2&after={ids[1]}").json()
    assert ([one["id"] for one in page["data"]], page["has_more"]) == (ids[2:4], True)
    for wrong, param in (("limit=0", "limit"), ("limit=101", "limit"), ("order=up", "order"), ("after=x", "after")):
        answer = server.get(f"{CHAT}?{wrong}")
        assert (answer.status, answer.error["param"]) == (400, param)


def test_metadata_is_all_that_can_be_changed(server: Server) -> None:
    ask(server, metadata={"a": "1"})
    path = f"{CHAT}/chatcmpl-0001"
    changed = server.post(path, {"metadata": {"b": "2"}})
    assert (changed.status, changed.json()["metadata"]) == (200, {"b": "2"})
    assert server.get(path).json() == changed.json()
    assert listed(server, "metadata[b]=2") == ["chatcmpl-0001"]
    assert listed(server, "metadata[a]=1") == []
    assert server.post(path, {"metadata": None}).json()["metadata"] == {}
    for body, code in (({}, "missing_required_parameter"), ({"metadata": {"a": 1}}, "invalid_type")):
        assert (server.post(path, body).status, server.post(path, body).error["code"]) == (400, code)
    assert server.post(f"{CHAT}/chatcmpl-9", {"metadata": {}}).status == 404


def test_a_wrong_method_is_told_all_the_right_ones(server: Server) -> None:
    for path, allowed in (
        (CHAT, "GET, HEAD, POST"),
        ("/v1/embeddings", "POST"),
        (f"{RESPONSES}/x", "DELETE, GET, HEAD"),
    ):
        answer = server.request("PUT", path, {})
        assert answer.status == 405
        assert ", ".join(sorted(answer.headers["allow"].split(", "))) == allowed, path


def test_what_is_deleted_is_gone(server: Server) -> None:
    ask(server)
    server.post(RESPONSES, {"model": "luna", "input": "hi"})
    gone = server.request("DELETE", f"{CHAT}/chatcmpl-0001")
    assert gone.json() == {"object": "chat.completion.deleted", "id": "chatcmpl-0001", "deleted": True}
    gone = server.request("DELETE", f"{RESPONSES}/resp_0002")
    assert gone.json() == {"id": "resp_0002", "object": "response", "deleted": True}
    for path in (f"{CHAT}/chatcmpl-0001", f"{RESPONSES}/resp_0002"):
        assert server.request("DELETE", path).status == 404
        for part in ("", "/messages" if "chat" in path else "/input_items"):
            answer = server.get(path + part)
            assert (answer.status, answer.error["code"]) == (404, "not_found")


def test_the_messages_that_were_sent_have_ids_and_their_parts(server: Server) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    messages = [{"role": "system", "content": "short"}, {"role": "user", "content": parts, "name": "ann"}]
    ask(server, messages=messages)
    page = server.get(f"{CHAT}/chatcmpl-0001/messages").json()
    assert page["data"] == [
        {"role": "system", "content": "short", "id": "chatcmpl-0001-0", "content_parts": None},
        {"role": "user", "content": None, "name": "ann", "id": "chatcmpl-0001-1", "content_parts": parts},
    ]
    assert (page["first_id"], page["last_id"]) == ("chatcmpl-0001-0", "chatcmpl-0001-1")
    path = f"{CHAT}/chatcmpl-0001/messages"
    assert [one["role"] for one in server.get(f"{path}?order=desc").json()["data"]] == ["user", "system"]
    page = server.get(f"{path}?limit=1").json()
    assert ([one["role"] for one in page["data"]], page["has_more"]) == (["system"], True)
    page = server.get(f"{path}?after=chatcmpl-0001-0").json()
    assert ([one["role"] for one in page["data"]], page["has_more"]) == (["user"], False)
    page = server.get(f"{path}?before=chatcmpl-0001-1").json()
    assert [one["role"] for one in page["data"]] == ["system"]
    assert server.get(f"{path}?after=x").status == 400


def test_input_items_come_the_last_first(server: Server) -> None:
    call = {"type": "function_call_output", "call_id": "c", "output": "4"}
    said = {"role": "assistant", "content": "yes"}
    server.post(
        RESPONSES, {"model": "luna", "input": [{"role": "user", "content": "hi"}, said, call | {"content": ""}]}
    )
    page = server.get(f"{RESPONSES}/resp_0001/input_items").json()
    last, middle, first = page["data"]
    assert (last["type"], last["call_id"]) == ("function_call_output", "c")
    assert middle["content"] == [{"type": "output_text", "text": "yes", "annotations": []}]
    assert (first["type"], first["role"]) == ("message", "user")
    assert first["content"] == [{"type": "input_text", "text": "hi"}]
    assert len({one["id"] for one in page["data"]}) == 3
    again = server.get(f"{RESPONSES}/resp_0001/input_items?order=asc&limit=1").json()
    assert (again["data"], again["has_more"]) == ([first], True)
    after = server.get(f"{RESPONSES}/resp_0001/input_items?after={middle['id']}").json()
    assert after["data"] == [first]
    server.post(RESPONSES, {"model": "luna", "input": "hello"})
    (only,) = server.get(f"{RESPONSES}/resp_0002/input_items").json()["data"]
    assert only["content"] == [{"type": "input_text", "text": "hello"}]
    assert server.get(f"{RESPONSES}/resp_0001?stream=true").error["param"] == "stream"


def test_what_is_no_answer_of_the_api_is_passed_on_and_not_stored(server: Server, model: FaultServer) -> None:
    for body in (b"not json", b"[]", b'{"choices":5}', b'{"error":{"message":"no"}}'):
        model.script(Raw(body))
        assert ask(server).body == body
    model.script(Raw(b'{"object":"response","id":"resp_b","status":"queued"}'))
    server.post(RESPONSES, {"model": "luna", "input": "hi"})
    assert listed(server) == []
    assert fates(server)["unreadable"] == 5
    assert len([line for line in server.log() if "not stored" in line.get("event", line.get("message", ""))]) == 1


def test_what_is_too_long_or_too_much_is_passed_on_and_not_stored(start: Start, model: FaultServer) -> None:
    limits = {"FAIRMARK_COMPLETION_MB": "1", "FAIRMARK_COMPLETIONS_AT_MOST": "2"}
    server = start(env={**environment(model), **limits})
    for long in ({"text": "x" * 600_000}, {"text": "y" * 1_100_000}):
        answer = ask(server, **long)
        assert answer.json()["choices"][0]["message"]["content"] == long["text"].upper()
    assert listed(server) == []
    assert fates(server) == {"stored": 0, "too_large": 2}
    for _ in range(4):
        assert ask(server).status == 200
    assert len(listed(server)) == 2
    assert fates(server) == {"stored": 2, "too_large": 2, "project_full": 2}
    said = [line for line in server.stderr.read_text().splitlines() if "completions_at_most" in line]
    assert len(said) == 1
    server.request("DELETE", f"{CHAT}/{listed(server)[0]}")
    ask(server)
    wait_for(lambda: fates(server)["stored"] == 3)  # after its answer


def test_an_id_that_comes_again_does_not_take_the_place_of_the_first(server: Server, model: FaultServer) -> None:
    for text in ("one", "two"):
        made = completion({"model": "m", "messages": [{"role": "user", "content": text}]}, 5)
        model.script(Raw(json.dumps(made).encode()))
        ask(server, text)
    first, second = server.get(CHAT).json()["data"]
    assert first["id"] == "chatcmpl-0005"
    assert second["id"].startswith("chatcmpl-0005-")
    assert server.get(f"{CHAT}/{second['id']}").json() == second
    assert [one["choices"][0]["message"]["content"] for one in (first, second)] == ["ONE", "TWO"]


def test_what_was_stored_survives_a_kill(server: Server, model: FaultServer, start: Start) -> None:
    """A client that has seen its completion in a list finds it again, whatever happens to the server."""
    for _ in range(20):
        ask(server)
    seen = listed(server, "limit=100")
    assert len(seen) == 20
    for _ in range(5):
        ask(server)  # nobody has looked whether they are stored
    server.stop(signal.SIGKILL)
    again = start(env=environment(model), home=server.home)
    there = listed(again, "limit=100")
    assert there[:20] == seen
    assert len(there) <= 25
    for id_ in there:
        assert again.get(f"{CHAT}/{id_}/messages").json()["data"][0]["content"] == "hello"


def test_a_graceful_end_stores_what_waits(server: Server, model: FaultServer, start: Start) -> None:
    for _ in range(10):
        ask(server)
    assert server.stop() == 0
    again = start(env=environment(model), home=server.home)
    assert len(listed(again, "limit=100")) == 10


def test_others_see_nothing_of_a_project(server: Server, model: FaultServer) -> None:
    ours, theirs = ({"authorization": f"Bearer {new_key(server, project)}"} for project in ("ours", "theirs"))
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "store": True, "metadata": {"a": "1"}}
    assert server.post(CHAT, body, ours).status == 200
    assert len(server.get(CHAT, ours).json()["data"]) == 1
    assert server.get(CHAT, theirs).json()["data"] == []
    assert server.get(f"{CHAT}?metadata[a]=1", theirs).json()["data"] == []
    for path in (f"{CHAT}/chatcmpl-0001", f"{CHAT}/chatcmpl-0001/messages"):
        assert server.get(path, theirs).status == 404
    assert server.get(CHAT).status == 401


@pytest.mark.thorough
def test_two_hundred_rounds_of_trouble_leave_no_descriptor_behind(server: Server, model: FaultServer) -> None:
    """Whole answers, streams, cuts, and clients that go away: all that was opened is closed."""

    def round_() -> None:
        ask(server)
        ask(server, stream=True)
        model.script(Parts(b"5\r\nab"))
        with pytest.raises(Exception):  # noqa: B017,PT011  # cut, in one way or another
            ask(server, stream=True)
        model.script(Parts(hangs=True))
        body = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)
            assert b"200 OK" in connection.recv(100)

    for _ in range(5):
        round_()
    wait_for(lambda: server.gauge("fairmark_requests_in_flight") == 1)
    before = server.descriptors()
    for _ in range(200):
        round_()
    wait_for(lambda: server.gauge("fairmark_requests_in_flight") == 1)
    wait_for(lambda: server.descriptors() <= before + 4)
    wait_for(lambda: server.gauge("fairmark_completions_stored") == 410)  # the last is stored once its answer has gone


def test_a_long_answer_passes_without_being_held(server: Server, model: FaultServer) -> None:
    body = json.dumps(
        completion({"model": "m", "messages": [{"role": "user", "content": "x" * 9_000_000}]}, 1)
    ).encode()
    model.script(Raw(body))
    assert ask(server, store=False).body == body
    model.script(Raw(body))
    assert ask(server).body == body
    assert listed(server) == ["chatcmpl-0001"]
