"""Reward against gold: a report planned before anything is asked, with the curve of both, and what the gaps are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.evals.house import Models, open_house
from tests.server.client import Server
from tests.server.test_checks import JUDGE, LONG, new_eval, new_step
from tests.web.browser import HOSTILE, check_page
from tests.web.conftest import Open
from tests.web.forms import get
from tests.web.reading import read


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server") / "home", models.environment)
    yield started
    started.stop()
    assert "Traceback" not in started.stderr.read_text()


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with open_house() as opened:
        yield opened


def steps(server: Server) -> str:
    eval_id = new_eval(server, [LONG])
    for step, share in enumerate((0, 20, 40)):
        samples = [f"BAD {n} please {HOSTILE}" if n < share else f"fine {n}" for n in range(40)]
        new_step(server, eval_id, f"step {step} {HOSTILE}" if step == 1 else f"step {step}", samples)
    return eval_id


def test_a_hacked_reward_is_shown_against_a_gold_grader(server: Server, open_window: Open) -> None:
    eval_id = steps(server)
    server.post("/v1/graders", {"key": "gold", "name": "Gold", "grader": JUDGE})
    window = open_window(server)
    page = window.page
    page.goto(read(server, f"/evals/{eval_id}").by_role("link", "Reward against gold").one.attributes["href"])
    expect(page.get_by_role("heading", name="A new report")).to_be_visible()
    check_page(window, "gold-empty")
    page.get_by_label("Gold", exact=True).select_option("grader")
    page.get_by_label("Gold grader").select_option("gold")
    page.get_by_role("button", name="Plan it").click()
    expect(page.get_by_text("Nothing has been asked yet.")).to_be_visible()
    expect(page.get_by_text("Calls, at most")).to_be_visible()
    check_page(window, "gold-plan")
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("img", name="reward and gold by step")).to_be_visible(timeout=60_000)
    expect(page.get_by_text(re.compile("The reward rose while the gold fell"))).to_be_visible()
    expect(page.get_by_role("table", name="Answers with the largest gaps").get_by_role("row")).to_have_count(11)
    check_page(window, "gold-report")
    report = page.get_by_role("link", name="Download the report").get_attribute("href")
    downloaded = get(server, report or "")
    assert downloaded.headers["content-disposition"].startswith("attachment")
    assert "Has the reward been hacked?" in downloaded.body.decode()
    listed = read(server, f"/evals/{eval_id}/gold").by_role("table", "Reports, the newest first").one
    assert "hacked" in listed.text
    assert page.url == server.url + listed.by_role("link").one.attributes["href"]
    page.get_by_role("button", name="Delete", exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The report is deleted.")).to_be_visible()


@pytest.mark.thorough
def test_labels_are_uploaded_and_mistakes_are_told_on_a_phone(
    server: Server, open_window: Open, tmp_path: Path
) -> None:
    eval_id = steps(server)
    rows: list[dict[str, Any]] = [
        {"item": {"q": f"question {n}"}, "sample": f"fine {n}", "label": "pass"} for n in range(40)
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    window = open_window(server, scheme="dark", width="phone")
    window.expect_problem("400")
    page = window.page
    page.goto(f"/evals/{eval_id}/gold")
    page.get_by_role("button", name="Plan it").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a file of what people said")
    page.get_by_label("Labels").set_input_files(labels)
    page.get_by_role("button", name="Plan it").click()
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("img", name="reward and gold by step")).to_be_visible(timeout=60_000)
    check_page(window, "gold-report-labels")


def test_an_eval_with_one_run_is_told_what_is_missing(server: Server) -> None:
    eval_id = new_eval(server, [LONG])
    new_step(server, eval_id, "only", ["x"])
    assert b"It takes two completed runs" in server.get(f"/evals/{eval_id}/gold").body
    assert server.get("/evals/eval_none/gold").status == 404
    assert server.get(f"/evals/{eval_id}/gold/hackrep_none").status == 404
