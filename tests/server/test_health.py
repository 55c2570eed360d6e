"""For those who look after the server."""

import re

from tests.server.client import EXACT, RUN, Server, run_body
from tests.server.conftest import Start


def test_alive_and_ready(server: Server) -> None:
    assert server.get("/healthz").json() == {"status": "ok"}
    assert server.get("/readyz").json() == {"status": "ready"}


def test_metrics_count_requests_by_route_and_rows_by_kind_and_status(start: Start) -> None:
    server = start()
    server.post(RUN, run_body())
    server.post("/openai/fine_tuning/alpha/graders/run", run_body())
    server.post(RUN, {})
    server.post("/v1/rewards", {"grader": EXACT, "rows": [{"item": {"answer": "1"}, "sample": "1"}, {"item": {}}, 7]})
    server.get("/v1/files/file-1")
    server.get("/v1/files/file-2")
    server.get("/nowhere")
    text = server.get("/metrics").body.decode()
    for line in (
        f'fairmark_requests_total{{route="{RUN}",status="200"}} 2',
        f'fairmark_requests_total{{route="{RUN}",status="400"}} 1',
        'fairmark_requests_total{route="/v1/files/{file_id}",status="404"} 2',
        'fairmark_requests_total{route="unknown",status="404"} 1',
        'fairmark_rows_graded_total{kind="string_check",status="graded"} 3',
        'fairmark_rows_graded_total{kind="string_check",status="error"} 2',
        f'fairmark_request_seconds_count{{route="{RUN}"}} 3',
        f'fairmark_request_seconds_bucket{{route="{RUN}",le="+Inf"}} 3',
        "fairmark_requests_in_flight 1",
        'fairmark_runs{status="completed"} 0',
    ):
        assert f"\n{line}\n" in f"\n{text}", line


def test_metrics_are_in_prometheus_form(server: Server) -> None:
    answer = server.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in answer.body.decode().splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"\n]*",?)+\})? [0-9.e+-]+', line), line
