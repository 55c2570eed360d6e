"""Questions passed on to the models behind, and answers passed back as they come."""

import gzip
import http.client
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.completions.provider import KEY, Gated, Parts, Provider, Wired, chat_chunks, chunked, completion, environment
from tests.judges.faults import Answer, Cut, FaultServer, Raw, Slow, Status
from tests.server.client import Server, wait_for
from tests.server.conftest import Start

CHAT = "/v1/chat/completions"
HELLO = {"model": "gpt-6-luna", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def model() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture(autouse=True)
def fresh(model: FaultServer) -> None:
    model.forget()
    model.always(Provider())
    model.requests.clear()


@pytest.fixture(scope="module")
def server(model: FaultServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server") / "home", environment(model))
    yield started
    started.stop()


def stored(server: Server) -> list[str]:
    return [one["id"] for one in server.get(f"{CHAT}?limit=100").json()["data"]]


def fates(server: Server) -> dict[str, int]:
    lines = server.get("/metrics").body.decode().splitlines()
    told = [line for line in lines if line.startswith("fairmark_completions_total{")]
    return {line.split('"')[1]: int(line.split()[-1]) for line in told}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/v1/chat/completions",
            b' {"model" :"gpt-6-luna", "messages":[{"role":"user","content":"\\u0068i"}],\n"n":1.0}',
        ),
        ("/v1/chat/completions", b'{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}'),
        ("/v1/responses", b'{"model":"m","input":"hi","store":false, "unknown": {"a": 1e2}}'),
        ("/v1/responses", b'{"model":"m","input":"hi","stream":true}'),
        ("/v1/embeddings", b'{"model":"m","input":"hi","dimensions":2}'),
    ],
)
def test_body_and_answer_stay_as_they_are_to_the_byte(
    server: Server, model: FaultServer, path: str, body: bytes
) -> None:
    direct = _post(model.url, path, body)
    passed = _post(server.url, path, body)
    assert [request.data for request in model.requests] == [body, body]
    assert [request.path for request in model.requests] == [path, path]
    assert passed[0] == direct[0] == 200
    # The numbers in its ids are the model's own.
    assert _unnumbered(passed[2]) == _unnumbered(direct[2])
    for name in ("content-type", "x-request-id", "openai-processing-ms", "openai-organization"):
        assert passed[1][name] == direct[1][name]
    assert passed[1]["x-ratelimit-remaining-requests"] == "99"
    assert passed[1]["x-fairmark-request-id"].startswith("req_")
    for name in ("set-cookie", "server", "strict-transport-security"):
        assert name not in passed[1]
    assert passed[1].get("content-length") == direct[1].get("content-length")


def _post(url: str, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        connection.request("POST", path, body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def _unnumbered(body: bytes) -> str:
    return "".join(letter for letter in body.decode() if not letter.isdigit())


def test_the_key_of_the_client_goes_nowhere_and_that_of_the_model_only_there(
    server: Server, model: FaultServer
) -> None:
    sent = {"authorization": "Bearer fm-client", "api-key": "fm-client", "cookie": "a=b", "openai-beta": "x=v1"}
    passed = _post(server.url, CHAT, json.dumps({**HELLO, "store": True}).encode(), **sent, **{"user-agent": "mine"})
    assert passed[0] == 200
    (request,) = model.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (request.headers["openai-beta"], request.headers["user-agent"]) == ("x=v1", "mine")
    assert "fm-client" not in str(request.headers)
    assert "cookie" not in request.headers
    assert KEY not in str(passed)
    assert stored(server)
    for file in server.home.parent.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
            assert b"fm-client" not in file.read_bytes(), file


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_errors_are_passed_as_they_are_but_for_our_key(server: Server, model: FaultServer, status: int) -> None:
    model.script(Status(status, f"no: {KEY} is not good", code="c", param="p", retry_after=7, retry_after_ms=70))
    answer = server.post(CHAT, HELLO)
    assert answer.status == status
    assert answer.error == {"message": "no: *** is not good", "type": "error", "param": "p", "code": "c"}
    assert (answer.headers["retry-after"], answer.headers["retry-after-ms"]) == ("7", "70")
    assert len(model.requests) == 1  # nobody asked again: that is the client's business


def test_a_redirect_is_not_followed_nor_passed_on(server: Server, model: FaultServer) -> None:
    model.script(Status(307, location="http://127.0.0.1:1/"))
    answer = server.post(CHAT, HELLO)
    assert (answer.status, answer.error["code"]) == (502, "model_unreachable")
    assert "location" not in answer.headers


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("br", lambda text: b"\x0b\x02\x80" + text)])
def test_our_key_does_not_leave_in_a_packed_error_nor_in_a_header(
    server: Server, model: FaultServer, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    body = pack(json.dumps({"error": {"message": f"no: {KEY} is not good"}}).encode())
    head = f"content-encoding: {encoding}\r\ncontent-length: {len(body)}\r\nx-asked-with: Bearer {KEY}\r\n\r\n".encode()
    model.script(Wired(b"HTTP/1.1 401 No\r\n" + head + body), Wired(b"HTTP/1.1 200 OK\r\n" + head + body))
    refused, answered = (
        _post(server.url, CHAT, json.dumps(HELLO).encode()),
        _post(server.url, CHAT, json.dumps(HELLO).encode()),
    )
    assert (refused[0], answered[0]) == (401, 200)
    assert refused[1]["x-asked-with"] == answered[1]["x-asked-with"] == "Bearer ***"
    assert "content-encoding" not in refused[1]
    assert KEY.encode() not in refused[2]
    message = json.loads(refused[2])["error"]["message"]
    assert message == "no: *** is not good" if encoding == "gzip" else "answered 401" in message
    assert answered[2] == body


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"HTTP/1.1 600 Odd\r\ncontent-length: 2\r\n\r\n{}", "answered 600"),
        (b"HTTP/1.1 101 Odd\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n", "answered 101"),
        (b"\x00\x01garbage\r\n\r\n", "the server's answer is not HTTP (Bad status line"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}", "is not HTTP (Invalid character in Content-Length"),
    ],
)
def test_what_is_no_answer_is_told_as_that(server: Server, model: FaultServer, sent: bytes, words: str) -> None:
    model.script(Wired(sent))
    answer = server.post(CHAT, HELLO)
    assert (answer.status, answer.error["code"]) == (502, "model_unreachable")
    assert words in answer.error["message"]
    assert "\n" not in answer.error["message"]


@pytest.mark.parametrize("prefix", ["/v1", "/openai/v1", "/openai", "/api/projects/p/openai/v1"])
def test_all_prefixes_lead_there(server: Server, model: FaultServer, prefix: str) -> None:
    for path, more in (("/chat/completions", HELLO), ("/responses", {"model": "m", "input": "hi"})):
        assert server.post(f"{prefix}{path}?api-version=2025", {**HELLO, **more}).status == 200
    assert server.post(f"{prefix}/embeddings", {"model": "m", "input": "hi"}).json()["object"] == "list"


@pytest.mark.parametrize("deployment", ["chat", "gpt-6-luna", "evals"])
def test_a_deployment_in_the_path_names_the_model(server: Server, model: FaultServer, deployment: str) -> None:
    body = {name: value for name, value in HELLO.items() if name != "model"}
    path = f"/openai/deployments/{deployment}/chat/completions?api-version=2025-01-01"
    assert server.post(path, body).json()["model"] == f"{deployment}-2026-09-01"
    assert server.post(path, HELLO).json()["model"] == f"{deployment}-2026-09-01"


ALIASES = """
[providers.house]
base_url = "{url}/v1"
[providers.cloud]
kind = "azure"
base_url = "{url}"
api_version = "2025-01-01"
key_env = "CLOUD_KEY"
[models.careful]
provider = "house"
model = "qwen-3"
[models.few]
provider = "house"
concurrency = 1
[aliases]
"o3-mini*" = "careful"
"""


def test_aliases_and_providers_are_those_that_judges_have(start: Start, model: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "fairmark.toml").write_text(ALIASES.format(url=model.url))
    server = start(env={"CLOUD_KEY": KEY})
    body = b'{ "messages":[{"role":"user","content":"hi"}], "model":"o3-mini-2025-01-31", "x": [ 1e0 ], "store": true}'
    status, _, answer = _post(server.url, CHAT, body)
    assert (status, json.loads(answer)["model"]) == (200, "qwen-3-2026-09-01")
    assert model.requests[-1].body["model"] == "qwen-3"
    assert b'"x":[ 1e0 ]' in model.requests[-1].data
    for name in ("o3-mini-2025-01-31", "qwen-3-2026-09-01"):
        assert len(server.get(f"{CHAT}?model={name}").json()["data"]) == 1
    assert server.post(CHAT, {**HELLO, "model": "cloud/my deployment"}).status == 200
    assert model.requests[-1].path == "/openai/deployments/my%20deployment/chat/completions?api-version=2025-01-01"
    assert model.requests[-1].headers["api-key"] == KEY
    assert server.post("/v1/responses", {"model": "cloud/dep", "input": "hi"}).status == 200
    assert model.requests[-1].path == "/openai/v1/responses"
    unknown = server.post(CHAT, {**HELLO, "model": "nobody"})
    assert (unknown.status, unknown.error["param"], unknown.error["code"]) == (404, "model", "model_not_found")
    assert "careful" in unknown.error["message"]
    assert unknown.error["message"].startswith('unknown model "nobody"')
    listed = [one["id"] for one in server.get("/v1/models").json()["data"]]
    assert "careful" in listed


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"{", 400, None),
        (b"[]", 400, None),
        (b'{"messages":[]}', 400, "model"),
        (b'{"model":5}', 400, "model"),
        (b'{"model":""}', 400, "model"),
        (b'{"model":"m","store":"yes"}', 400, "store"),
        (b'{"model":"m","stream":1}', 400, "stream"),
    ],
)
def test_what_cannot_be_passed_on_is_refused_here(
    server: Server, model: FaultServer, body: bytes, status: int, param: str | None
) -> None:
    answer = server.request("POST", CHAT, body=body)
    assert (answer.status, answer.error["param"]) == (status, param)
    assert model.requests == []


def test_half_an_emoji_is_passed_on(server: Server, model: FaultServer) -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}],"store":true}'
    status, _, _ = _post(server.url, CHAT, body)
    assert status == 200
    assert model.requests[-1].data == body
    (newest,) = server.get(f"{CHAT}?order=desc&limit=1").json()["data"]
    messages = server.get(f"{CHAT}/{newest['id']}/messages").json()["data"]
    assert messages[0]["content"] == "\ud83d"


def test_a_stream_comes_chunk_by_chunk_as_the_model_says_it(server: Server, model: FaultServer) -> None:
    events = chat_chunks(completion(HELLO, 7001))
    gated = Gated(events)
    model.script(gated)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("POST", CHAT, json.dumps({**HELLO, "stream": True, "store": True}))
    answer = connection.getresponse()  # the head comes before the first chunk
    assert answer.status == 200
    for event in events:
        gated.release()
        assert answer.read(len(event)) == event
    assert answer.read() == b""
    connection.close()
    assert "chatcmpl-7001" in stored(server)


def test_who_goes_away_ends_the_question_at_the_model(server: Server, model: FaultServer) -> None:
    gated = Gated(chat_chunks(completion(HELLO, 7002)))
    model.script(gated)
    before = fates(server).get("broken", 0)
    with server.connect() as connection:
        body = json.dumps({**HELLO, "stream": True, "store": True}).encode()
        connection.sendall(
            b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body
        )
        gated.release()
        assert b"200 OK" in connection.recv(100)
    assert gated.gone.wait(10)
    wait_for(lambda: fates(server).get("broken", 0) == before + 1)
    assert "chatcmpl-7002" not in stored(server)
    assert server.gauge("fairmark_requests_in_flight") == 1  # the one that asks


def test_who_goes_away_before_the_answer_begins_ends_it_too(server: Server, model: FaultServer) -> None:
    model.script(Slow(30))
    with server.connect() as connection:
        body = json.dumps(HELLO).encode()
        connection.sendall(
            b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body
        )
        wait_for(lambda: len(model.requests) == 1)
    wait_for(lambda: server.gauge("fairmark_requests_in_flight") == 1)


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda: Parts(*map(chunked, chat_chunks(completion(HELLO, 7100))[:4])), id="died in a stream"),
        pytest.param(lambda: Parts(b"5\r\nab", headers=None), id="died in a chunk"),
        pytest.param(lambda: Parts(chunked(b": 1\n\n"), b"no hex\r\n"), id="speaks no HTTP"),
        pytest.param(lambda: Parts(b'{"id":"chatcmpl-7100"', headers={"content-length": "1000"}), id="too short"),
    ],
)
def test_an_answer_that_is_cut_at_the_model_is_cut_here_and_not_stored(
    server: Server, model: FaultServer, broken: Callable[[], Any], store: bool
) -> None:
    model.script(broken())
    before = fates(server).get("broken", 0)
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        _post(server.url, CHAT, json.dumps({**HELLO, "stream": True, "store": store}).encode())
    wait_for(lambda: fates(server).get("broken", 0) == before + store)
    assert "chatcmpl-7100" not in stored(server)


def test_a_stream_that_ends_well_but_before_its_end_is_not_stored(server: Server, model: FaultServer) -> None:
    events = chat_chunks(completion(HELLO, 7200))[:4]
    model.script(Parts(*map(chunked, events), b"0\r\n\r\n"))
    before = fates(server).get("broken", 0)
    status, _, body = _post(server.url, CHAT, json.dumps({**HELLO, "stream": True, "store": True}).encode())
    assert (status, body) == (200, b"".join(events))
    assert "chatcmpl-7200" not in stored(server)
    assert fates(server)["broken"] == before + 1


@pytest.mark.parametrize("where", ["before", "head"])
def test_a_model_that_dies_before_it_answers_is_told_of(server: Server, model: FaultServer, where: Any) -> None:
    model.script(Cut(where))
    answer = server.post(CHAT, HELLO)
    assert (answer.status, answer.error["code"]) == (502, "model_unreachable")
    assert "gpt-6-luna: the server closed the connection" in answer.error["message"] or where == "head"


def test_a_model_that_nobody_serves_is_told_of(start: Start) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        server = start(env={"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": KEY})
        answer = server.post(CHAT, HELLO)
    assert (answer.status, answer.error["code"]) == (502, "model_unreachable")
    assert f"cannot connect to 127.0.0.1:{port}" in answer.error["message"]


def test_more_than_content_length_tells_does_not_reach_the_next(server: Server, model: FaultServer) -> None:
    extra = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nstale"
    model.script(Raw(b'{"a":1}' + extra, length=7))
    assert server.post(CHAT, HELLO).body == b'{"a":1}'
    for _ in range(3):
        assert server.post(CHAT, HELLO).json()["object"] == "chat.completion"


def test_a_zipped_answer_is_passed_as_it_is_and_stored_all_the_same(server: Server, model: FaultServer) -> None:
    model.script(Answer("hello", zipped=True))
    status, headers, body = _post(server.url, CHAT, json.dumps({**HELLO, "store": True}).encode())
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert body[:2] == b"\x1f\x8b"
    assert "chatcmpl-fault" in stored(server)


def test_silence_and_drips_have_an_end(start: Start, model: FaultServer) -> None:
    server = start(env={**environment(model), "FAIRMARK_COMPLETION_TIMEOUT_S": "0.3"})
    model.script(Slow(30))
    answer = server.post(CHAT, HELLO)
    assert (answer.status, answer.error["code"]) == (504, "model_timeout")
    assert "within 0.3 s" in answer.error["message"]
    model.script(Parts(chunked(b"data: 1\n\n"), hangs=True))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        _post(server.url, CHAT, json.dumps(HELLO).encode())
    model.script(Parts(*[chunked(b": still here\n\n")] * 1000))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        _post(server.url, CHAT, json.dumps(HELLO).encode())


def test_one_project_that_floods_leaves_room_for_another(start: Start, model: FaultServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    server = start(env={**environment(model), "FAIRMARK_COMPLETION_CONCURRENCY": "8"}, home=home)
    keys = [new_key(server, project) for project in ("flood", "calm")]
    gates = [Gated([b": \n\n"]) for _ in range(4)]
    model.script(*gates)
    connections = []
    for _ in range(4):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("POST", CHAT, json.dumps({**HELLO, "stream": True}), {"authorization": f"Bearer {keys[0]}"})
        connections.append(connection)
    for gate in gates:
        assert gate.begun.wait(10)
    refused = server.post(CHAT, HELLO, {"authorization": f"Bearer {keys[0]}"})
    assert (refused.status, refused.error["code"]) == (429, "too_many_at_once")
    assert refused.headers["retry-after"] == "1"
    assert server.post(CHAT, HELLO, {"authorization": f"Bearer {keys[1]}"}).status == 200
    for gate in gates:
        gate.release()
    for connection in connections:
        assert connection.getresponse().read() == b": \n\n"
        connection.close()
    assert server.post(CHAT, HELLO, {"authorization": f"Bearer {keys[0]}"}).status == 200


def new_key(server: Server, project: str) -> str:
    made = command.run(
        ["keys", "create", "--project", project],
        cwd=server.home.parent,
        env={"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(server.home)},
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def test_a_long_body_goes_through_as_it_is(server: Server, model: FaultServer) -> None:
    """It is looked through in turns here, and sent in parts."""
    picture = {"type": "image_url", "image_url": {"url": "data:" + "A" * 3_000_000}}
    messages = [{"role": "user", "content": [picture]}, {"role": "user", "content": "hello"}]
    body = json.dumps({"messages": messages, "model": "luna", "metadata": {"model": "sol"}}, indent=1).encode()
    answered = json.loads(_post(server.url, CHAT, body)[-1])
    assert answered["choices"][0]["message"]["content"] == "HELLO"
    [asked] = model.requests
    assert asked.data == body
    assert asked.headers["content-length"] == str(len(body))
    assert "transfer-encoding" not in asked.headers


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"messages": [' + b'{"a": 1},' * 200_000, "invalid_json"),
        (b'{"messages": [' + b'{"a": 1},' * 200_000 + b'1], "model": 1}', "invalid_type"),
        (b'{"messages": [' + b'{"a": 1},' * 200_000 + b"1]}", "missing_required_parameter"),
        (b"[" + b'{"a": 1},' * 200_000 + b"1]", "invalid_json"),
    ],
)
def test_a_long_body_that_is_wrong_is_refused(server: Server, body: bytes, code: str) -> None:
    status, *_, answer = _post(server.url, CHAT, body)
    assert (status, json.loads(answer)["error"]["code"]) == (400, code)


def test_a_response_in_the_background_is_refused_with_what_to_do_unless_it_is_a_stream(
    server: Server, model: FaultServer
) -> None:
    asked = {"model": "m", "input": "hi", "background": True}
    refused = server.post("/v1/responses", asked)
    assert (refused.status, refused.error["code"], refused.error["param"]) == (
        400,
        "unsupported_background",
        "background",
    )
    assert "Leave background out" in refused.error["message"]
    assert model.requests == []
    assert b"response.completed" in server.post("/v1/responses", {**asked, "stream": True}).body
    assert server.post("/v1/responses", {**asked, "background": False}).status == 200
    assert server.post(CHAT, {**HELLO, "background": True}).status == 200  # the chat API knows no such thing
