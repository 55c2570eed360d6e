"""What labels say of a run, on its pages."""

import json

from playwright.sync_api import Page, expect

from tests.server.client import Server
from tests.web.forms import get
from tests.web.labels.test_screen import run_of
from tests.web.reading import Element, read


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
    page.goto(f"{labelled(server, 60)}?status=error")  # without a row: they take long to draw
    said = page.get_by_role("region", name="What people say")
    expect(said).to_contain_text("judge says 50%, corrected 40% (")
    expect(said).to_contain_text("), from 60 labels")
    expect(said).to_contain_text("κ 0.80 (")


def loaded(server: Server, path: str) -> Element:
    """What the run's page says of it, which htmx brings once the page is there."""
    part = read(server, path).by_role("region", "What people say").one.css('[hx-trigger="load"]').one
    return read(server, part.attributes["hx-get"]).css(part.attributes["hx-select"]).one


def test_without_enough_labels_the_page_says_why_there_is_no_rate(server: Server) -> None:
    said = loaded(server, labelled(server, 5)).text
    assert "No corrected rate yet: 5 graded rows are labelled; a corrected rate takes 30." in said


def test_a_run_without_labels_only_offers_to_label(server: Server) -> None:
    page = read(server, run_of(server, 2))
    assert page.by_role("link", "Label", exact=True).one.seen
    assert page.by_role("region", "What people say") == []


def test_labels_and_pushed_scores_are_shown_on_the_row(server: Server) -> None:
    path = run_of(server, 3)
    run_id = path.rpartition("/")[2]
    body = {"run_id": run_id, "row": 1, "label": "fail", "rater": "kim", "note": "It is not."}
    assert server.post("/v1/labels", body).status == 201
    item = server.get(f"/v1{path}/output_items").json()["data"][1]["id"]
    server.post("/v1/graders", {"key": "editors", "grader": {"type": "custom", "name": "Editors"}})
    pushed = [{"sample_id": item, "value": 4, "reasoning": "Clear, a little long."}]
    assert server.post("/v1/graders/editors/scores", {"scores": pushed}).status == 200
    said = read(server, f"{path}/rows/1").by_role("region", "What people say").one.text
    for words in ("fail", "kim", "It is not.", "4", "editors", "Clear, a little long."):
        assert words in said
    scores = loaded(server, path).by_role("region", "Scores pushed by custom graders").one
    assert "editors1 row, mean 4" in scores.text
    assert read(server, f"{path}/rows/2").by_role("region", "What people say") == []


def test_labels_are_downloaded_as_lines(server: Server) -> None:
    path = labelled(server, 3)
    answer = get(server, f"{path}/labels.jsonl")
    assert "attachment" in answer.headers["content-disposition"]
    assert [json.loads(line)["label"] for line in answer.body.splitlines()] == ["fail", "fail", "pass"]
