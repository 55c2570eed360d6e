"""The server as a process: its start, its end, and what it keeps."""

import concurrent.futures
import json
import signal
import socket
import sys
from pathlib import Path

import pytest

from fairmark.sandbox import images
from fairmark.server.serve import SWITCH_S, run_loop, what_graders_lack
from tests.sandbox.tiny import ready
from tests.server.client import RUN, Server, run_body, wait_for
from tests.server.conftest import Start

SLOW = {"type": "python", "source": "import time\ndef grade(sample, item):\n    time.sleep(2)\n    return 0.5\n"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_in_flight_finish(start: Start, number: int) -> None:
    server = start(cold=number == signal.SIGTERM)
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        asked = thread.submit(server.post, RUN, run_body(SLOW))
        wait_for(lambda: server.gauge("fairmark_requests_in_flight") == 2)
        assert server.stop(number) == 0
        assert asked.result().json()["reward"] == 0.5
    assert server.log()[-1]["event"] == "stopped"


def test_idle_connections_do_not_hold_up_the_end(start: Start) -> None:
    server = start()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        assert server.stop() == 0


def test_what_was_stored_is_there_after_the_next_start(start: Start) -> None:
    first = start()
    file_id = first.upload(b"{}\n").json()["id"]
    first.stop(signal.SIGKILL)
    second = start(home=first.home)
    assert second.get(f"/v1/files/{file_id}/content").body == b"{}\n"


def test_a_grader_that_breaks_the_server_would_be_a_500_that_nobody_retries(start: Start) -> None:
    """The only way to see one: put something else in the place of what the server holds."""
    server = start()
    file_id = server.upload(b"{}\n").json()["id"]
    (server.home / "files" / file_id).unlink()
    (server.home / "files" / file_id).mkdir()
    answer = server.get(f"/v1/files/{file_id}/content")
    assert (answer.status, answer.error["code"]) == (500, "internal_error")
    assert answer.headers["x-should-retry"] == "false"
    assert "Traceback" not in answer.body.decode()
    server.stop()
    (told,) = [line for line in server.log() if line["event"] == "request failed"]
    assert "Traceback" in told["traceback"]
    assert told["request_id"] == answer.headers["x-request-id"]


@pytest.mark.thorough
def test_memory_stays_flat_over_many_requests(start: Start) -> None:
    server = start()
    rows = [{"item": {"answer": str(index), "text": "x" * 500}, "sample": str(index)} for index in range(5000)]
    body = json.dumps({"grader": run_body()["grader"], "rows": rows}).encode()

    def ask(server: Server) -> None:
        assert server.request("POST", "/v1/rewards", body=body).status == 200

    for _ in range(5):
        ask(server)
    before = server.memory_mb()
    for _ in range(30):
        ask(server)
    assert server.memory_mb() < before + 30


def test_whoever_starts_it_without_an_image_is_told_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "OF_THE_ENVIRONMENT", tmp_path / "nothing")
    assert what_graders_lack(tmp_path) == (
        "python graders have the standard library only: fairmark sandbox install adds numpy, rapidfuzz, deepdiff, "
        "jsonschema, pydantic, pyyaml, nltk, sqlparse, sympy."
    )
    ready(tmp_path, "base")
    assert what_graders_lack(tmp_path) is None


def test_threads_of_the_store_need_not_wait_long_for_the_interpreter() -> None:
    async def asked() -> float:
        return sys.getswitchinterval()

    before = sys.getswitchinterval()
    try:
        assert run_loop(asked()) == pytest.approx(SWITCH_S)
    finally:
        sys.setswitchinterval(before)
