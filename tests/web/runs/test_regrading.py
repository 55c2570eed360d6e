"""Grading a run again from its page, and what the page shows of imported runs and of the agreement with old scores."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import command
from tests.moving import hosted
from tests.moving.hosted import three_rows
from tests.server.client import Server, wait_for
from tests.web.browser import HOSTILE, Scheme, Width, check_page
from tests.web.conftest import Open, Start
from tests.web.forms import get, post
from tests.web.reading import read

RUN = "/evals/eval_1/runs/evalrun_1"


def imported(
    server: Server, folder: Path, items: list[dict[str, Any]] | None = None, status: str = "completed", **more: Any
) -> None:
    given = three_rows(folder).evals(hosted.eval_(**more))
    if items is not None:
        given.run(hosted.run(status=status), items)
    done = command.run(["import", "load", str(folder)], env={"FAIRMARK_HOME": str(server.home)}, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def ended(server: Server, path: str) -> None:
    wait_for(lambda: server.get(f"/v1{path}").json()["status"] not in ("queued", "in_progress"))


def test_an_imported_run_is_marked_and_can_be_graded_again(
    start: Start, open_window: Open, tmp_path: Path, scheme: Scheme, width: Width
) -> None:
    server = start()
    imported(server, tmp_path / "archive")
    assert read(server, "/evals").by_text("Imported", exact=True).one.seen
    (marked,) = [cell for cell in read(server, "/evals/eval_1").by_role("cell") if cell.by_text("Imported", exact=True)]
    assert marked.seen
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(RUN)
    expect(page.get_by_text(hosted.SOURCE)).to_be_visible()
    check_page(window, "run-imported")
    page.locator("summary", has_text="Run again").click()
    page.get_by_role("button", name="Grade again").first.click()
    page.get_by_role("textbox", name="Name optional").fill("again")
    check_page(window, "run-regrade")
    page.get_by_role("dialog").get_by_role("button", name="Grade again").click()
    page.wait_for_url(lambda url: not url.endswith(RUN))
    path = page.url.removeprefix(server.url)
    ended(server, path)
    page.goto(path)
    section = page.get_by_role("region", name="Against the run that it grades again")
    expect(section).to_contain_text("100%")
    expect(section.get_by_role("link", name="first")).to_have_attribute("href", RUN)
    check_page(window, "run-regraded")


def test_the_page_shows_how_far_old_and_new_scores_agree(start: Start, tmp_path: Path) -> None:
    server = start()
    right = [hosted.item("evalrun_1", number) for number in range(3)]
    # The old judge let this one pass.
    wrong = {**hosted.item("evalrun_1", 3), "sample": hosted.item("evalrun_1", 3, passed=False)["sample"]}
    failed = hosted.item("evalrun_1", 4, passed=False)
    imported(server, tmp_path / "archive", [*right, wrong, failed])
    shown = get(server, RUN)
    answer = post(server, f"{RUN}/regrade", {"name": "again"}, shown)
    assert answer.status == 303
    path = answer.headers["location"]
    ended(server, path)
    text = re.sub(r"\s+", " ", get(server, path).body.decode())
    assert "The same rows and answers as" in text
    section = text.partition('id="agreement-title"')[2].partition("</section>")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", section)
    assert cells[:5] == ["exact", "5", "80.0%", "0.55", "-0.200"]
    link = re.search(r'href="(/evals/[^"]*)">1</a>', cells[5])
    assert link is not None
    compared = get(server, link[1].replace("&amp;", "&")).body.decode()
    assert "Same verdict on 80.0%, kappa 0.55" in compared


def test_what_cannot_be_graded_again_is_told_on_the_page(start: Start, tmp_path: Path) -> None:
    server = start()
    odd = {"type": "odd", "name": HOSTILE, "id": "odd-1"}
    imported(server, tmp_path / "archive", testing_criteria=[hosted.EXACT, odd])
    shown = get(server, RUN)
    assert b"It cannot grade" in shown.body
    answer = post(server, f"{RUN}/regrade", {}, shown)
    assert (answer.status, answer.headers["location"]) == (303, RUN)
    assert "cannot%20grade%20here" in answer.headers["set-cookie"]
    assert b"It cannot grade" in get(server, "/evals/eval_1").body


@pytest.mark.parametrize("status", ["in_progress", "queued", "validating", "failed"])
def test_a_run_of_any_status_has_its_page_and_nothing_waits_for_it(server: Server, tmp_path: Path, status: str) -> None:
    imported(server, tmp_path / "archive", [hosted.item("evalrun_1", 0)], status)
    shown = get(server, RUN)
    assert shown.status == 200
    assert b"data-events" not in shown.body
    assert b"Cancel the run" not in shown.body
    assert get(server, "/evals/eval_1").status == 200
    assert server.request("DELETE", "/v1/evals/eval_1").status == 200


@pytest.mark.parametrize(
    "item",
    [
        {"object": "eval.run.output_item", "id": "i-1"},
        {"id": "i-1", "status": "error", "datasource_item": "text", "results": {}, "sample": None},
        {"id": "i-1", "status": 5, "results": [5, {"name": hosted.EXACT_ID}], "sample": "said", "created_at": "x"},
        {
            "id": "i-1",
            "status": "fail",
            "datasource_item_id": 3,
            "datasource_item": {"a": [1]},
            "results": [{"name": "exact", "score": "high", "passed": None, "sample": {"output": "x", "error": "no"}}],
            "sample": {"output": [{"content": [{"type": "text", "text": "parts"}]}, 7], "input": "asked"},
        },
    ],
)
def test_items_of_any_shape_have_their_pages(server: Server, tmp_path: Path, item: dict[str, Any]) -> None:
    imported(server, tmp_path / "archive", [item])
    number = item.get("datasource_item_id", 0)
    for path in (
        "",
        f"/rows/{number}",
        f"/rows/{number}.json",
        "/download.csv",
        "/download.jsonl",
        "?q=parts",
        "?q=said",
    ):
        assert get(server, f"{RUN}{path}").status == 200, path
    assert server.request("DELETE", "/v1/evals/eval_1").status == 200
