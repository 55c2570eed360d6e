"""Wherever criteria are shown that ask a judge, the grade of its last check stands beside them."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from fairmark.parse import parse
from fairmark.web.evals import judged as judged_module
from fairmark.web.evals.judged import judged
from fairmark.work import eventloop
from tests.evals.house import Models, open_house
from tests.server.client import EXACT, Server
from tests.server.test_checks import CHECKS, JUDGE, ROWS, ended
from tests.web.browser import Scheme, Width, check_page, new_eval
from tests.web.conftest import Open


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with open_house() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server") / "home", models.environment)
    assert started.post("/v1/graders", {"key": "good", "name": "Good", "grader": JUDGE}).status == 201
    reference = {"type": "registered", "key": "good"}
    ended(started, CHECKS, started.post(CHECKS, {"grader": reference, "rows": ROWS, "probes": []}))
    yield started
    started.stop()


def test_an_eval_its_next_run_and_a_new_eval_show_how_judges_stand(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    never = {**JUDGE, "name": "never", "model": "another"}
    criteria = [{"type": "registered", "key": "good"}, never, {**EXACT, "reference": "4"}]
    eval_id = new_eval(server, "judged", testing_criteria=criteria)
    (standing,) = server.get("/v1/graders").json()["data"]
    grade = standing["judge_check"]["grade"]
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/evals/{eval_id}")
    cards = page.locator("article.criterion")
    expect(cards.nth(0).get_by_role("link", name=f"Judge: {grade}")).to_have_attribute("href", "/graders/good/judge")
    expect(cards.nth(1)).to_contain_text("Judge: never checked")
    expect(cards.nth(2)).not_to_contain_text("Judge:")
    check_page(window, "eval-judged")
    page.goto(f"/evals/{eval_id}/new-run")
    judges = page.get_by_role("region", name="Judges").get_by_role("listitem")
    expect(judges).to_have_count(2)
    expect(judges.nth(0)).to_contain_text(f"Judge: {grade}")
    expect(judges.nth(1)).to_contain_text("Judge: never checked")
    check_page(window, "new-run-judged")
    page.goto("/evals/new")
    expect(page.get_by_role("group", name="Registered graders")).to_contain_text(f"Judge: {grade}")
    check_page(window, "new-eval-judged")


def test_all_criteria_are_one_question_to_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []

    async def last(project: str, marks: set[str], ids: set[str]) -> list[Any]:
        asked.append(marks)
        return []

    store = SimpleNamespace(checks=SimpleNamespace(last=last))
    monkeypatch.setattr(judged_module, "state", lambda request: SimpleNamespace(store=store))
    monkeypatch.setattr(judged_module, "project", lambda request: "default")
    judges = [parse({**JUDGE, "name": name, "model": name}) for name in "abc"]
    request: Any = None
    found = eventloop.run(judged(request, [*judges, None, parse({**EXACT, "reference": "4"})]))
    assert [each.standing and each.standing.grade for each in found] == [*["never checked"] * 3, None, None]
    assert [len(marks) for marks in asked] == [3]
