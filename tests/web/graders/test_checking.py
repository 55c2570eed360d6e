"""The tab Judge: a check planned before anything is asked, watched, read, and shown wherever the grader is used."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.evals.house import Models, open_house
from tests.server.client import Server
from tests.server.test_checks import CHECKS, JUDGE, ROWS, ended
from tests.web.browser import HOSTILE, check_page, new_eval, new_run
from tests.web.conftest import Open
from tests.web.forms import get
from tests.web.reading import read


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with open_house() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server") / "home", models.environment)
    yield started
    started.stop()
    assert "Traceback" not in started.stderr.read_text()


def register(server: Server, key: str, **more: Any) -> None:
    made = server.post("/v1/graders", {"key": key, "name": f"Good answers {HOSTILE}", "grader": {**JUDGE, **more}})
    assert made.status == 201, made.body


def labelled(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_judge_is_planned_checked_watched_and_shown(
    server: Server, models: Models, open_window: Open, tmp_path: Path
) -> None:
    register(server, "good")
    window = open_window(server)
    page = window.page
    shown = read(server, "/graders/good")
    assert shown.by_role("link", "Judge: never checked").one.seen
    page.goto(shown.by_role("link", "Judge", exact=True).one.attributes["href"])
    asked = len(models.requests)
    page.get_by_label("Labelled rows").set_input_files(labelled(tmp_path, ROWS))
    page.get_by_role("button", name="Plan it").click()
    expect(page.get_by_role("heading", name="The plan")).to_be_visible()
    assert len(models.requests) == asked
    check_page(window, "judge-plan")
    models.house.speaks.clear()
    page.get_by_role("button", name=re.compile(r"Ask \d+ questions")).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.get_by_text(re.compile(r"of about \d+ questions answered"))).to_be_visible()
    models.house.speaks.set()
    expect(page.get_by_role("heading", name="What moves it that should not")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("img", name="effect of each probe")).to_be_visible()
    expect(page.get_by_role("img", name="agreement with intervals")).to_be_visible()
    check_page(window, "judge-check")
    report = page.get_by_role("link", name="Download the report").get_attribute("href")
    downloaded = get(server, report or "")
    assert downloaded.headers["content-disposition"].startswith("attachment")
    assert "be trusted?" in downloaded.body.decode()
    page.goto("/graders")
    expect(page.get_by_text("Judge: not trusted")).to_be_visible()
    check_page(window, "graders-with-judges")
    eval_id = new_eval(server, "judged", testing_criteria=[{"type": "registered", "key": "good"}])
    run_id = new_run(server, eval_id, [{"item": {"n": 1}, "sample": {"output_text": "fine answer"}}])
    link = read(server, f"/evals/{eval_id}/runs/{run_id}").by_role("link", "Judge: not trusted").one
    page.goto(link.attributes["href"])
    expect(page.get_by_role("heading", name="Checks")).to_be_visible()
    check_page(window, "judge-tab")


@pytest.mark.thorough
def test_mistakes_are_told_on_the_page_and_their_file_is_not_kept(
    server: Server, open_window: Open, tmp_path: Path
) -> None:
    register(server, "mistaken")
    files = len(server.get("/v1/files").json()["data"])
    window = open_window(server, scheme="dark", width="phone")
    window.expect_problem("400")
    page = window.page
    page.goto("/graders/mistaken/judge")
    check_page(window, "judge-empty")
    page.get_by_role("button", name="Plan it").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a file of rows that people have judged.")
    page.get_by_label("Labelled rows").set_input_files(
        labelled(tmp_path, [{"item": {}, "sample": "x", "label": "so so"}])
    )
    page.get_by_role("button", name="Plan it").click()
    expect(page.get_by_role("alert")).to_contain_text('"so so" does not fit')
    check_page(window, "judge-mistake")
    assert len(server.get("/v1/files").json()["data"]) == files


@pytest.mark.thorough
def test_a_check_can_be_cancelled_and_deleted_and_goes_stale(server: Server, open_window: Open) -> None:
    register(server, "changing")
    reference = {"type": "registered", "key": "changing"}
    slow = [{**row, "sample": f"HANG {row['sample']}"} for row in ROWS]
    made = server.post(CHECKS, {"grader": reference, "rows": slow, "probes": []}).json()
    done = ended(server, CHECKS, server.post(CHECKS, {"grader": reference, "rows": ROWS, "probes": []}))
    window = open_window(server, width="phone")
    page = window.page
    page.goto(f"/graders/changing/judge/{made['id']}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("It was cancelled.")).to_be_visible()
    server.request("PATCH", "/v1/graders/changing", {"grader": {**JUDGE, "model": "student"}})
    page.goto(f"/graders/changing/judge/{done['id']}")
    expect(page.get_by_text("this check is stale")).to_be_visible()
    expect(page.get_by_role("link", name="Judge: stale (was trusted)")).to_be_visible()
    check_page(window, "judge-stale")
    page.get_by_role("button", name="Delete", exact=True).nth(1).click()
    page.get_by_role("dialog", name="Delete this check?").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The check is deleted.")).to_be_visible()


def test_a_grader_that_asks_no_model_has_no_such_tab(server: Server) -> None:
    exact = {"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "eq"}
    server.post("/v1/graders", {"key": "plain", "grader": exact})
    assert b"/judge" not in server.get("/graders/plain").body
    assert server.get("/graders/plain/judge").status == 404
    register(server, "another")
    assert server.get("/graders/another/judge/jcheck_none").status == 404
