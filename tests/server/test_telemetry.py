"""Traces and events of a real server with the real packages, at a collector that only notes what it gets."""

import gzip
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.client import EXACT, RUN, Server, run_body, wait_for

ENVIRONMENT = Path(__file__).parents[2] / ".venv-clients" / "otel"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector(http.server.ThreadingHTTPServer):
    """What comes at /v1/traces and /v1/logs, in the wire's bytes: names stand in them as they are."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: dict[str, list[bytes]] = {}

    def got(self, path: str) -> bytes:
        return b"".join(self.bodies.get(path, []))


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        packed = self.headers.get("content-encoding") == "gzip"
        self.server.bodies.setdefault(self.path, []).append(gzip.decompress(body) if packed else body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.thorough
def test_requests_runs_and_grades_reach_a_collector(tmp_path: Path, collector: Collector) -> None:
    (packages,) = ENVIRONMENT.glob("lib/python3.*/site-packages")
    endpoint = f"http://127.0.0.1:{collector.server_address[1]}"
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "PYTHONPATH": str(packages), "OTEL_SERVICE_NAME": "graders"}
    server = Server(tmp_path / "home", env)
    try:
        asked = server.post(RUN, run_body(), {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
        assert asked.status == 200
        config = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
        made = server.post("/v1/evals", {"data_source_config": config, "testing_criteria": [EXACT]}).json()
        content = [{"item": {"answer": "a"}, "sample": {"output_text": "a"}}]
        source = {"type": "jsonl", "source": {"type": "file_content", "content": content}}
        run = server.post(f"/v1/evals/{made['id']}/runs", {"data_source": source}).json()
        path = f"/v1/evals/{made['id']}/runs/{run['id']}"
        wait_for(lambda: server.get(path).json()["status"] == "completed")
    finally:
        assert server.stop() == 0  # sends what is left
    traces, events = collector.got("/v1/traces"), collector.got("/v1/logs")
    for told in (f"POST {RUN}", "http.response.status_code", asked.headers["x-request-id"], "eval run", run["id"]):
        assert told.encode() in traces, told
    assert bytes.fromhex(TRACE) in traces
    assert b"graders" in traces
    for told in ("gen_ai.evaluation.result", "gen_ai.evaluation.name", "exact", "gen_ai.evaluation.score.value"):
        assert told.encode() in events, told
    assert bytes.fromhex(TRACE) in events  # a grade belongs to the request that asked for it
    assert "Traceback" not in server.stderr.read_text()


@pytest.mark.thorough
def test_a_collector_that_is_not_there_harms_nobody(tmp_path: Path) -> None:
    (packages,) = ENVIRONMENT.glob("lib/python3.*/site-packages")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PYTHONPATH": str(packages)}
    server = Server(tmp_path / "home", env)
    assert [server.post(RUN, run_body()).status for _ in range(20)] == [200] * 20
    assert server.stop() == 0
