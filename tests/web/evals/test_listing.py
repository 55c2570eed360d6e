"""The list of evals, and the first start."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.evals.house import open_house
from tests.server.client import EXACT, Server, wait_for
from tests.web.browser import HOSTILE, Scheme, Width, check_page, new_eval, new_run, rows
from tests.web.conftest import Open, Start
from tests.web.visiting import Visitor


def test_the_first_start_says_what_this_is_and_offers_the_demo(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(start(), scheme, width)
    window.page.goto("/")
    expect(window.page).to_have_url(re.compile("/evals$"))
    expect(window.page.get_by_role("heading", name="Grade what language models say")).to_be_visible()
    check_page(window, "welcome")


def test_the_demo_is_graded_by_three_real_graders_and_opens_its_run(start: Start) -> None:
    server = start()
    visitor = Visitor(server)
    visitor.press(visitor.go("/evals").by_role("button", "Open the demo eval").one)
    assert re.fullmatch("/evals/eval_[0-9a-f]+/runs/evalrun_[0-9a-f]+", visitor.path)
    eval_id, run_id = visitor.path.split("/")[-3::2]
    path = f"/v1/evals/{eval_id}/runs"
    wait_for(lambda: [run["status"] for run in server.get(path).json()["data"]] == ["completed", "completed"])
    run = server.get(f"{path}/{run_id}").json()
    assert run["result_counts"] == {"total": 24, "passed": 12, "failed": 12, "errored": 0, "skipped": 0}
    by_kind = {each["testing_criteria"].split("-")[0]: each for each in run["per_testing_criteria_results"]}
    assert {name: each["passed"] for name, each in by_kind.items()} == {"exact": 12, "similar": 18, "lenient": 18}
    assert "79.2%" in visitor.go("/evals").by_role("row", "Capitals").one.text


def test_a_rate_that_nobody_may_believe_has_its_warnings_beside_it(start: Start) -> None:
    server = start()
    for name, given in (("Without samples", [{"item": {"answer": "Paris"}}] * 3), ("With samples", rows(1))):
        new_run(server, new_eval(server, name), given)
    believed, doubted = (row.text for row in Visitor(server).go("/evals").by_role("row")[1:])
    assert "0%" in doubted
    assert "3 warnings" in doubted
    assert "warning" not in believed


def test_an_eval_is_listed_with_its_criteria_runs_and_last_pass_rate(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    made = new_eval(server, "Capitals", testing_criteria=[EXACT, {**EXACT, "name": "again"}])
    for right, wrong, broken in ((1, 3, 0), (2, 2, 0), (3, 1, 2)):
        new_run(server, made, rows(right, wrong, broken))
    for name in ("Never run", "A name that goes on and on, as names do that people give to things in a hurry " * 3):
        new_eval(server, name)
    window = open_window(server, scheme, width)
    window.page.goto("/evals")
    row = window.page.get_by_role("row").filter(has_text="Capitals")
    cells = row.get_by_role("cell")
    expect(cells.nth(1)).to_have_text("2")
    expect(cells.nth(2)).to_have_text("3")
    expect(cells.nth(3)).to_contain_text("75.0%")  # of the rows that could be graded
    expect(cells.nth(3)).to_contain_text("2 errors")
    spark = row.get_by_role("img", name="Pass rate of the last runs, oldest first: 25.0%, 50.0%, 75.0%")
    expect(spark).to_be_visible()
    expect(cells.nth(5)).to_contain_text("just now")
    expect(window.page.get_by_role("row").filter(has_text="Never run")).to_contain_text("never")
    check_page(window, "evals")


@pytest.mark.thorough
def test_search_finds_names_while_typing_and_keeps_its_address(server: Server, page: Page) -> None:
    for name in ("Äpfel und Birnen", "Plums", "100% sure_thing"):
        new_eval(server, name)
    page.goto("/evals")
    box = page.get_by_role("searchbox", name="Search evals by name")
    box.press_sequentially("äPFEL")
    expect(page.get_by_role("link", name="Äpfel und Birnen")).to_be_visible()
    expect(page.get_by_role("link", name="Plums")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/evals\?q=%C3%A4PFEL$"))
    visitor = Visitor(server)
    shown = visitor.go(page.url.removeprefix(server.url))
    assert shown.by_role("searchbox").one.value == "äPFEL"
    assert shown.by_role("link", "Plums") == []
    shown = visitor.go("/evals?q=%25")
    assert shown.by_role("link", "100% sure_thing").one.seen
    assert shown.by_role("link", "Plums") == []
    box.fill("no such name")
    expect(page.get_by_text("No eval is called that")).to_be_visible()
    page.get_by_role("link", name="Show all evals").click()
    expect(page.get_by_role("link", name="Plums")).to_be_visible()


def test_a_hostile_name_is_shown_and_never_run(server: Server, page: Page) -> None:
    new_eval(server, HOSTILE)
    page.goto("/evals")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    page.goto("/evals?q=" + "%3Cimg src=x onerror=console.error(1)%3E nothing")
    expect(page.get_by_text("No eval is called that")).to_be_visible()


def test_a_long_list_has_pages(start: Start) -> None:
    server = start()
    for number in range(30):
        new_eval(server, f"eval number {number:02}")
    visitor = Visitor(server)
    page = visitor.go("/evals")
    assert page.by_text("1 to 25 of 30 evals").one.seen
    assert page.by_role("link", "eval number 29").one.seen  # the newest first
    page = visitor.follow(page.by_role("link", "Next").one)
    assert page.by_text("26 to 30 of 30 evals").one.seen
    assert page.by_role("link", "eval number 00").one.seen
    assert page.by_role("link", "Next") == []
    visitor.follow(page.by_role("link", "Previous").one)
    assert visitor.path == "/evals"
    assert visitor.go("/evals?page=99").by_text("This page is behind the last one").one.seen


def test_a_run_that_goes_on_is_followed_without_a_reload_and_focus_stays(
    tmp_path: Path, open_window: Open, scheme: Scheme, width: Width
) -> None:
    with open_house() as models:
        server = Server(tmp_path / "home", models.environment)
        try:
            eval_id = new_eval(server, "Capitals", testing_criteria=[{**EXACT, "reference": "fine"}])
            prompt = {"type": "template", "template": [{"role": "user", "content": "{{ item.q }}"}]}
            rows_ = {"type": "file_content", "content": [{"item": {"q": "HANG"}}, {"item": {"q": "Say fine"}}]}
            source = {"type": "completions", "model": "student", "input_messages": prompt, "source": rows_}
            started = server.post(f"/v1/evals/{eval_id}/runs", {"data_source": source})
            assert started.status == 201, started.body
            window = open_window(server, scheme, width)
            page = window.page
            page.goto("/evals")
            link = page.get_by_role("link", name="Capitals")
            link.focus()
            marked = link.evaluate_handle("link => { link.marked = true; return link; }")
            row = page.get_by_role("row").filter(has_text="Capitals")
            expect(row).to_contain_text("Running", timeout=60_000)
            check_page(window, "evals-running")
            expect(row).to_contain_text("100%", timeout=60_000)  # of the row that was answered meanwhile
            server.post(f"/v1/evals/{eval_id}/runs/{started.json()['id']}", {})
            expect(row).to_contain_text("Canceled", timeout=60_000)
            assert marked.evaluate("link => link.isConnected && document.activeElement === link")
            expect(page.locator("#results [hx-trigger]")).to_have_count(0)
        finally:
            server.stop()
