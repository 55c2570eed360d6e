"""For whom a run went well: groups by a field, and rows by field, reward and outcome together."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page, new_eval, new_run
from tests.web.conftest import Open
from tests.web.forms import get
from tests.web.reading import read
from tests.web.visiting import Visitor

ALIKE = {
    "type": "text_similarity",
    "name": "alike",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "evaluation_metric": "fuzzy_match",
    "pass_threshold": 0.6,
}
WRONG = {"de": 2, "fr": 5, "ja": 9}
"""Of ten rows each, how many are wrong."""


@pytest.fixture(scope="module")
def path(server: Server) -> str:
    rows = [
        {
            "item": {"answer": "Paris", "metadata": {"language": language}, "n": n, **({} if n % 2 else {HOSTILE: n})},
            "sample": {"output_text": "Paris" if n >= wrong else "Rome"},
        }
        for language, wrong in WRONG.items()
        for n in range(10)
    ]
    eval_id = new_eval(server, "languages", testing_criteria=[EXACT, ALIKE])
    return f"/evals/{eval_id}/runs/{new_run(server, eval_id, rows)}"


def numbers(page: Page) -> list[int]:
    return [int(text.removeprefix("Row ")) for text in page.locator(".rows__number a").all_inner_texts()]


def test_the_groups_in_every_look(server: Server, path: str, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(server, scheme, width)
    window.page.goto(f"{path}?where=is.metadata.language=ja&score=2_0_0.5")
    expect(window.page.get_by_role("table", name="Groups by")).to_be_visible()
    window.page.get_by_text("Filter rows, or group by another field").click()
    check_page(window, "groups")


def test_groups_tell_rates_and_lead_to_their_rows(page: Page, path: str) -> None:
    page.goto(path)
    fields = page.get_by_role("list", name="Fields")
    # By another field first: the table then tells when the answer to the next click is there.
    fields.get_by_role("link", name=re.compile("^n")).click()
    expect(page.get_by_role("table", name="Groups by n")).to_be_visible()
    fields.get_by_role("link", name=re.compile("^metadata.language")).click()
    rows = page.get_by_role("table", name="Groups by metadata.language").get_by_role("row")
    expect(rows.nth(1)).to_contain_text(re.compile(r"ja\s*10\s*10\.0%\s*1\.8% to 40\.4%"))
    expect(rows.nth(3)).to_contain_text(re.compile(r"de\s*10\s*80\.0%"))
    page.get_by_label("Measured by").select_option("alike")
    expect(page.get_by_role("columnheader", name="Mean")).to_be_visible()
    page.get_by_role("link", name="ja", exact=True).click()
    expect(page.get_by_text("1 – 10 of 10 rows")).to_be_visible()
    assert numbers(page) == list(range(20, 30))
    expect(page.get_by_role("list", name="Filters")).to_contain_text("metadata.language is ja")


@pytest.mark.thorough
def test_filters_join_and_can_be_taken_away(page: Page, path: str) -> None:
    page.goto(f"{path}?where=is.metadata.language=fr")
    page.get_by_text("Filter rows, or group by another field").click()
    page.get_by_label("Field", exact=True).select_option("n")
    page.get_by_label("Condition").select_option("gt")
    page.get_by_label("Value").fill("3")
    page.get_by_role("button", name="Show these rows").first.click()
    expect(page.get_by_text("1 – 6 of 6 rows")).to_be_visible()
    assert numbers(page) == [14, 15, 16, 17, 18, 19]
    expect(page.get_by_role("table", name="Groups by metadata.language")).to_be_visible()  # it moves what is below
    page.locator(".segments__one", has_text="Failed").click()
    expect(page.get_by_text("1 – 1 of 1 row")).to_be_visible()
    page.get_by_role("link", name="Without: metadata.language is fr").click()
    expect(page.get_by_role("list", name="Filters")).not_to_contain_text("metadata")
    assert 4 in numbers(page) or 24 in numbers(page)


def test_rows_are_chosen_by_reward_and_by_criterion_and_status_together(server: Server, path: str) -> None:
    visitor = Visitor(server)
    page = visitor.go(f"{path}?of=2&low=&high=0.5&status=fail&criterion=1-fail&sort=-row")
    assert page.by_text("1 – 16 of 16 rows").one.seen
    assert "alike ≤ 0.5" in page.by_role("list", "Filters").one.text
    page = visitor.follow(page.css(".rows__number a")[0])
    assert page.by_role("heading", "Row 28").one.seen
    page = visitor.follow(page.by_role("link", "Next").one)
    assert page.by_role("heading", "Row 27").one.seen
    page = visitor.follow(page.by_role("link", "Previous").one)
    assert page.by_role("heading", "Row 28").one.seen


def test_a_search_looks_among_the_chosen_rows(server: Server, path: str) -> None:
    shown = read(server, f"{path}?where=is.metadata.language=de&q=rome")
    assert shown.css(".rows__number a").texts == ["Row 0", "Row 1"]


def test_a_number_leads_to_its_row(server: Server, path: str) -> None:
    visitor = Visitor(server)
    go = visitor.go(path).by_role("button", "Go", exact=True).one
    assert visitor.press(go, {"Go to row": "17"}).by_role("heading", "Row 17").one.seen


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("where=is.nothing=x", "No row of this run has a field"),
        ("where=gt.n=many", "It takes a number"),
        ("where=n", "It takes is.field=value"),
        ("score=9_0_1", "there is no criterion"),
        ("where=is.n=1&at=x", "It takes the number of rows before the page"),
    ],
)
def test_what_cannot_be_chosen_is_told(server: Server, path: str, query: str, told: str) -> None:
    answer = get(server, f"{path}?{query}")
    assert answer.status == 400
    assert told in answer.body.decode()
    assert get(server, f"{path}/groups?by=nothing").status == 200
    assert get(server, f"{path}/groups?measure=7").status == 400
    assert get(server, f"{path}/rows?row=x").status == 400
