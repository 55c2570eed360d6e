"""What holds for every request: prefixes, keys, limits, ids, errors, and clients that misbehave."""

import asyncio
import concurrent.futures
import gzip
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark.evals.engine import Engine
from fairmark.refusals import disk_full
from fairmark.server.gate import Gate, canonical
from fairmark.serving.access import Access
from fairmark.serving.wire import State
from fairmark.settings import Settings
from fairmark.store import DiskFull, Store, StoreUnavailable
from fairmark.web.site import Site
from tests.server.client import RUN, Server, run_body, wait_for
from tests.server.conftest import Start

SMALL = {"FAIRMARK_MAX_BODY_MB": "1", "FAIRMARK_REQUEST_TIMEOUT_S": "1"}


def make_key(home: Path, project: str = "default") -> str:
    async def make() -> str:
        store = await Store.open(None, home, exclusive=False)
        try:
            return await store.keys.create(project, "test")
        finally:
            await store.close()

    return asyncio.run(make())


def revoke_keys(home: Path) -> None:
    async def revoke() -> None:
        store = await Store.open(None, home, exclusive=False)
        for key in await store.keys.list():
            await store.keys.revoke(key.id)
        await store.close()

    asyncio.run(revoke())


# Prefixes


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/evals", "/v1/evals"),
        ("/v1/evals/", "/v1/evals"),
        ("/openai/v1/evals", "/v1/evals"),
        ("/openai/evals/e/runs", "/v1/evals/e/runs"),
        ("/openai/deployments/gpt/evals/e", "/v1/evals/e"),
        ("/openai/deployments/evals", "/v1/evals"),
        ("/openai/deployments/evals/eval_1/runs", "/v1/evals/eval_1/runs"),
        ("/openai/deployments/evals/evals/eval_1", "/v1/evals/eval_1"),
        ("/api/projects/p/openai/v1/files", "/v1/files"),
        ("/api/projects/p/openai/files", "/v1/files"),
        ("/api/projects/openai/files", "/api/projects/openai/files"),
        ("/healthz", "/healthz"),
        ("/", "/"),
        ("/openai", "/v1"),
        ("/evals", "/evals"),
        ("*", "*"),
        ("", "/"),
    ],
)
def test_every_prefix_means_the_same_routes(path: str, meant: str) -> None:
    assert canonical(path) == meant


@pytest.mark.parametrize(
    "prefix",
    [
        "/v1",
        "/openai/v1",
        "/openai",
        "/openai/deployments/gpt-4o",
        "/api/projects/p/openai",
        "/api/projects/p/openai/v1",
    ],
)
def test_a_request_below_any_prefix_is_answered_and_its_unknown_query_ignored(server: Server, prefix: str) -> None:
    path = f"{prefix}/fine_tuning/alpha/graders/run?api-version=2025-04-01-preview&x=1"
    assert server.post(path, run_body()).json()["reward"] == 1.0
    assert server.get(f"{prefix}/files?api-version=v1").json()["object"] == "list"


# Request ids and errors


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "unknown_url"),
        ("GET", "/nothing", 404, "unknown_url"),
        ("GET", "/v1/../../etc/passwd", 404, "unknown_url"),
        ("GET", "/v1/files/file-none", 404, "not_found"),
        ("PATCH", "/v1/files", 405, "method_not_allowed"),
        ("OPTIONS", "/v1/evals", 405, "method_not_allowed"),
        ("GET", RUN, 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("GET", "/v1/files?limit=0", 400, "invalid_value"),
        ("GET", "/v1/files?order=up", 400, "invalid_value"),
        ("GET", "/v1/files?after=file-none", 400, "invalid_value"),
    ],
)
def test_every_error_has_the_envelope_and_a_request_id(
    server: Server, method: str, path: str, status: int, code: str
) -> None:
    answer = server.request(method, path)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert re.fullmatch("req_[0-9a-f]{32}", answer.headers["x-request-id"])


def test_a_wrong_method_is_told_the_right_ones(server: Server) -> None:
    assert set(server.request("PATCH", "/v1/files").headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert server.request("GET", RUN).headers["allow"] == "POST"


def test_no_two_answers_have_the_same_request_id(server: Server) -> None:
    ids = {server.get("/healthz", {"x-request-id": "mine"}).headers["x-request-id"] for _ in range(20)}
    assert len(ids) == 20
    assert "mine" not in ids


def test_head_is_get_without_a_body(server: Server) -> None:
    answer = server.request("HEAD", "/v1/models")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) == len(server.get("/v1/models").body)


# Keys


def test_without_keys_loopback_is_open_and_says_so(start: Start) -> None:
    server = start()
    assert server.get("/v1/files", {"authorization": "Bearer anything"}).status == 200
    assert server.process.stdout is not None
    assert "There are no keys" in server.process.stdout.readline()


def test_with_a_key_only_its_holder_comes_in_by_either_header(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = make_key(home)
    server = start(home=home)
    for headers in (
        {"authorization": f"Bearer {key}"},
        {"authorization": f"bearer {key}"},
        {"api-key": key},
        {"api-key": key, "authorization": "Basic abc"},
        {"api-key": "other", "authorization": f"Bearer {key}"},
    ):
        assert server.get("/v1/files", headers).status == 200
    for headers in ({}, {"authorization": "Bearer"}, {"authorization": "Bearer wrong"}, {"api-key": key[:-1]}):
        answer = server.get("/v1/files", headers)
        assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
        assert answer.error["type"] == "invalid_request_error"
    assert server.post(RUN, run_body()).status == 401
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"):
        assert server.get(path).status == 200


def test_a_key_made_beside_an_open_server_closes_it_within_seconds(start: Start) -> None:
    server = start()
    assert server.get("/v1/files").status == 200
    key = make_key(server.home)
    wait_for(lambda: server.get("/v1/files").status == 401)
    assert server.get("/v1/files", {"api-key": key}).status == 200


def test_a_revoked_key_stops_working_within_seconds_and_the_door_stays_shut(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = make_key(home)
    server = start(home=home)
    assert server.get("/v1/files", {"api-key": key}).status == 200
    revoke_keys(home)
    wait_for(lambda: server.get("/v1/files", {"api-key": key}).status == 401)
    assert server.get("/v1/files").status == 401


def test_projects_do_not_see_one_another(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ours, theirs = {"api-key": make_key(home, "ours")}, {"api-key": make_key(home, "theirs")}
    server = start(home=home)
    file_id = server.upload(b"{}\n", headers=ours).json()["id"]
    assert server.get(f"/v1/files/{file_id}", ours).status == 200
    assert server.get(f"/v1/files/{file_id}", theirs).status == 404
    assert server.get(f"/v1/files/{file_id}/content", theirs).status == 404
    assert server.request("DELETE", f"/v1/files/{file_id}", headers=theirs).status == 404
    assert server.get("/v1/files", theirs).json()["data"] == []


def test_no_key_is_ever_logged(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    key = make_key(home)
    server = start(home=home, args=["--log-level", "debug"])
    server.get(f"/v1/files?api-key={key}", {"authorization": f"Bearer {key}"})
    server.get("/v1/files", {"authorization": f"Bearer {key}x"})
    server.raw(b"NOT HTTP " + key.encode() + b"\r\n\r\n")
    server.stop()
    log = server.stderr.read_text()
    assert '"status":200' in log
    assert '"status":401' in log
    assert key not in log


def test_a_web_page_cannot_use_an_open_server(server: Server) -> None:
    """Neither by its own name, nor under a name that it points at this machine."""
    page = server.post(RUN, run_body(), {"origin": "https://evil.example"})
    assert (page.status, page.error["code"]) == (403, "origin_not_allowed")
    renamed = server.post(RUN, run_body(), {"host": "evil.example:8000"})
    assert (renamed.status, renamed.error["code"]) == (403, "host_not_allowed")
    own = {"host": f"localhost:{server.port}", "origin": f"http://localhost:{server.port}"}
    assert server.post(RUN, run_body(), own).status == 200
    assert server.post(RUN, run_body(), {"host": "[::1]:80"}).status == 200


def test_a_key_may_knock_only_so_often(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first, second = make_key(home), make_key(home)
    server = start(home=home, env={"FAIRMARK_RATE_LIMIT_PER_MINUTE": "5"})
    found = [server.get("/v1/files", {"api-key": first}) for _ in range(7)]
    assert [answer.status for answer in found] == [200] * 5 + [429] * 2
    assert found[-1].error["code"] == "rate_limit_exceeded"
    assert 1 <= int(found[-1].headers["retry-after"]) <= 13
    assert server.get("/v1/files", {"api-key": second}).status == 200
    assert server.get("/healthz").status == 200


# Bodies, and clients that misbehave


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("small") / "home", SMALL)
    yield started
    started.stop()


def post(path: bytes, headers: bytes, body: bytes = b"") -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n%b" % (path, headers, body)


def test_a_body_that_says_it_is_too_long_is_refused_before_it_comes(small: Server) -> None:
    answer = small.raw(post(b"/v1/rewards", b"Content-Length: 1000001\r\n"))
    assert answer.startswith(b"HTTP/1.1 413")
    assert answer.count(b"HTTP/1.1") == 1
    assert b'"code":"request_too_large"' in answer


def test_a_body_of_unknown_length_is_refused_when_it_has_become_too_long(small: Server) -> None:
    chunks = (b"%x\r\n" % 1_000_001) + b" " * 1_000_001 + b"\r\n0\r\n\r\n"
    answer = small.raw(post(b"/v1/rewards", b"Transfer-Encoding: chunked\r\nConnection: close\r\n", chunks))
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_client_that_sends_everything_before_it_listens_sees_the_refusal(small: Server) -> None:
    client = http.client.HTTPConnection("127.0.0.1", small.port, timeout=60)
    client.request("POST", "/v1/rewards", b" " * 30_000_000)
    answer = client.getresponse()
    assert answer.status == 413
    assert b"The body is longer than 1 MB." in answer.read()
    client.close()
    assert small.request("POST", "/v1/rewards", body=b" " * 30_000_000).status == 413


def test_an_endless_body_is_cut_off(small: Server) -> None:
    with small.connect() as connection:
        connection.sendall(post(b"/v1/rewards", b"Transfer-Encoding: chunked\r\n"))
        sent = 0
        try:
            while sent < 2_000_000_000:
                connection.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
                sent += 0x100000
        except OSError:
            pass
        assert sent < 2_000_000_000
    assert small.memory_mb(peak=True) < 300


def test_a_compressed_body_is_refused_by_its_header_and_not_by_its_bytes(server: Server) -> None:
    packed = gzip.compress(json.dumps(run_body()).encode())
    for path in (RUN, "/v1/evals", "/v1/files"):
        answer = server.request("POST", path, headers={"content-encoding": "gzip"}, body=packed)
        assert (answer.status, answer.error["code"]) == (400, "invalid_value")
        assert answer.error["message"].startswith('Content-Encoding: found "gzip". ')
    plain = json.dumps(run_body()).encode()
    assert server.request("POST", RUN, headers={"content-encoding": "identity"}, body=plain).status == 200


def test_a_chunked_body_is_a_body(server: Server) -> None:
    body = json.dumps(run_body()).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7))
    head = b"Transfer-Encoding: chunked\r\nConnection: close\r\n"
    answer = server.raw(post(RUN.encode(), head, chunks + b"0\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"reward":1.0' in answer


def test_pipelined_requests_are_answered_in_their_order(server: Server) -> None:
    requests = b""
    for index, sample in enumerate(["Paris", "Rome", "Paris"]):
        body = json.dumps(run_body(sample=sample)).encode()
        close = b"Connection: close\r\n" if index == 2 else b""
        requests += post(RUN.encode(), close + b"Content-Length: %d\r\n" % len(body), body)
    answers = server.raw(requests)
    assert re.findall(rb'\{"reward":(\d\.\d)', answers) == [b"1.0", b"0.0", b"1.0"]


@pytest.mark.parametrize(
    "start_of_request",
    [
        b"",
        b"POST /v1/rewards HTT",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n",
        post(b"/v1/rewards", b"Content-Length: 9\r\n", b"{"),
    ],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
def test_a_client_that_never_finishes_its_request_is_sent_away(small: Server, start_of_request: bytes) -> None:
    answer = small.raw(start_of_request)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code":"request_timeout"' in answer
    assert small.get("/healthz").status == 200


def test_a_client_that_sends_a_byte_now_and_then_is_sent_away_too(small: Server) -> None:
    with small.connect() as connection:
        connection.sendall(post(b"/v1/rewards", b"Content-Length: 100000\r\n"))
        began = time.monotonic()
        try:
            while time.monotonic() - began < 30:
                connection.sendall(b" ")
                time.sleep(0.1)
        except OSError:
            pass
        assert time.monotonic() - began < 30


def test_dawdlers_do_not_keep_others_waiting(server: Server) -> None:
    dawdlers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for each in dawdlers:
        each.sendall(b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n")
    assert server.post(RUN, run_body()).status == 200
    for each in dawdlers:
        each.close()


@pytest.mark.parametrize("junk", [b"\x00\xff\xfe\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n"])
def test_what_is_not_http_gets_an_envelope_and_the_connection_ends(server: Server, junk: bytes) -> None:
    answer = server.raw(junk)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b'"code":"invalid_http"' in answer
    assert b"x-request-id: req_" in answer


@pytest.mark.parametrize(
    "path", [b"/v1/%00", b"/v1/files/%2e%2e%2f%2e%2e", b"/v1/files/\xff", b"/v1/evals/" + b"a" * 5000, b"*"]
)
def test_odd_paths_are_unknown_and_nothing_else(server: Server, path: bytes) -> None:
    answer = server.raw(b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)
    assert answer[9:12] in (b"404", b"400")
    assert b'{"error":{"message":' in answer


def test_bodies_in_memory_are_bounded_all_together(start: Start) -> None:
    """Eight bodies of a megabyte have room; those who come when it is full are asked to come again."""
    server = start(env={**SMALL, "FAIRMARK_REQUEST_TIMEOUT_S": "60"})
    most_of_one = post(b"/v1/rewards", b"Transfer-Encoding: chunked\r\n", b"%x\r\n" % 1_000_000 + b" " * 999_990)
    open_ones = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(8)]
    for each in open_ones:
        each.sendall(most_of_one)
    wait_for(lambda: server.gauge("fairmark_body_bytes") == 8 * 999_990)
    with server.connect() as connection:
        connection.sendall(most_of_one)
        assert connection.recv(1000).startswith(b"HTTP/1.1 503")
    assert server.post(RUN, run_body()).status == 200
    for each in open_ones:
        each.close()
    wait_for(lambda: server.gauge("fairmark_body_bytes") == 0)


def test_an_unreachable_store_is_a_503_that_says_try_again_and_it_recovers(start: Start, tmp_path: Path) -> None:
    server = start()
    database = server.home / "fairmark.db"
    assert server.get("/readyz").json() == {"status": "ready"}
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        holder = Holder(database)
        thread.submit(holder.hold).result(30)
        answer = server.upload(b"{}\n")
        thread.submit(holder.let_go).result(30)
    assert (answer.status, answer.error["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"] == "1"
    assert server.upload(b"{}\n").status == 200
    assert list((server.home / "files").glob("*.part")) == []
    assert len(list((server.home / "files").iterdir())) == 1
    assert server.get("/healthz").status == 200


class Holder:
    """Somebody else who writes to the database and does not come to an end."""

    def __init__(self, database: Path) -> None:
        self.database = database

    def hold(self) -> None:
        import sqlite3

        self.connection = sqlite3.connect(self.database, isolation_level=None)
        self.connection.execute("BEGIN IMMEDIATE")

    def let_go(self) -> None:
        self.connection.rollback()
        self.connection.close()


def test_the_log_tells_of_failures_and_not_of_what_went_well(start: Start) -> None:
    server = start()
    good, bad = server.get("/healthz"), server.get("/v1/nothing")
    server.stop()
    lines = server.log()
    assert [line["event"] for line in lines] == ["started", "request", "stopped"]
    told: dict[str, Any] = lines[1]
    assert told["request_id"] == bad.headers["x-request-id"]
    assert (told["level"], told["method"], told["path"], told["status"]) == ("info", "GET", "/v1/nothing", 404)
    assert good.headers["x-request-id"] not in server.stderr.read_text()


# What the log tells


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (DiskFull("no room"), 507, [("ERROR", "disk full", "no room")]),
        (StoreUnavailable("locked"), 503, [("WARNING", "store unavailable", "locked")]),
        (disk_full(503), 503, []),  # whoever raises an answer has told what is to be told
        (KeyError("x"), 500, [("ERROR", "request failed", None)]),
    ],
)
def test_what_is_no_fault_of_the_request_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception, status: int, told: list[Any]
) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise error

    async def ask() -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        store = await Store.open(None, tmp_path)
        try:
            state = State(store, Engine(store), Settings(home=tmp_path))
            gate = Gate(fail, {}, (), state, Access(store.keys, store.sessions, True, 0, state.wrong_keys), Site())
            scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": "/v1/evals", "headers": []}
            await gate(scope, _nothing, _into(sent))
        finally:
            await store.close()
        return sent

    caplog.set_level("WARNING", "fairmark.server")
    sent = asyncio.run(ask())
    assert sent[0]["status"] == status
    events = [record for record in caplog.records if record.getMessage() != "request"]
    reasons = [getattr(record, "fields", {}).get("reason") for record in events]
    assert [(record.levelname, record.getMessage(), why) for record, why in zip(events, reasons, strict=True)] == told


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


def _into(sent: list[dict[str, Any]]) -> Any:
    async def send(message: Any) -> None:
        sent.append(message)

    return send
