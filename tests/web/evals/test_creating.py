"""A new eval in the browser, from nothing."""

import re

from playwright.sync_api import Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page
from tests.web.conftest import Open, Start


def write(page: Page, text: str) -> None:
    """Into the editor, as somebody who pastes."""
    page.locator(".new-eval .cm-content").first.fill(text)


def test_an_eval_is_made_of_registered_graders_and_pasted_json(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    for key in ("exact-match", "other"):
        grader = {**EXACT, "name": f"{key} {HOSTILE}"}
        assert server.post("/v1/graders", {"key": key, "grader": grader, "name": key.title()}).status == 201
    assert server.post("/v1/graders", {"key": "pushed", "grader": {"type": "custom", "name": "pushed"}}).status == 201
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/evals/new")
    expect(page.get_by_role("checkbox")).to_have_count(2)  # what is pushed in cannot be a criterion
    page.get_by_label("Name").fill("From the browser")
    page.get_by_role("checkbox", name=re.compile("Exact-Match")).check()
    page.get_by_role("button", name="Nearly the same").click()
    expect(page.locator(".new-eval .cm-content").first).to_contain_text("fuzzy_match")
    page.get_by_role("button", name="Python").click()
    check_page(window, "new-eval")
    page.get_by_role("button", name="Create the eval").click()
    page.wait_for_url(re.compile("/evals/eval_[0-9a-f]+$"))
    expect(page.get_by_text("The eval is there. Start its first run.")).to_be_visible()
    made = server.get("/v1/evals/" + page.url.rpartition("/")[2]).json()
    assert made["name"] == "From the browser"
    assert [each["type"] for each in made["testing_criteria"]] == ["registered", "text_similarity", "python"]
    assert made["testing_criteria"][0]["key"] == "exact-match"
    assert made["data_source_config"]["schema"]["properties"]["item"] == {"type": "object"}


def test_what_is_wrong_with_the_json_is_told_below_it_and_the_text_stays(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/evals")
    page.get_by_role("link", name="New eval").click()
    page.get_by_label("Name").fill(HOSTILE)
    create = page.get_by_role("button", name="Create the eval")
    create.click()
    error = page.locator("#field-graders-error")
    expect(error).to_contain_text("An eval needs a criterion")
    write(page, "{not json")
    create.click()
    expect(error).to_contain_text("This is not JSON: ")
    expect(page.locator(".new-eval .cm-content").first).to_contain_text("{not json")
    write(page, '{"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "equals"}')
    create.click()
    expect(error).to_contain_text("operation: ")
    expect(error).to_contain_text("eq, ne, like, ilike")
    write(
        page,
        '[{"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "eq"}, {"type": "x"}]',
    )
    create.click()
    expect(error).to_contain_text("Grader 2, type: ")
    expect(page.get_by_label("Name")).to_have_value(HOSTILE)
    check_page(window, "new-eval-wrong")


def test_an_item_schema_is_taken_and_checked(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/evals/new")
    page.get_by_role("button", name="Exact match").click()
    page.get_by_text("What the items look like").click()
    schema = page.locator(".new-eval .cm-content").nth(1)
    schema.fill("[1]")
    page.get_by_role("button", name="Create the eval").click()
    expect(page.locator("#field-schema-error")).to_contain_text("It takes a JSON schema, which is an object.")
    schema.fill('{"type": "object", "required": ["answer"]}')
    page.get_by_role("button", name="Create the eval").click()
    page.wait_for_url(re.compile("/evals/eval_[0-9a-f]+$"))
    made = server.get("/v1/evals/" + page.url.rpartition("/")[2]).json()
    assert made["data_source_config"]["schema"]["properties"]["item"]["required"] == ["answer"]


def test_a_grader_that_was_deleted_meanwhile_is_told_at_the_list(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    for key in ("short-lived", "stays"):
        assert server.post("/v1/graders", {"key": key, "grader": EXACT}).status == 201
    window.page.goto("/evals/new?grader=short-lived")
    expect(window.page.get_by_role("checkbox", name=re.compile("short-lived"))).to_be_checked()
    assert server.request("DELETE", "/v1/graders/short-lived").status == 200
    window.page.get_by_role("button", name="Create the eval").click()
    expect(window.page.get_by_role("alert")).to_have_text('there is no registered grader "short-lived".')
