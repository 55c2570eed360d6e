"""What labels say of a run, on its pages."""

import json

from playwright.sync_api import Page, expect

from tests.server.client import Server
from tests.web.forms import get
from tests.web.labels.test_screen import run_of


def labelled(server: Server, count: int, raters: int = 1) -> str:
    """A run of which this many rows are labelled: half of them pass, as the judge says, but for every tenth."""
    path = run_of(server, max(count, 80))
    items = server.get(f"/v1{path}/output_items?limit=100").json()["data"]
    lines = [
        {"item_id": item["id"], "label": "fail" if at % 2 or at % 10 == 0 else "pass", "rater": f"rater {rater}"}
        for at, item in enumerate(items[:count])
        for rater in range(raters)
    ]
    sent = "".join(json.dumps(line) + "\n" for line in lines).encode()
    answer = server.request("POST", f"/v1/labels/import?run_id={path.rpartition('/')[2]}", body=sent)
    assert answer.status == 200, answer.body
    return path


def test_the_runs_page_shows_the_corrected_rate_and_how_far_judge_and_people_agree(server: Server, page: Page) -> None:
    path = labelled(server, 60)
    page.goto(path)
    said = page.get_by_role("region", name="What people say")
    expect(said).to_contain_text("judge says 50%, corrected 40% (")
    expect(said).to_contain_text("), from 60 labels")
    expect(said).to_contain_text("κ 0.80 (")


def test_without_enough_labels_the_page_says_why_there_is_no_rate(server: Server, page: Page) -> None:
    page.goto(labelled(server, 5))
    said = page.get_by_role("region", name="What people say")
    expect(said).to_contain_text("No corrected rate yet: 5 graded rows are labelled; a corrected rate takes 30.")


def test_a_run_without_labels_only_offers_to_label(server: Server, page: Page) -> None:
    page.goto(run_of(server, 2))
    expect(page.get_by_role("link", name="Label", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="What people say")).to_have_count(0)


def test_labels_and_pushed_scores_are_shown_on_the_row(server: Server, page: Page) -> None:
    path = run_of(server, 3)
    run_id = path.rpartition("/")[2]
    body = {"run_id": run_id, "row": 1, "label": "fail", "rater": "kim", "note": "It is not."}
    assert server.post("/v1/labels", body).status == 201
    item = server.get(f"/v1{path}/output_items").json()["data"][1]["id"]
    server.post("/v1/graders", {"key": "editors", "grader": {"type": "custom", "name": "Editors"}})
    pushed = [{"sample_id": item, "value": 4, "reasoning": "Clear, a little long."}]
    assert server.post("/v1/graders/editors/scores", {"scores": pushed}).status == 200
    page.goto(f"{path}/rows/1")
    said = page.get_by_role("region", name="What people say")
    for words in ("fail", "kim", "It is not.", "4", "editors", "Clear, a little long."):
        expect(said).to_contain_text(words)
    page.goto(path)
    expect(page.get_by_role("region", name="Scores pushed by custom graders")).to_contain_text("editors1 row, mean 4")
    page.goto(f"{path}/rows/2")
    expect(page.get_by_role("region", name="What people say")).to_have_count(0)


def test_labels_are_downloaded_as_lines(server: Server) -> None:
    path = labelled(server, 3)
    answer = get(server, f"{path}/labels.jsonl")
    assert "attachment" in answer.headers["content-disposition"]
    assert [json.loads(line)["label"] for line in answer.body.splitlines()] == ["fail", "fail", "pass"]
