"""A search through many rows: it goes on by itself until it finds some, or is stopped; and a choice has a link."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from tests.server.client import Server
from tests.web.browser import asked_by, new_eval, new_run, rows
from tests.web.conftest import Open

HASTY = """
from fairmark.store.views import rows

rows.SEARCH_S = -1.0
"""
"""Each page of a search is done after its first look, as it is in a run of very many rows."""
ROWS = 300


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hasty")
    (folder / "sitecustomize.py").write_text(HASTY)
    server = Server(folder / "home", {"PYTHONPATH": str(folder)}, cold=True)
    yield server
    server.stop()
    assert "Traceback" not in server.stderr.read_text()


@pytest.fixture(scope="module")
def path(hasty: Server) -> str:
    last = {"item": {"answer": "Paris"}, "sample": {"output_text": "a needle"}}
    eval_id = new_eval(hasty, "many")
    return f"/evals/{eval_id}/runs/{new_run(hasty, eval_id, [*rows(ROWS), last])}"


@contextmanager
def searches(page: Page) -> Iterator[list[str]]:
    """The addresses that are asked for meanwhile, to go on with a search."""
    found: list[str] = []
    with asked_by(page) as asked:
        yield found
    found += [url for url in asked if "&at=" in url]


def test_a_search_goes_on_by_itself_until_it_finds_a_row(hasty: Server, path: str, open_window: Open) -> None:
    page = open_window(hasty).page
    with searches(page) as asked:
        page.goto(f"{path}?q=needle")
        expect(page.locator(".rows__number a")).to_have_text([f"Row {ROWS}"])
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert len(asked) > 2
    assert len(set(asked)) == len(asked)  # each part of the run is looked at once


@pytest.mark.thorough
def test_a_search_that_finds_nothing_says_so_in_the_end(hasty: Server, path: str, open_window: Open) -> None:
    page = open_window(hasty).page
    page.goto(f"{path}?q=haystack")
    expect(page.get_by_role("heading", name="No row is like that")).to_be_visible()


@pytest.mark.thorough
def test_a_search_is_stopped_and_goes_on_when_asked(hasty: Server, path: str, open_window: Open) -> None:
    window = open_window(hasty)
    window.expect_problem("htmx:(sendAbort|afterRequest)")  # the request that is given up
    page = window.page
    held: list[Route] = []
    page.route("**/*&at=*", lambda route: held.append(route))
    with page.expect_request("**/*&at=*"):
        page.goto(f"{path}?q=needle")
    stop = page.get_by_role("button", name="Stop")
    with searches(page) as asked:
        with page.expect_event("requestfailed"):
            stop.click()
        expect(page.get_by_text("the search was stopped")).to_be_visible()
        expect(stop).to_have_count(0)
        page.unroute("**/*&at=*")
    assert (len(held), asked) == (1, [])
    on = page.get_by_role("link", name="Search on")
    expect(on).to_be_focused()
    on.press("Enter")
    expect(page.locator(".rows__number a")).to_have_text([f"Row {ROWS}"])


@pytest.mark.thorough
def test_the_link_of_what_is_shown_is_copied(hasty: Server, path: str, open_window: Open) -> None:
    page = open_window(hasty).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(path)
    page.locator(".segments__one", has_text="Failed").click()
    expect(page.locator(".rows__number a")).to_have_text([f"Row {ROWS}"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("status")).to_contain_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{hasty.url}{path}?status=fail"
    page.goto(copied)
    expect(page.locator(".rows__number a")).to_have_text([f"Row {ROWS}"])
