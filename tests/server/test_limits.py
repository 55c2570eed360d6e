"""Limits of projects, at a real server."""

import concurrent.futures
from typing import Any

from tests import command
from tests.server.client import EXACT, RUN, Server, run_body, wait_for
from tests.server.conftest import Start
from tests.web.forms import HTML, get, post

SLOW = {"type": "python", "source": "import time\ndef grade(sample, item):\n    time.sleep(2)\n    return 0.5\n"}


def set_limits(server: Server, *options: str) -> None:
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(server.home)}
    done = command.run(["limits", "set", "default", *options], cwd=server.home.parent, env=env)
    assert done.returncode == 0, done.stderr


def told(server: Server) -> str:
    return server.get("/metrics").body.decode()


def test_a_limit_set_beside_a_running_server_counts_soon_and_is_told(start: Start) -> None:
    server = start()
    set_limits(server, "--requests", "1", "--rows", "3", "--storage-mb", "0")
    wait_for(lambda: 'fairmark_project_limit{project="default",limit="requests_at_once"} 1\n' in told(server))
    refused = server.upload(b"{}\n")
    assert (refused.status, refused.error["code"]) == (429, "project_storage_bytes")
    config = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
    made = server.post("/v1/evals", {"data_source_config": config, "testing_criteria": [EXACT]}).json()
    content: list[Any] = [{"item": {"answer": "a"}, "sample": {"output_text": "a"}}] * 4
    for rows, status in ((4, 429), (3, 201)):
        source = {"type": "jsonl", "source": {"type": "file_content", "content": content[:rows]}}
        assert server.post(f"/v1/evals/{made['id']}/runs", {"data_source": source}).status == status
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        asked = thread.submit(server.post, RUN, run_body(SLOW))
        wait_for(lambda: server.gauge("fairmark_requests_in_flight") == 2)
        second = server.post(RUN, run_body())
        assert (second.status, second.error["code"]) == (429, "project_requests_at_once")
        assert second.headers["retry-after"] == "1"
        assert server.get("/healthz").status == 200
        assert asked.result().json()["reward"] == 0.5
    assert server.post(RUN, run_body()).status == 200
    assert 'fairmark_project_refused_total{project="default",limit="rows_queued"} 1\n' in told(server)


def test_the_page_of_keys_shows_limits_and_sets_them(start: Start) -> None:
    server = start()
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(server.home)}
    key = command.run(["keys", "create"], cwd=server.home.parent, env=env).stdout.strip()
    set_limits(server, "--dollars", "12.5")
    wait_for(lambda: server.get("/v1/files").status == 401)
    by = {"authorization": f"Bearer {key}", **HTML}
    page = get(server, "/keys", by)
    assert page.status == 200
    assert "12.5" in page.body.decode()
    done = post(server, "/limits", {"project": "other", "weight": "2", "storage_bytes": "1.5"}, page, by)
    assert (done.status, done.headers["location"].partition("?")[0]) == (303, "/keys")
    again = get(server, "/keys", by)
    assert 'id="storage_bytes-other" name="storage_bytes"' in again.body.decode()
    assert 'value="1.5"' in again.body.decode()
    wrong = post(server, "/limits", {"project": "other", "requests_at_once": "many"}, again, by)
    assert wrong.status == 400
    assert "Requests at once: found" in wrong.body.decode()
    other = command.run(["keys", "create", "--project", "other"], cwd=server.home.parent, env=env).stdout.strip()
    theirs = {"authorization": f"Bearer {other}", **HTML}
    assert post(server, "/limits", {"project": "other"}, get(server, "/evals", theirs), theirs).status == 403
