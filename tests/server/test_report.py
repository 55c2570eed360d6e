"""A run's report as a page."""

import re
from typing import Any

from tests.server.client import EXACT, Server, wait_for

SCRIPT = "<script>alert(1)</script>"


def report_of(server: Server, name: str, rows: list[dict[str, Any]], criteria: list[dict[str, Any]]) -> str:
    config = {"type": "custom", "item_schema": {"type": "object"}}
    made = {"name": name, "data_source_config": config, "testing_criteria": criteria}
    eval_ = server.post("/v1/evals", made).json()
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    run = server.post(f"/v1/evals/{eval_['id']}/runs", {"name": name, "data_source": source}).json()
    path = f"/v1/evals/{eval_['id']}/runs/{run['id']}"
    wait_for(lambda: server.get(path).json()["status"] == "completed")
    answer = server.get(re.sub(r"^http://[^/]+", "", run["report_url"]))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.body.decode()


def test_the_report_shows_counts_criteria_and_rows(server: Server) -> None:
    rows = [
        {"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}},
        {"item": {"answer": "Rome"}, "sample": {"output_text": "Milan"}},
        {"item": {}, "sample": {"output_text": "Oslo"}},
    ]
    page = report_of(server, "capitals", rows, [{**EXACT, "name": "exact"}])
    assert "capitals: completed, 3 of 3 rows" in page
    assert page.count('<td class="number">1') == 6  # passed, failed and errors, of rows and of the criterion
    assert '<td class="pass">0 pass' in page
    assert '<td class="error">2 error' in page
    assert "this item has no field &quot;answer&quot;" in page


def test_what_comes_from_users_is_shown_and_never_run(server: Server) -> None:
    rows = [{"item": {"answer": SCRIPT}, "sample": {"output_text": SCRIPT}}]
    page = report_of(server, SCRIPT, rows, [{**EXACT, "name": SCRIPT}])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


def test_the_report_of_nobodys_run_is_an_error_in_the_common_form(server: Server) -> None:
    answer = server.get("/evals/eval_x/runs/evalrun_x")
    assert answer.status == 404
    assert answer.error["code"] == "not_found"
