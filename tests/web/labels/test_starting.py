"""Before the first row: who labels, and what."""

from collections.abc import Mapping

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import EXACT, Server
from tests.web.browser import new_eval, new_run
from tests.web.forms import get, post
from tests.web.labels.test_screen import all_sent, labels_of, rows, run_of, shown_answer


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rater": " "}, "rater: missing"),
        ({"rater": "x" * 201}, "at most 200"),
        ({"question": "9-label"}, "this run has no such criterion"),
        ({"count": "many"}, "a number from 1 to 500"),
        ({"count": "501"}, "a number from 1 to 500"),
        ({"rows": "split"}, "no row on which others disagree"),
    ],
)
def test_what_is_wrong_is_told_and_what_was_entered_stays(
    server: Server, fields: Mapping[str, str], words: str
) -> None:
    path = run_of(server, 2)
    shown = get(server, f"{path}/label")
    sent = {"rater": "kim the third", "question": "1-label", "count": "3", **fields}
    answer = post(server, f"{path}/label", sent, shown)
    assert answer.status == 400
    assert words in answer.body.decode()
    if "rater" not in fields:
        assert "kim the third" in answer.body.decode()


def test_a_name_is_typed_once(server: Server, page: Page) -> None:
    path = run_of(server, 2)
    page.goto(f"{path}/label")
    page.get_by_label("Your name").fill("kim")
    page.keyboard.press("Enter")
    page.wait_for_url("**/label/labelbatch_*")
    page.goto(f"{run_of(server, 2)}/label")
    expect(page.get_by_label("Your name")).to_have_value("kim")


def test_two_runs_answers_are_compared_in_random_sides_and_kept_as_meant(server: Server, page: Page) -> None:
    made = new_eval(server, "two runs")
    first = f"/evals/{made}/runs/{new_run(server, made, rows(12), 'first')}"
    worse = [{**row, "sample": {"output_text": f"Worse {at}"}} for at, row in enumerate(rows(12))]
    other = new_run(server, made, worse, "second")
    page.goto(f"{first}/label")
    page.get_by_label("Your name").fill("kim")
    expect(page.get_by_label("Against which run")).to_be_hidden()
    page.get_by_label("What you say").select_option(label="exact: which of two answers is better")
    page.get_by_label("Against which run").select_option(label="second")
    page.get_by_label("How many rows").fill("12")
    page.get_by_role("button", name="Begin").press("Enter")
    expect(page.locator("#labelling[data-whole]")).to_be_attached()
    sides = []
    while not page.locator("#end").is_visible():
        is_first = "Answer" in page.get_by_role("region", name="First").inner_text()
        sides.append(is_first)
        page.keyboard.press("a" if is_first else "b")
    all_sent(page)
    assert set(sides) == {True, False}
    found = labels_of(server, first)
    assert {label["preferred"] for label in found} == {"a"}
    assert {label["other_run_id"] for label in found} == {other}
    assert {label["side"] for label in found} == {"a", "b"}
    page.goto(f"{first}/labels")
    expect(page.get_by_role("region", name="Labels about exact")).to_contain_text("two answers")


@pytest.mark.thorough
def test_a_third_voice_labels_the_rows_on_which_others_disagree(server: Server, page: Page) -> None:
    path = run_of(server, 6)
    for rater, label in (("kim", "pass"), ("lee", "fail")):
        server.post("/v1/labels", {"run_id": path.rpartition("/")[2], "row": 4, "label": label, "rater": rater})
    page.goto(f"{path}/labels")
    page.get_by_role("link", name="Label those rows").press("Enter")
    page.get_by_label("Your name").fill("moe")
    page.keyboard.press("Enter")
    expect(page.locator("#labelling[data-whole]")).to_be_attached()
    assert shown_answer(page) == 4
    page.keyboard.press("p")
    all_sent(page)
    assert [label["rater"] for label in labels_of(server, path)] == ["kim", "lee", "moe"]


def test_scores_are_given_by_number_keys(server: Server, page: Page) -> None:
    grader = {"type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "Answer",
              "evaluation_metric": "fuzzy_match", "pass_threshold": 0.5}  # fmt: skip
    made = new_eval(server, "scores", testing_criteria=[grader, EXACT])
    path = f"/evals/{made}/runs/{new_run(server, made, rows(3))}"
    page.goto(f"{path}/label")
    page.get_by_label("Your name").fill("kim")
    page.get_by_label("What you say").select_option(label="near: a score from 0 to 1")
    page.get_by_role("button", name="Begin").press("Enter")
    expect(page.locator("#labelling[data-whole]")).to_be_attached()
    for key in "145":
        page.keyboard.press(key)
    all_sent(page)
    assert sorted(label["score"] for label in labels_of(server, path)) == [0.0, 0.75, 1.0]
