"""The fault server does to a client exactly what it was told to, seen through a bare socket."""

import gzip
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.faults import (
    NO_JSON_SCHEMA,
    SCORE,
    Answer,
    Behaviour,
    Cut,
    Endless,
    FaultServer,
    Huge,
    Raw,
    Slow,
    Status,
)

BODY = json.dumps({"model": "judge", "messages": []}).encode()


class Client:
    """One connection, from which nothing is hidden."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.unread = b""

    def ask(self, path: str = "/v1/chat/completions", body: bytes = BODY) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nContent-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)

    def receive(self, until: bytes) -> bytes:
        """All up to the mark; all there is where the server closes first."""
        while until not in self.unread:
            data = self.socket.recv(65536)
            if not data:
                break
            self.unread += data
        found, mark, self.unread = self.unread.partition(until)
        return found + mark

    def rest(self) -> bytes:
        """All up to the end of the connection."""
        rest = self.unread
        while data := self.socket.recv(65536):
            rest += data
        return rest

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        first, *lines = self.receive(b"\r\n\r\n").decode().rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(self.unread) < int(headers["content-length"]):
            data = self.socket.recv(65536)
            assert data
            self.unread += data
        body, self.unread = self.unread, b""
        return int(first.split()[1]), headers, body


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def client(server: FaultServer) -> Iterator[Client]:
    client = Client(server.url)
    yield client
    client.socket.close()


def exchange(server: FaultServer, client: Client, behaviour: Behaviour) -> tuple[int, dict[str, str], bytes]:
    server.script(behaviour)
    client.ask()
    return client.answer()


def message(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)["choices"][0]["message"]
    return found


def test_an_answer_is_a_chat_completion_of_the_model_that_was_asked(server: FaultServer, client: Client) -> None:
    status, headers, body = exchange(server, client, Answer())
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body)["model"] == "judge"
    assert message(body) == {"role": "assistant", "content": SCORE, "refusal": None}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(""), {"content": ""}),
        (Answer(None), {"content": None}),
        (Answer('Sure! {"result": 1} Bye.'), {"content": 'Sure! {"result": 1} Bye.'}),
        (Answer(None, refusal="I will not."), {"content": None, "refusal": "I will not."}),
    ],
)
def test_an_answer_says_what_it_is_told_to(
    server: FaultServer, client: Client, answer: Answer, expected: dict[str, Any]
) -> None:
    _, _, body = exchange(server, client, answer)
    assert message(body).items() >= expected.items()


def test_an_answer_ends_for_the_reason_it_is_told(server: FaultServer, client: Client) -> None:
    _, _, body = exchange(server, client, Answer("half", finish_reason="length"))
    assert json.loads(body)["choices"][0]["finish_reason"] == "length"


def test_arguments_become_a_call_of_the_tool_on_offer(server: FaultServer, client: Client) -> None:
    server.script(Answer(None, arguments='{"result": 1}'))
    client.ask(body=json.dumps({"tools": [{"type": "function", "function": {"name": "score"}}]}).encode())
    _, _, body = client.answer()
    assert message(body)["tool_calls"][0]["function"] == {"name": "score", "arguments": '{"result": 1}'}


def test_a_zipped_answer_is_the_same_after_unzipping(server: FaultServer, client: Client) -> None:
    _, headers, body = exchange(server, client, Answer(zipped=True))
    assert headers["content-encoding"] == "gzip"
    assert message(gzip.decompress(body))["content"] == SCORE


def test_a_connection_lives_on_after_an_answer_and_after_an_error(server: FaultServer, client: Client) -> None:
    statuses = [exchange(server, client, behaviour)[0] for behaviour in (Answer(), Status(500), Answer())]
    assert statuses == [200, 500, 200]
    assert server.connections == 1


def test_a_connection_may_end_after_a_whole_answer(server: FaultServer, client: Client) -> None:
    _, headers, _ = exchange(server, client, Answer(then_cut=True))
    assert "connection" not in headers
    assert client.rest() == b""


@pytest.mark.parametrize("status", [400, 401, 404, 408, 409, 429, 500, 502, 503])
def test_a_status_comes_with_an_error_in_openais_words(server: FaultServer, client: Client, status: int) -> None:
    found, headers, body = exchange(server, client, Status(status, "no way", code="why"))
    assert found == status
    assert "retry-after" not in headers
    assert json.loads(body)["error"]["message"] == "no way"
    assert json.loads(body)["error"]["code"] == "why"


def test_a_status_may_say_when_to_come_back_and_where_to_go(server: FaultServer, client: Client) -> None:
    told = Status(302, retry_after=0.1, retry_after_ms=100, location="http://elsewhere")
    _, headers, _ = exchange(server, client, told)
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("0.1", "100")
    assert headers["location"] == "http://elsewhere"


def test_the_refusal_of_a_json_schema_names_the_parameter(server: FaultServer, client: Client) -> None:
    status, _, body = exchange(server, client, NO_JSON_SCHEMA)
    assert status == 400
    assert json.loads(body)["error"]["param"] == "response_format"


def test_raw_bytes_come_as_they_are(server: FaultServer, client: Client) -> None:
    status, headers, body = exchange(server, client, Raw(b"<html>", "text/html"))
    assert (status, headers["content-type"], body) == (200, "text/html", b"<html>")


def test_a_length_may_promise_more_than_comes(server: FaultServer, client: Client) -> None:
    server.script(Raw(b'{"choices": [', length=1000))
    client.ask()
    assert b"Content-Length: 1000\r\n" in client.receive(b"\r\n\r\n")
    assert client.rest() == b'{"choices": ['


def test_a_cut_comes_before_the_head_or_in_it_or_in_the_body(server: FaultServer) -> None:
    seen = {}
    for where in ("before", "head", "body"):
        server.script(Cut(where))
        client = Client(server.url)
        client.ask()
        seen[where] = client.rest()
        client.socket.close()
    assert seen["before"] == b""
    assert seen["head"].startswith(b"HTTP/1.1 200 OK")
    assert b"\r\n\r\n" not in seen["head"]
    head, _, body = seen["body"].partition(b"\r\n\r\n")
    assert 0 < len(body) < int(head.partition(b"Content-Length: ")[2])


def test_a_slow_head_comes_after_its_time_and_a_slow_body_in_pieces(server: FaultServer, client: Client) -> None:
    server.script(Slow(0.2))
    started = time.monotonic()
    client.ask()
    status, _, body = client.answer()
    assert time.monotonic() - started >= 0.2
    assert (status, message(body)["content"]) == (200, SCORE)
    server.script(Slow(600, "body"))
    client.ask()
    client.receive(b"\r\n\r\n")
    assert client.unread == b""  # the head is here, and the body yet to come


def test_an_endless_body_goes_on_until_the_client_leaves(server: FaultServer, client: Client) -> None:
    server.script(Endless(chunk=100_000, pause_s=0))
    client.ask()
    assert b"Transfer-Encoding: chunked" in client.receive(b"\r\n\r\n")
    for _ in range(50):
        assert client.receive(b"186a0\r\n").endswith(b"186a0\r\n")


@pytest.mark.parametrize("told", [True, False])
def test_a_huge_body_ends_in_a_proper_answer(server: FaultServer, client: Client, told: bool) -> None:
    server.script(Huge(3_000_000, told))
    client.ask()
    head = client.receive(b"\r\n\r\n")
    assert (b"Content-Length: 3000" in head) is told
    body = client.receive(b"120}}")
    assert len(body) > 3_000_000
    assert message(body)["content"] == SCORE


def test_requests_are_kept_with_all_that_they_brought(server: FaultServer, client: Client) -> None:
    exchange(server, client, Answer())
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer k"
    assert request.body == {"model": "judge", "messages": []}
    assert request.at <= time.monotonic()


def test_a_script_may_be_for_one_path_and_what_is_always_so_comes_after_it(server: FaultServer, client: Client) -> None:
    server.script(Status(500), path="/embeddings")
    server.always(Status(401))
    statuses = []
    for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/embeddings"):
        client.ask(path)
        statuses.append(client.answer()[0])
    assert statuses == [401, 500, 401]
    server.forget()
    client.ask()
    assert client.answer()[0] == 200


def test_the_server_ends_though_clients_are_in_the_middle_of_everything() -> None:
    with FaultServer() as server:
        server.script(Slow(60), Endless(), Slow(60, "body"))
        clients = [Client(server.url) for _ in range(4)]
        for client in clients[:3]:
            client.ask()
        deadline = time.monotonic() + 10
        while len(server.requests) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    for client in clients:
        client.socket.close()
    assert len(server.requests) == 3
