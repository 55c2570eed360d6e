"""New graders and changes to old ones, in the browser."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.endpoints.rewards import Rewards
from tests.judges.faults import FaultServer
from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_accessible, check_page, screenshot
from tests.web.conftest import Open
from tests.web.forms import HTML, cookies_of, get, post, send, token_in
from tests.web.judge import judged_server, kept_grader, new_grader


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with judged_server(tmp_path_factory.mktemp("judged")) as started:
        yield started


def box(page: Page, path: str) -> Locator:
    """The editor of a field."""
    return page.locator(f'[data-path="{path}"] .cm-content')


def problem(page: Page, path: str) -> Locator:
    return page.locator(f'[data-problems-at="{path}"]')


def json_text(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.locator("#grader-json").input_value())
    return found


def status(page: Page) -> Locator:
    return page.locator("[data-status]")


def name_it(page: Page, name: str) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill(name)


def save(page: Page, key: str) -> dict[str, Any]:
    """The grader as it was kept."""
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(f"**/graders/{key}")
    return kept_grader(page.context.server_of_test, key)  # type: ignore[attr-defined]


@pytest.fixture
def page(server: Server, open_window: Open) -> Page:
    found: Page = open_window(server).page
    found.context.server_of_test = server  # type: ignore[attr-defined]
    return found


def test_a_string_check_is_written_in_the_form_and_kept(page: Page) -> None:
    page.goto("/graders/new/string_check")
    name_it(page, "  Straße & Co: Größe!  ")
    expect(page.get_by_role("textbox", name="Key")).to_have_value("stra-e-co-gro-e")
    page.get_by_role("textbox", name="Key").fill("street")
    name_it(page, "Street")
    expect(page.get_by_role("textbox", name="Key")).to_have_value("street")  # it is one's own now
    box(page, "input").fill("{{ sample.output_json.street }}")
    expect(box(page, "input").locator(".cm-variable")).to_have_text("{{ sample.output_json.street }}")
    page.get_by_label("Operation").select_option("contains, whatever the case")
    expect(status(page)).to_have_text("Valid")
    found = save(page, "street")
    assert found["name"] == "Street"
    assert found["grader"] == {
        "type": "string_check",
        "input": "{{ sample.output_json.street }}",
        "reference": "{{ item.answer }}",
        "operation": "ilike",
    }


@pytest.mark.thorough
def test_a_field_that_means_nothing_is_not_shown_until_it_does(page: Page) -> None:
    page.goto("/graders/new/text_similarity")
    name_it(page, "Similar")
    expect(page.get_by_label("Embedding model")).to_be_hidden()
    page.get_by_label("Metric").select_option("Cosine of embeddings")
    page.get_by_label("Embedding model").fill("minilm")
    page.get_by_label("Metric").select_option("ROUGE-L")
    expect(page.get_by_label("Embedding model")).to_be_hidden()
    page.get_by_label("Pass threshold").fill("0.75")
    found = save(page, "similar")["grader"]
    assert (found["evaluation_metric"], found["pass_threshold"]) == ("rouge_l", 0.75)


@pytest.mark.thorough
def test_a_score_model_with_messages_range_and_sampling(page: Page) -> None:
    page.goto("/graders/new/score_model")
    name_it(page, "Score")
    page.get_by_role("button", name="Add a message").click()
    page.get_by_role("group", name="message 3").locator(".cm-content").fill("Be strict with {{ item.question }}.")
    page.get_by_role("group", name="message 3").get_by_role("button", name="Move this message up").click()
    page.get_by_role("group", name="message 1").get_by_role("button", name="Remove this message").click()
    page.get_by_label("Highest score").fill("10")
    page.get_by_text("More settings").click()
    page.get_by_label("Temperature").fill("0.20")
    page.get_by_label("Reasoning effort").select_option("low")
    found = save(page, "score")["grader"]
    assert [message["content"]["text"].split()[0] for message in found["input"]] == ["Be", "Question:"]
    assert found["model"] == "careful"
    assert found["range"] == [0, 10]
    assert found["sampling_params"] == {"temperature": 0.2, "reasoning_effort": "low"}
    page.goto("/graders/score/edit")
    page.get_by_role("group", name="message 1").locator(".cm-content").fill("Be kind.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/graders/score")
    expect(page.locator(".message__text").first).to_have_text("Be kind.")


@pytest.mark.thorough
def test_a_label_model_has_its_labels_line_by_line(page: Page) -> None:
    page.goto("/graders/new/label_model")
    name_it(page, "Mood")
    page.get_by_label("Labels", exact=True).fill("good\nbad\n")
    expect(status(page)).to_have_text("2 problems")
    expect(problem(page, "passing_labels")).to_be_empty()  # nobody has been there yet
    page.get_by_label("Passing labels").fill("good\nawful")
    expect(problem(page, "passing_labels")).to_contain_text('"awful" is not one of the labels: good, bad.')
    expect(page.get_by_label("Passing labels")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Passing labels").fill("good")
    expect(problem(page, "passing_labels")).to_be_empty()
    found = save(page, "mood")["grader"]
    assert (found["labels"], found["passing_labels"]) == (["good", "bad"], ["good"])


@pytest.mark.parametrize(
    "kind",
    [
        "faithfulness",
        pytest.param("context_relevancy", marks=pytest.mark.thorough),
        pytest.param("answer_relevancy", marks=pytest.mark.thorough),
    ],
)
def test_a_prebuilt_judge_needs_a_model_only(page: Page, kind: str) -> None:
    page.goto(f"/graders/new/{kind}")
    name_it(page, f"My {kind}")
    page.get_by_label("Judge model").fill("careful")
    page.get_by_label("Pass threshold").fill("0.9")
    found = save(page, f"my-{kind}")["grader"]
    assert found == {"type": kind, "model": "careful", "pass_threshold": 0.9}


@pytest.mark.thorough
def test_examples_for_a_judge_are_written_moved_saved_and_read_back(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.context.server_of_test = server  # type: ignore[attr-defined]
    key = f"helpful-{scheme}-{width}"
    page.goto("/graders/new/binary_judge")
    name_it(page, key)
    page.get_by_label("Criterion").fill("The reply answers the question.")
    page.get_by_role("button", name="Add a failing example").click()
    first = page.get_by_role("group", name="example 1")
    expect(first.get_by_label("Verdict")).to_have_value("false")
    first.get_by_label("What was said").fill("What is the capital of France?")
    first.get_by_label("The reply").fill("I like trains.")
    first.get_by_label("Why it fails").fill("It does not answer.")
    page.get_by_role("button", name="Add a passing example").click()
    second = page.get_by_role("group", name="example 2")
    second.get_by_label("What was said").fill("Be brief.")
    second.get_by_label("Role of this turn").select_option("system")
    second.get_by_role("button", name="Add a turn").click()
    second.get_by_label("What was said").nth(1).fill("And of Italy?")
    second.get_by_label("Role of this turn").nth(1).select_option("user")
    second.get_by_label("The reply").fill("Rome.")
    second.get_by_label("Why it passes").fill("Right and brief.")
    second.get_by_role("button", name="Move this example up").click()
    page.get_by_role("button", name="Add a passing example").click()
    page.get_by_role("group", name="example 3").get_by_role("button", name="Remove this example").click()
    expect(status(page)).to_have_text("Valid")
    page.evaluate("scrollTo(0, 0)")
    check_page(window, "grader-examples")
    found = save(page, key)["grader"]
    assert found["examples"] == [
        {
            "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "And of Italy?"}],
            "output": "Rome.",
            "passes": True,
            "reasoning": "Right and brief.",
        },
        {
            "input": [{"role": "user", "content": "What is the capital of France?"}],
            "output": "I like trains.",
            "passes": False,
            "reasoning": "It does not answer.",
        },
    ]
    page.goto(f"/graders/{key}/edit")
    expect(page.get_by_role("group", name="example 1").get_by_label("The reply")).to_have_value("Rome.")
    expect(page.get_by_role("group", name="example 2").get_by_label("Why it fails")).to_have_value(
        "It does not answer."
    )
    page.get_by_role("group", name="example 2").get_by_label("The reply").fill("")
    expect(status(page)).to_have_text("Valid")


def test_a_python_grader_is_checked_where_it_is_wrong(page: Page) -> None:
    page.goto("/graders/new/python")
    name_it(page, "Code")
    box(page, "source").fill("def grade(sample):\n    return 1.0\n")
    expect(problem(page, "source")).to_contain_text("line 1: grade takes sample. It must be: def grade(sample, item).")
    expect(page.locator('[data-path="source"] .cm-lintRange-error')).to_have_count(1)
    box(page, "source").fill("def grade(sample, item):\n    return 0.25\n")
    expect(status(page)).to_have_text("Valid")
    expect(page.locator('[data-path="source"] .cm-lintRange-error')).to_have_count(0)
    assert save(page, "code")["grader"]["source"] == "def grade(sample, item):\n    return 0.25\n"


@pytest.mark.thorough
def test_a_function_lists_its_checks_passed_and_failed(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.context.server_of_test = server  # type: ignore[attr-defined]
    page.goto("/graders/new/function")
    checks = page.locator("[data-checks] li")
    expect(checks.nth(5)).to_have_text("test run passed")  # after a pause it is run, on a thread of our own
    box(page, "source").fill("def grade(thread):\n    return 1.0\n")
    expect(checks.nth(2)).to_contain_text("structure failed")
    expect(checks.nth(2)).to_contain_text("line 1 has a sync def")
    expect(checks.nth(3)).to_contain_text("was not run yet")
    box(page, "source").fill("async def grade(thread):\n    return thread.metadata['expected']\n")
    expect(checks.nth(5)).to_contain_text("KeyError: 'expected'")
    expect(problem(page, "source")).to_contain_text("test_run:")
    check_page(window, "grader-function")
    window.expect_problem("400")
    name_it(page, "Broken")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved: the function did not pass its checks.")
    assert server.get("/v1/graders/broken").status == 404


@pytest.mark.thorough
def test_an_endpoint_is_tested_before_it_is_kept(page: Page) -> None:
    with FaultServer() as rewards:
        rewards.always(Rewards())
        port = rewards.url.rpartition(":")[2].strip("/").partition("/")[0]
        page.goto("/graders/new/endpoint")
        name_it(page, f"Reward server {port}")
        page.get_by_label("Address").fill("http://127.0.0.1:1")
        page.get_by_role("button", name="Test the connection").click()
        expect(page.locator("[data-connection]")).to_have_class(re.compile("tone-fail"))
        page.get_by_label("Address").fill(rewards.url)
        page.get_by_role("button", name="Test the connection").click()
        expect(page.locator("[data-connection]")).to_have_text("It answers: tests 7. Scores by length.")
        page.get_by_role("button", name="Add a header").click()
        page.get_by_label("Name of the header").fill("Authorization")
        page.get_by_label("Value of the header").fill("Bearer ${HOME}")
        expect(page.locator('[data-problems-at="headers.Authorization"]')).to_contain_text("FAIRMARK_SECRET_")
        page.get_by_label("Value of the header").fill("Bearer ${FAIRMARK_SECRET_X}")
        expect(page.locator('[data-problems-at="headers.Authorization"]')).to_be_empty()
        page.get_by_role("button", name="Remove this header").click()
        found = save(page, f"reward-server-{port}")["grader"]
        assert found == {"type": "endpoint", "url": rewards.url}


def test_a_custom_grader_has_nothing_to_set(page: Page) -> None:
    page.goto("/graders/new/custom")
    name_it(page, "From elsewhere")
    expect(page.get_by_text("There is nothing to set")).to_be_visible()
    assert save(page, "from-elsewhere")["grader"] == {"type": "custom"}


def test_a_combination_is_json_and_a_formula_and_problems_inside_are_told(server: Server, page: Page) -> None:
    new_grader(server, "inner", EXACT)
    page.goto("/graders/new/multi")
    name_it(page, "Both")
    graders = {"a": {"type": "registered", "key": "inner"}, "b": {**EXACT, "operation": "equals"}}
    box(page, "graders").fill(json.dumps(graders))
    expect(problem(page, "graders")).to_contain_text('b.operation: unknown operation "equals"')
    expect(page.locator('[data-path="graders"] .cm-lintRange-error').first).to_have_text('"equals"')
    graders["b"]["operation"] = "ne"
    box(page, "graders").fill(json.dumps(graders))
    box(page, "calculate_output").fill("max(a, c)")
    expect(problem(page, "calculate_output")).to_contain_text('unknown variable "c"')
    box(page, "calculate_output").fill("max(a, b)")
    expect(status(page)).to_have_text("Valid")
    box(page, "graders").fill('{"a": ')
    expect(problem(page, "graders")).to_contain_text("this is not JSON")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved: something in the form cannot be read.")
    box(page, "graders").fill(json.dumps(graders))
    assert save(page, "both")["grader"]["graders"]["a"] == {"type": "registered", "key": "inner"}


def test_form_and_json_stay_in_step_and_numbers_stay_as_they_are_written(page: Page) -> None:
    page.goto("/graders/new/text_similarity")
    page.get_by_label("Pass threshold").fill("0.50")
    page.get_by_role("tab", name="JSON").click()
    editor = page.locator("#panel-json .cm-content")
    expect(editor).to_contain_text('"pass_threshold": 0.50')
    editor.fill(
        '{"type": "text_similarity", "input": "x", "reference": "y", "evaluation_metric": "bleu", '
        '"own": {"seed": 9007199254740993, "one": 1.0}}'
    )
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("Metric")).to_have_value("bleu")
    expect(page.get_by_label("Pass threshold")).to_have_value("")
    page.get_by_label("Pass threshold").fill("0.9")
    text = page.locator("#grader-json").input_value()
    assert '"seed": 9007199254740993' in text
    assert '"one": 1.0' in text
    assert '"pass_threshold": 0.9' in text


@pytest.mark.thorough
def test_the_form_waits_while_the_json_is_broken_or_of_another_kind(page: Page) -> None:
    page.goto("/graders/new/string_check")
    page.get_by_role("tab", name="JSON").click()
    editor = page.locator("#panel-json .cm-content")
    editor.fill('{"type": "string_check", "input": ')
    expect(page.get_by_role("list", name="Problems")).to_contain_text("the grader is not JSON")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_text("The JSON cannot be read just now.")).to_be_visible()
    page.get_by_role("tab", name="JSON").click()
    editor.fill('{"type": "python", "source": ""}')
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_text('The JSON is of the kind "python", and this form is for string_check.')).to_be_visible()


@pytest.mark.thorough
def test_a_problem_in_the_json_is_marked_in_it_and_leads_there(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/graders/new/string_check")
    page.get_by_role("tab", name="JSON").click()
    wrong = {"type": "string_check", "input": "{{ item }", "operation": "equals", "refrence": "x", "reference": "y"}
    page.locator("#panel-json .cm-content").fill(json.dumps(wrong, indent=2))
    problems = page.get_by_role("list", name="Problems")
    expect(problems).to_contain_text('$.operation unknown operation "equals". Use one of: eq, ne, like, ilike.')
    expect(page.locator("#panel-json .cm-lintRange-error")).to_have_text('"equals"')
    check_page(window, "grader-json-problem")


def test_answers_to_what_has_been_changed_since_are_dropped(page: Page) -> None:
    """The first check is held back until a later one has been answered."""
    held: list[Any] = []

    def hold_first(route: Any) -> None:
        if "wrong-first" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.goto("/graders/new/string_check")
    expect(status(page)).to_have_text("Valid")
    page.route("**/graders/check", hold_first)
    with page.expect_request("**/graders/check"):
        box(page, "input").fill("{{ wrong-first }}")
    with page.expect_response("**/graders/check"):
        box(page, "input").fill("fine")
    assert held
    for route in held:
        route.fulfill(
            json={
                "valid": False,
                "problems": [{"path": "$.input", "message": "stale"}],
                "warnings": [],
                "functions": [],
            }
        )
    page.wait_for_timeout(300)  # nothing tells when nothing happens
    expect(problem(page, "input")).not_to_contain_text("stale")
    expect(status(page)).to_have_text("Valid")


@pytest.mark.thorough
def test_what_is_missing_is_told_at_its_place_when_one_wants_to_save(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/graders/new/binary_judge")
    expect(status(page)).to_have_text("1 problem")
    expect(problem(page, "criteria")).to_be_empty()  # nobody has been there yet
    name_it(page, "Nothing yet")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(problem(page, "criteria")).to_contain_text("It takes a string: what makes a reply pass.")
    expect(page.get_by_role("alert")).to_contain_text("Not saved")
    check_accessible(page)


@pytest.mark.thorough
def test_a_key_that_cannot_be_is_refused_in_words(server: Server, open_window: Open) -> None:
    new_grader(server, "taken", EXACT)
    window = open_window(server)
    window.expect_problem("400|409")
    window.page.goto("/graders/new/string_check")
    name_it(window.page, "A name")
    for key, words in (("", "key"), ("No Good", "A key has 1 to 128 of a-z"), ("taken", "already")):
        window.page.get_by_role("textbox", name="Key").fill(key)
        window.page.get_by_role("button", name="Save", exact=True).click()
        expect(window.page.get_by_role("alert")).to_contain_text(words)
        expect(window.page.get_by_role("textbox", name="Key")).to_be_focused()


def test_somebody_elses_change_is_told_with_a_way_to_see_it_and_to_go_on(server: Server, open_window: Open) -> None:
    new_grader(server, "contested", EXACT, name="Contested")
    window = open_window(server)
    window.expect_problem("409")
    page = window.page
    page.goto("/graders/contested/edit")
    server.request("PATCH", "/v1/graders/contested", {"grader": {**EXACT, "operation": "like"}})
    page.get_by_label("Operation").select_option("does not equal")
    page.get_by_role("button", name="Save", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Somebody else has saved version 2 while you were changing version 1.")
    expect(alert.get_by_role("link", name="See what changed")).to_have_attribute(
        "href", "/graders/contested/versions?old=1&new=2"
    )
    screenshot(page, "grader-conflict")
    alert.get_by_role("button", name="Save mine as the newest").click()
    page.wait_for_url("**/graders/contested")
    found = kept_grader(server, "contested")
    assert (found["version"], found["grader"]["operation"]) == (3, "ne")


@pytest.mark.thorough
def test_a_locked_grader_is_shown_and_not_changed_until_it_is_unlocked(server: Server, page: Page) -> None:
    new_grader(server, "locked", EXACT, name="Locked one")
    server.request("PATCH", "/v1/graders/locked", {"locked": True})
    page.goto("/graders/locked/edit")
    expect(page.get_by_text("This grader is locked")).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    expect(page.get_by_label("Operation")).to_be_disabled()
    expect(box(page, "input")).to_have_attribute("contenteditable", "false")
    page.get_by_role("button", name="Run").click()  # trying is no change
    expect(page.locator(".result__reward")).to_have_text("1")
    check_accessible(page)
    page.get_by_role("button", name="Unlock").click()
    expect(page.get_by_label("Operation")).to_be_enabled()
    name_it(page, "Unlocked one")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/graders/locked")
    found = kept_grader(server, "locked")
    assert (found["name"], found["version"]) == ("Unlocked one", 1)


def test_hostile_json_stays_text(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/graders/new/string_check")
    box(page, "input").fill(HOSTILE)
    name_it(page, HOSTILE)
    page.get_by_role("tab", name="JSON").click()
    page.locator("#panel-json .cm-content").fill(json.dumps({"type": HOSTILE, HOSTILE: HOSTILE}))
    expect(page.get_by_role("list", name="Problems")).to_contain_text("<script>")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("[data-results]")).to_contain_text("The grader has problems")


@pytest.mark.thorough
def test_another_grader_is_started_from_one_that_is_there(server: Server, page: Page) -> None:
    new_grader(server, "pattern", {**EXACT, "operation": "like"}, name="Pattern")
    page.goto("/graders/pattern")
    page.get_by_role("link", name="Start another from it").click()
    expect(page.get_by_label("Operation")).to_have_value("like")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("Pattern (copy)")
    page.get_by_role("textbox", name="Key").fill("pattern-2")
    assert save(page, "pattern-2")["grader"]["operation"] == "like"


def test_without_a_script_the_json_is_saved_by_the_form_itself(server: Server) -> None:
    shown = get(server, "/graders/new/string_check")
    fields = {"key": "plain", "name": "Plain", "description": "", "grader": json.dumps(EXACT)}
    answer = post(server, "/graders/new/string_check", fields, shown)
    assert (answer.status, answer.headers["location"]) == (303, "/graders/plain")
    shown = get(server, "/graders/plain/edit")
    wrong = post(server, "/graders/plain/edit", {**fields, "grader": "{", "version": "1"}, shown)
    assert wrong.status == 400
    assert b"not JSON" in wrong.body


def test_a_forged_request_changes_nothing(server: Server) -> None:
    new_grader(server, "forged", EXACT)
    for path in ("/graders/forged/delete", "/graders/forged/edit", "/graders/check", "/payloads/run"):
        assert (
            send(server, "POST", path, {**HTML, "content-type": "application/x-www-form-urlencoded"}, b"a=b").status
            == 403
        )
    assert server.get("/v1/graders/forged").status == 200
    shown = get(server, "/graders/forged/edit")
    ours = {"x-csrf-token": token_in(shown), "cookie": cookies_of(shown), "content-type": "application/json"}
    answer = send(server, "POST", "/graders/check", ours, json.dumps({"grader": "[1]"}).encode())
    assert answer.json()["problems"] == [
        {"path": "$", "message": "a grader is an object with a type, found a list of 1."}
    ]
