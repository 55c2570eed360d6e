"""The way to a server: addresses, keys, and servers that are not there, are something else, or misbehave."""

import asyncio
import json
import socket
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.client import AccessDenied, ServerFailed, remote
from fairmark.work import eventloop
from tests.client import places
from tests.client.places import EXACT
from tests.judges.faults import Behaviour, Cut, Endless, FaultServer, Raw, Slow, Status
from tests.server.client import Server

KEY = "fm-a-key-for-tests"


@pytest.fixture
def strange(home: Path) -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def root(server: FaultServer) -> str:
    parts = urllib.parse.urlsplit(server.url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture
def key(server: Server, home: Path) -> str:
    return eventloop.run(places.new_key(server.home, "team"))


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/openai/v1"])
def test_an_address_may_end_as_other_clients_have_it(server: Server, key: str, end: str) -> None:
    assert isinstance(fairmark.Client(server.url + end, key).graders.list(), list)


def test_the_key_may_stand_in_the_environment(server: Server, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AccessDenied, match="There is no API key"):
        fairmark.Client(server.url).graders.list()
    monkeypatch.setenv("FAIRMARK_API_KEY", key)
    assert fairmark.Client(server.url).graders.create.custom(key="from-env").project.key == "team"
    fairmark.Client(server.url).graders.delete(grader_key="from-env")


def test_a_wrong_key_is_denied(server: Server, home: Path) -> None:
    with pytest.raises(AccessDenied, match="The API key is not valid") as denied:
        fairmark.Client(server.url, KEY).graders.create(key="exact", grader=EXACT)
    assert isinstance(denied.value, PermissionError)
    assert KEY not in str(denied.value)


def test_a_key_opens_its_own_project_only(server: Server, key: str) -> None:
    assert isinstance(fairmark.Client(server.url, key, project="team").graders.list(), list)
    graders = fairmark.Client(server.url, key, project="other").graders
    calls: list[Any] = [
        lambda: graders.create(key="exact", grader=EXACT),
        lambda: graders.list(),
        lambda: graders.get(grader_key="exact"),
        lambda: graders.update(grader_key="exact", name="x"),
        lambda: graders.lock(grader_key="exact", locked=True),
        lambda: graders.delete(grader_key="exact"),
        lambda: graders.versions(grader_key="exact"),
        lambda: graders.scores(grader_key="exact"),
        lambda: graders.push_scores(grader_key="exact", scores=[]),
        lambda: graders.export(),
        lambda: graders.import_(pack={"graders": []}),
        lambda: fairmark.Client(server.url, key).graders.list(project="other"),
    ]
    for call in calls:
        with pytest.raises(AccessDenied, match=r'^project: found "other"\. This key opens the project "team" only\.$'):
            call()
    assert fairmark.Client(server.url, key).graders.list() == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "127.0.0.1:8000",
        "ftp://127.0.0.1",
        "http://",
        "http://host:port",
        "http://host:0",
        "http://h/?a=b",
        5,
        "http://[::1",
    ],
)
def test_what_is_no_address_is_refused_at_once(address: Any) -> None:
    with pytest.raises(ValueError, match=r"^base_url: found .* It takes the address of a Fairmark server"):
        fairmark.Client(address)


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ValueError, match="base_url: it holds a user or a password") as refused:
        fairmark.Client("http://me:secret@127.0.0.1:8000")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["two\nlines", "with space", "schlüssel", 5])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^api_key: it takes printable ASCII") as refused:
        fairmark.Client("http://127.0.0.1:8000", wrong)
    assert str(wrong) not in str(refused.value)


def test_a_key_without_a_server_is_refused() -> None:
    with pytest.raises(ValueError, match="api_key: only a server takes one"):
        fairmark.Client(api_key=KEY)


def test_a_server_that_is_down_is_told_in_one_sentence(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = fairmark.Client(f"http://127.0.0.1:{port}")
    for call in (client.graders.list, lambda: client.graders.create(key="exact", grader=EXACT)):
        with pytest.raises(ServerFailed) as failed:
            call()
        reason = f"cannot connect to 127.0.0.1:{port} (Connection refused)"
        assert str(failed.value) == f"the server 127.0.0.1:{port}: {reason}."
        assert failed.value.__cause__ is None


def test_nothing_is_sent_for_a_function_without_source(home: Path) -> None:
    client = fairmark.Client("http://127.0.0.1:9")
    with pytest.raises(ValueError, match="is no def"):
        client.graders.create.function(key="x", fn=lambda thread: 1.0)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (
            Raw(b"<html><body>Welcome</body></html>", "text/html"),
            'answered 200 with "<html><body>Welcome</body></html>"',
        ),
        (Raw(b"[]"), 'answered 200 with "[]", which is not what a Fairmark server says. Check base_url.'),
        (Raw(b""), 'answered 200 with ""'),
        (Raw(b"{}"), 'gave an answer without a valid "data". Check base_url.'),
        (Raw(b'{"data": [{"id": 5}], "has_more": false}'), "answer is no RegisteredGrader: Expected `str`, got `int`"),
        (Raw(b'{"data": [], "has_more": true}'), 'without a valid "last_id"'),
        (Status(302, location="http://127.0.0.1:1/"), "answered 302 and points elsewhere"),
        (Status(404, "Unknown route", "unknown_url"), "answered 404: Unknown route"),
        (Status(404, "No such thing.", "not_found"), "/v1/graders. Check base_url."),
        (Status(500, "It failed.", "internal_error"), "answered 500: It failed."),
        (Status(503, "Try again.", "store_unavailable"), "answered 503: Try again."),
        (Status(429, "Too many requests.", "rate_limit_exceeded"), "answered 429: Too many requests."),
        (Cut("before"), "the server closed the connection before it answered"),
        (Cut("body"), "the connection was cut in the middle of the answer"),
    ],
)
def test_what_no_fairmark_server_says_is_told_as_such(strange: FaultServer, behaviour: Behaviour, message: str) -> None:
    strange.always(behaviour)
    with pytest.raises(ServerFailed) as failed:
        fairmark.Client(root(strange)).graders.list()
    assert message in str(failed.value)


def test_a_key_that_a_server_repeats_is_not_shown(strange: FaultServer) -> None:
    strange.always(Raw(f"<p>Who is {KEY}?</p>".encode(), "text/html"))
    with pytest.raises(ServerFailed, match=r"Who is \*\*\*\?"):
        fairmark.Client(root(strange), KEY).graders.list()
    assert strange.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_that_is_any_word_does_no_harm_to_answers(strange: FaultServer) -> None:
    strange.always(Raw(b'{"graders": [{"key": "x"}]}'))
    assert fairmark.Client(root(strange), "x").graders.export() == {"graders": [{"key": "x"}]}


def test_reading_is_tried_again_where_a_connection_breaks_and_writing_is_not(strange: FaultServer) -> None:
    empty = Raw(json.dumps({"data": [], "has_more": False}).encode())
    strange.script(Cut("before"), Cut("before"), empty)
    assert fairmark.Client(root(strange)).graders.list() == []
    before = len(strange.requests)
    strange.script(Cut("before"), empty)
    with pytest.raises(ServerFailed, match="closed the connection"):
        fairmark.Client(root(strange)).graders.create(key="exact", grader=EXACT)
    assert len(strange.requests) == before + 1


def test_a_server_that_takes_too_long_is_given_up(strange: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "DEADLINE_S", 0.2)
    strange.always(Slow(30))
    with pytest.raises(ServerFailed, match=r"gave no answer within 0\.2 s\."):
        fairmark.Client(root(strange)).graders.get(grader_key="exact")


def test_an_answer_without_end_is_given_up(strange: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_BYTES", 1_000_000)
    strange.always(Endless(chunk=65_536, pause_s=0))
    with pytest.raises(ServerFailed, match="answered with more than 1 MB"):
        fairmark.Client(root(strange)).graders.get(grader_key="exact")


def test_a_call_that_is_cancelled_ends(strange: FaultServer) -> None:
    strange.always(Slow(30))

    async def cancel() -> None:
        call = asyncio.create_task(fairmark.AsyncClient(root(strange)).graders.list())
        while not strange.requests:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancel())
