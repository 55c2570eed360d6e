"""A new eval in the browser, from nothing."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page, write_graders
from tests.web.conftest import Open, Start
from tests.web.visiting import Visitor


def drafts(page: Page) -> Locator:
    return page.get_by_role("group", name="New graders").get_by_role("article")


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
    page.locator("#field-name").fill("From the browser")
    page.get_by_role("checkbox", name=re.compile("Exact-Match")).check()
    page.get_by_role("button", name="Nearly the same").click()
    expect(drafts(page).get_by_label("Metric")).to_have_value("fuzzy_match")
    page.get_by_role("button", name="Python").click()
    expect(drafts(page)).to_have_count(2)
    check_page(window, "new-eval")
    page.get_by_role("button", name="Create the eval").click()
    page.wait_for_url(re.compile("/evals/eval_[0-9a-f]+$"))
    expect(page.get_by_text("The eval is there. Start its first run.")).to_be_visible()
    made = server.get("/v1/evals/" + page.url.rpartition("/")[2]).json()
    assert made["name"] == "From the browser"
    assert [each["type"] for each in made["testing_criteria"]] == ["registered", "text_similarity", "python"]
    assert made["testing_criteria"][0]["key"] == "exact-match"
    assert made["data_source_config"]["schema"]["properties"]["item"] == {"type": "object"}


def test_what_is_no_criterion_is_told_below_the_json_and_the_text_stays(server: Server) -> None:
    visitor = Visitor(server)
    page = visitor.follow(visitor.go("/evals").by_role("link", "New eval").one)
    for text, told in (("", "An eval needs a criterion"), ("{not json", "This is not JSON: ")):
        fields = {"Name optional": HOSTILE, "Graders as JSON": text}
        page = visitor.press(page.by_role("button", "Create the eval").one, fields)
        assert visitor.answer.status == 400
        error = page.css("[id=field-graders-error]").one
        assert error.seen
        assert told in error.text
        assert page.by_label("Graders as JSON").one.value == text
        assert page.by_label("Name optional").one.value == HOSTILE


def test_what_is_wrong_with_a_grader_is_told_at_its_field_and_the_text_stays(server: Server, open_window: Open) -> None:
    window = open_window(server)
    page = window.page
    page.goto("/evals/new")
    page.locator("#field-name").fill(HOSTILE)
    create = page.get_by_role("button", name="Create the eval")
    write_graders(page, '{"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "equals"}')
    expect(drafts(page)).to_have_count(1)
    create.click()
    expect(drafts(page)).to_contain_text("eq, ne, like, ilike")  # at its field, without a way to the server and back
    page.locator("[data-as-json] .cm-content").fill(
        '[{"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "eq"}, {"type": "x"}]'
    )
    expect(drafts(page)).to_have_count(2)
    create.click()
    expect(drafts(page).nth(1)).to_contain_text("It has no form here")
    expect(drafts(page).nth(1)).to_contain_text("type: ")
    expect(page.locator("#field-name")).to_have_value(HOSTILE)
    check_page(window, "new-eval-wrong")


def test_an_item_schema_is_taken_and_checked(server: Server) -> None:
    visitor = Visitor(server)
    page = visitor.go("/evals/new")
    fields = {"Graders as JSON": json.dumps(EXACT), "JSON schema of an item": "[1]"}
    page = visitor.press(page.by_role("button", "Create the eval").one, fields)
    assert visitor.answer.status == 400
    error = page.css("[id=field-schema-error]").one
    assert error.seen  # what is folded is opened for it
    assert "It takes a JSON schema, which is an object." in error.text
    fields["JSON schema of an item"] = '{"type": "object", "required": ["answer"]}'
    visitor.press(page.by_role("button", "Create the eval").one, fields)
    made = server.get("/v1/evals/" + visitor.path.rpartition("/")[2]).json()
    assert made["data_source_config"]["schema"]["properties"]["item"]["required"] == ["answer"]


@pytest.mark.thorough
def test_the_editor_of_the_item_schema_is_sent_with_the_form(server: Server, page: Page) -> None:
    page.goto("/evals/new")
    page.get_by_role("button", name="Exact match").click()
    expect(drafts(page)).to_have_count(1)
    page.get_by_text("What the items look like").click()
    # The editor, not the text that stands in its place until the page's script runs: that one is hidden then.
    schema = page.locator("details").filter(has_text="What the items look like").locator(".cm-content")
    schema.fill('{"type": "object", "required": ["answer"]}')
    page.get_by_role("button", name="Create the eval").click()
    page.wait_for_url(re.compile("/evals/eval_[0-9a-f]+$"))
    made = server.get("/v1/evals/" + page.url.rpartition("/")[2]).json()
    assert made["data_source_config"]["schema"]["properties"]["item"]["required"] == ["answer"]


def test_a_grader_that_was_deleted_meanwhile_is_told_at_the_list(server: Server) -> None:
    visitor = Visitor(server)
    for key in ("short-lived", "stays"):
        assert server.post("/v1/graders", {"key": key, "grader": EXACT}).status == 201
    page = visitor.go("/evals/new?grader=short-lived")
    assert "checked" in page.by_role("checkbox", "short-lived").one.attributes
    assert server.request("DELETE", "/v1/graders/short-lived").status == 200
    page = visitor.press(page.by_role("button", "Create the eval").one)
    assert visitor.answer.status == 400
    assert page.by_role("alert").one.text == 'there is no registered grader "short-lived".'


def test_a_judge_that_is_gone_is_told_with_what_comes_instead(server: Server) -> None:
    visitor = Visitor(server)
    grader = (
        '{"type": "score_model", "name": "tone", "model": "o3-mini", "range": [0, 1], '
        '"input": [{"role": "user", "content": "Good?"}]}'
    )
    create = visitor.go("/evals/new").by_role("button", "Create the eval").one
    page = visitor.press(create, {"Graders as JSON": grader})
    assert re.fullmatch("/evals/eval_[0-9a-f]+", visitor.path)
    assert "OpenAI ended it on 2026-10-23 and names gpt-5.6-sol" in page.by_role("status").one.text


CURL = """curl https://api.openai.com/v1/evals \\
  -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -d '{"name": "Sentiment", "metadata": {"a": "b"},
       "data_source_config": {"type": "custom", "item_schema": {"type": "object", "required": ["text"]}},
       "testing_criteria": [{"type": "string_check", "name": "exact", "input": "{{ sample.output_text }}",
                             "operation": "like", "reference": "{{ item.text }}"}]}'
"""


@pytest.mark.thorough
def test_a_curl_command_fills_the_form_in_and_the_form_makes_the_eval(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/evals/new")
    page.get_by_text("Paste JSON or a curl command").click()
    page.get_by_label("An eval, graders, or the command").fill(CURL)
    page.get_by_role("button", name="Fill in").click()
    expect(page.get_by_text("Filled in: 1 criterion. Left out: metadata.")).to_be_visible()
    operation = drafts(page).get_by_label("Operation")
    expect(operation).to_have_value("like")
    operation.select_option("eq")
    drafts(page).get_by_label("Name of the criterion").fill("the same")
    page.get_by_role("button", name="Exact match").click()
    names = drafts(page).get_by_label("Name of the criterion")
    expect(names).to_have_count(2)
    expect(names.nth(1)).to_have_value("exact")
    expect(names.nth(1)).to_be_focused()
    check_page(window, "new-eval-forms")
    drafts(page).nth(1).get_by_role("button", name="Remove this criterion").click()
    expect(names).to_have_count(1)
    expect(names).to_be_focused()
    page.get_by_role("button", name="Create the eval").click()
    page.wait_for_url(re.compile("/evals/eval_[0-9a-f]+$"))
    made = server.get("/v1/evals/" + page.url.rpartition("/")[2]).json()
    assert made["name"] == "Sentiment"
    assert made["data_source_config"]["schema"]["properties"]["item"]["required"] == ["text"]
    [criterion] = made["testing_criteria"]
    assert (criterion["name"], criterion["operation"]) == ("the same", "eq")
    assert criterion["reference"] == "{{ item.text }}"


@pytest.mark.thorough
def test_what_cannot_be_understood_is_said_beside_the_button_and_changes_nothing(
    server: Server, open_window: Open
) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/evals/new")
    page.get_by_role("button", name="Exact match").click()
    page.get_by_text("Paste JSON or a curl command").click()
    text = page.get_by_label("An eval, graders, or the command")
    for pasted, words in (
        ("curl https://x.test", "sends nothing"),
        ('{"data_source": {}}', "This is a run, not an eval"),
    ):
        text.fill(pasted)
        page.get_by_role("button", name="Fill in").click()
        expect(page.locator("[data-paste-words]")).to_contain_text(words)
    expect(drafts(page)).to_have_count(1)


@pytest.mark.thorough
def test_a_field_that_is_wrong_is_told_while_it_is_typed(server: Server, page: Page) -> None:
    page.goto("/evals/new")
    page.get_by_label("Another kind").select_option("regex")
    pattern = drafts(page).get_by_role("textbox", name="Pattern")
    pattern.fill("*")
    expect(drafts(page)).to_contain_text("nothing to repeat")
    pattern.fill("a*")
    expect(drafts(page).locator(".field__error")).to_have_count(0)
