"""The page of one eval: criteria, runs over time, name and metadata, and the same eval elsewhere."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import EXACT, Server, wait_for
from tests.web.browser import HOSTILE, Scheme, Width, check_look, check_page, new_eval, new_run, rows, screenshot
from tests.web.conftest import Keyed, Open, Start, in_both_looks
from tests.web.forms import HTML, get, post
from tests.web.reading import read
from tests.web.visiting import Visitor

SIMILAR = {
    "type": "text_similarity",
    "name": "similar",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "evaluation_metric": "fuzzy_match",
    "pass_threshold": 0.8,
}
CODE = {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1.0\n"}
JUDGE = {
    "type": "label_model",
    "name": "tone",
    "model": "a-judge",
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
    "labels": ["kind", "rude"],
    "passing_labels": ["kind"],
}


@in_both_looks  # the chart is drawn for the width
def test_an_eval_is_shown_with_its_criteria_its_runs_and_how_they_went(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    made = new_eval(
        server,
        "Capitals of the world",
        testing_criteria=[EXACT, SIMILAR],
        metadata={"description": "Which capital does each model know?", "team": "geo"},
    )
    for number, (right, wrong, broken) in enumerate(((3, 17, 0), (6, 14, 2), (11, 9, 0), (15, 5, 0), (17, 3, 4)), 1):
        new_run(server, made, rows(right, wrong, broken), f"prompt v{number}")
    window = open_window(server, scheme, width)
    page = window.page
    page.goto(f"/evals/{made}")
    expect(page.get_by_role("heading", name="Capitals of the world")).to_be_visible()
    expect(page.get_by_text("Which capital does each model know?").first).to_be_visible()
    plot = page.get_by_role("img", name=re.compile("Pass rate of 5 runs, oldest first, from 15.0% to 85.0%"))
    expect(plot.locator("canvas")).to_be_visible()
    legend = page.get_by_role("list", name="Lines of the chart").get_by_role("button")
    expect(legend).to_have_text(["All criteria85%", "exact85%", "similar85%"])
    newest = page.get_by_role("row").filter(has_text="prompt v5")
    expect(newest).to_contain_text("85.0%")
    expect(newest).to_contain_text("4 errors")
    expect(newest.get_by_role("link", name="prompt v5")).to_have_attribute("href", re.compile(f"/evals/{made}/runs/"))
    check_look(window, "eval")


@pytest.mark.thorough
def test_the_chart_tells_a_runs_name_and_rates_where_the_mouse_is_and_opens_the_run(server: Server, page: Page) -> None:
    made = new_eval(server, "Charted", testing_criteria=[EXACT, SIMILAR])
    for number in (1, 2, 3):
        run = new_run(server, made, rows(number, 4 - number), f"try {number} {HOSTILE}")
    page.goto(f"/evals/{made}")
    over = page.locator("[data-chart-plot] .u-over")
    box = over.bounding_box()
    assert box is not None
    over.hover(position={"x": box["width"] - 20, "y": box["height"] / 2})
    tip = page.locator("[data-chart-tip]")
    expect(tip).to_contain_text(f"try 3 {HOSTILE}")
    expect(tip).to_contain_text("All criteria75%")
    expect(tip).to_contain_text("4 rows")
    line = page.get_by_role("button", name=re.compile("^similar"))
    line.click()
    expect(line).to_have_attribute("aria-pressed", "false")
    over.hover(position={"x": box["width"] - 30, "y": box["height"] / 2})
    expect(tip).not_to_contain_text("similar")
    page.get_by_role("button", name="Dark colours").click()
    expect(page.locator("[data-chart-plot] canvas")).to_have_count(1)
    page.locator("[data-chart-plot] .u-over").click(position={"x": box["width"] - 20, "y": box["height"] / 2})
    page.wait_for_url(f"**/evals/{made}/runs/{run}")


def test_criteria_are_told_in_words_with_their_threshold_and_their_json(server: Server) -> None:
    assert server.post("/v1/graders", {"key": "exact-match", "grader": EXACT}).status == 201
    reference = {"type": "registered", "key": "exact-match", "name": "strict"}
    made = new_eval(server, "In words", testing_criteria=[EXACT, SIMILAR, CODE, JUDGE, reference])
    cards = read(server, f"/evals/{made}").by_role("region", "5 criteria").one.by_role("article")
    assert "{{sample.output_text}} is exactly {{item.answer}}." in cards[0].text
    assert "Passes from" not in cards[0].text
    assert "is like {{ item.answer }} by fuzzy_match." in cards[1].text
    assert "Passes from a reward of 0.8." in cards[1].text
    assert "A Python function grades an answer in the sandbox, 2 lines long." in cards[2].text
    assert "The judge a-judge answers kind and not rude." in cards[3].text
    registered = cards[4].by_role("link", "Registered as exact-match").one
    assert registered.attributes["href"] == "/graders/exact-match"
    assert "is exactly" in cards[4].text
    folded = cards[1].by_label("JSON of similar").one
    assert not folded.seen
    assert cards[1].by_text("JSON", exact=True).one.tag == "summary"
    assert '"evaluation_metric": "fuzzy_match"' in folded.text
    assert server.request("DELETE", "/v1/graders/exact-match").status == 200
    cards = read(server, f"/evals/{made}").by_role("region", "5 criteria").one.by_role("article")
    assert "It cannot grade" in cards[4].text


def test_a_rate_that_nobody_may_believe_has_its_warnings_beside_it(server: Server) -> None:
    made = new_eval(server, "No answers")
    new_run(server, made, [{"item": {"answer": "Paris"}}] * 3, "without samples")
    new_run(server, made, rows(1), "with samples")
    table = read(server, f"/evals/{made}").by_role("table", "Runs, the newest first").one
    believed, doubted = (row.text for row in table.by_role("row")[1:])
    assert " 0% " in doubted
    assert "3 warnings" in doubted
    assert "warning" not in believed


def test_an_eval_without_runs_says_what_to_do(server: Server, open_window: Open) -> None:
    window = open_window(server)
    made = new_eval(server, "")
    window.page.goto(f"/evals/{made}")
    expect(window.page.get_by_role("heading", name=made)).to_be_visible()
    check_page(window, "eval-without-runs")
    first = window.page.get_by_role("link", name="Start the first run")
    expect(first).to_have_attribute("href", f"/evals/{made}/new-run")


def test_runs_are_chosen_and_compared_the_oldest_one_first(server: Server, page: Page) -> None:
    made = new_eval(server, "To compare")
    runs = [new_run(server, made, rows(number, 3), f"run {number}") for number in (1, 2, 3)]
    page.goto(f"/evals/{made}")
    button = page.get_by_role("button", name="Compare them")
    expect(button).to_be_disabled()
    for number in (3, 2):
        page.get_by_role("checkbox", name=f"Compare run {number}").check()
    expect(button).to_be_enabled()
    page.get_by_role("checkbox", name="Compare run 1").check()
    button.click()
    page.wait_for_url(f"**/compare?a={runs[0]}&b={runs[1]}&c={runs[2]}")


def test_the_chart_draws_what_is_chosen_and_names_the_days(server: Server, page: Page) -> None:
    made = new_eval(server, "Measures", testing_criteria=[EXACT, SIMILAR])
    for number in (1, 2):
        new_run(server, made, rows(number, 1, 1), f"try {number}")
    page.goto(f"/evals/{made}")
    measure = page.get_by_label("What is drawn")
    expect(measure.get_by_role("option")).to_have_text(["Pass rate", "Time a row", "Errors"])  # no model has a price
    measure.select_option(label="Errors")
    legend = page.get_by_role("list", name="Lines of the chart").get_by_role("button")
    expect(legend).to_have_text(["Rows not graded25%"])
    expect(page.locator("[data-chart-plot] canvas")).to_have_count(1)


def test_name_and_metadata_are_changed_and_held_to_the_apis_limits(server: Server, open_window: Open) -> None:
    window = open_window(server)
    page = window.page
    made = new_eval(server, "Before", metadata={"team": "geo"})
    page.goto(read(server, f"/evals/{made}").by_role("link", "Edit").one.attributes["href"])
    page.get_by_label("Name").fill(HOSTILE)
    page.get_by_role("button", name="Add a pair").click()
    keys, values = page.get_by_label("Key"), page.get_by_label("Value")
    expect(keys.nth(2)).to_be_focused()
    keys.nth(1).fill("note")
    values.nth(1).fill(HOSTILE)
    values.nth(2).fill("a value alone")
    check_page(window, "eval-edit")
    window.expect_problem("400")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_have_text("The value “a value alone” needs a key.")
    expect(values.nth(1)).to_have_value(HOSTILE)  # nothing that was typed is lost
    keys.nth(2).fill("note")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_have_text("The key “note” is there twice.")
    page.get_by_role("button", name="Remove this pair").nth(2).click()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**/evals/{made}")
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    stored = server.get(f"/v1/evals/{made}").json()
    assert (stored["name"], stored["metadata"]) == (HOSTILE, {"team": "geo", "note": HOSTILE})


def test_there_are_no_more_pairs_than_the_api_takes(server: Server, page: Page) -> None:
    made = new_eval(server, "Many pairs", metadata={f"key {number}": "x" for number in range(15)})
    page.goto(f"/evals/{made}/edit")
    expect(page.get_by_label("Key")).to_have_count(16)
    expect(page.get_by_role("button", name="Add a pair")).to_be_disabled()
    page.get_by_role("button", name="Remove this pair").first.click()
    expect(page.get_by_role("button", name="Add a pair")).to_be_enabled()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [("k" * 65, "v", "A key has at most 64 characters"), ("k", "v" * 513, "a value 512")],
)
def test_metadata_that_is_too_long_is_refused_also_without_script(
    server: Server, key: str, value: str, words: str
) -> None:
    made = new_eval(server, "Too long")
    path = f"/evals/{made}/edit"
    answer = post(server, path, {"name": "x", "metadata_key": key, "metadata_value": value}, get(server, path))
    assert answer.status == 400
    assert words in answer.body.decode()
    assert server.get(f"/v1/evals/{made}").json()["name"] == "Too long"


def test_a_run_is_deleted_after_a_question_and_so_is_the_eval(server: Server, open_window: Open) -> None:
    window = open_window(server)
    page = window.page
    made = new_eval(server, "To delete")
    kept, gone = (new_run(server, made, rows(1), name) for name in ("keep me", f"away {HOSTILE}"))
    page.goto(f"/evals/{made}")
    page.get_by_role("button", name=f"Delete away {HOSTILE}").click()
    dialog = page.get_by_role("dialog", name="Delete this run?")
    expect(dialog).to_contain_text(f"away {HOSTILE}")
    screenshot(page, "eval-delete-run")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name=f"Delete away {HOSTILE}").click()
    dialog.get_by_role("button", name="Delete the run").click()
    page.wait_for_url(f"**/evals/{made}")
    expect(page.get_by_role("row").filter(has_text="away")).to_have_count(0)
    assert server.get(f"/v1/evals/{made}/runs/{gone}").status == 404
    assert server.get(f"/v1/evals/{made}/runs/{kept}").status == 200
    page.get_by_role("button", name="Delete", exact=True).click()
    asked = page.get_by_role("dialog", name="Delete this eval?")
    expect(asked).to_contain_text("its 1 run")
    asked.get_by_role("button", name="Delete the eval").click()
    page.wait_for_url("**/evals")
    assert server.get(f"/v1/evals/{made}").status == 404


def test_the_exported_file_makes_the_same_eval_elsewhere(server: Server) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"answer": {"type": "string"}, "again": {"$ref": "#/properties/answer"}, "deep": {"$ref": "#"}},
        "$defs": {"word": {"type": "string"}},
        "required": ["answer"],
    }
    config = {"type": "custom", "item_schema": schema, "include_sample_schema": True}
    made = new_eval(
        server, "A/B: “test” ../../x", testing_criteria=[EXACT, CODE], data_source_config=config, metadata={"k": "v"}
    )
    page = read(server, f"/evals/{made}")
    downloaded = get(server, page.by_role("link", "Download JSON").one.attributes["href"])
    assert downloaded.headers["content-disposition"] == 'attachment; filename="a-b-test-x.json"'
    sent = downloaded.json()
    assert sent["data_source_config"] == config
    created = server.post("/v1/evals", sent).json()
    original = server.get(f"/v1/evals/{made}").json()
    for name in ("name", "metadata", "data_source_config"):
        assert created[name] == original[name]
    without_ids = [
        [{key: value for key, value in each.items() if key != "id"} for each in shown["testing_criteria"]]
        for shown in (created, original)
    ]
    assert without_ids[0] == without_ids[1]
    assert page.by_text("--data @a-b-test-x.json").one.seen


@pytest.mark.thorough
def test_many_runs_have_pages_and_the_chart_shows_more_than_the_page(server: Server) -> None:
    made = new_eval(server, "Many runs")
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows(1)}}
    for number in range(1, 25):
        body = {"name": f"run number {number:02}", "data_source": source}
        assert server.post(f"/v1/evals/{made}/runs", body).status == 201
    wait_for(lambda: len(server.get(f"/v1/evals/{made}/runs?status=completed&limit=100").json()["data"]) == 24)
    visitor = Visitor(server)
    page = visitor.go(f"/evals/{made}")
    assert page.by_text("1 to 20 of 24 runs").one.seen
    assert page.by_role("img", re.compile("Pass rate of 24 runs")).one.seen
    page = visitor.follow(page.by_role("link", "Next").one)
    assert page.by_text("21 to 24 of 24 runs").one.seen
    assert page.by_role("link", "run number 01", exact=True).one.seen
    assert visitor.go(f"/evals/{made}?page=7").by_text("This page is behind the last one").one.seen


def test_evals_of_another_project_are_not_there(keyed: Keyed) -> None:
    made = new_eval(keyed, "Secret", {"authorization": f"Bearer {keyed.key}"})
    other = {**HTML, "authorization": f"Bearer {keyed.other_key}"}
    for path in ("", "/edit", "/compare", "/new-run", "/export.json"):
        assert get(keyed, f"/evals/{made}{path}", other).status == 404
        assert get(keyed, f"/evals/{made}{path}", {**other, "authorization": f"Bearer {keyed.key}"}).status in (
            200,
            303,
        )
