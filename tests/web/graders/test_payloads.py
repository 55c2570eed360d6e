"""Test payloads: run beside the editor, without saving anything."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest
from playwright.sync_api import Locator, Page, expect

from fairmark import agrade
from fairmark.result import Result
from fairmark.web.graders import payloads
from tests.server.client import EXACT, Answer, Server
from tests.web.browser import (
    HOSTILE,
    Scheme,
    Width,
    check_accessible,
    check_page,
    in_thread,
    new_eval,
    new_run,
    rows,
    screenshot,
)
from tests.web.conftest import Open
from tests.web.forms import post_json
from tests.web.judge import judged_server, new_grader
from tests.web.reading import Element, read, read_answer

if TYPE_CHECKING:
    from fairmark.serving.grading import Rewards


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with judged_server(tmp_path_factory.mktemp("judged")) as started:
        yield started


def item(page: Page, number: int = 1) -> Locator:
    return page.locator("[data-payload]").nth(number - 1).locator(".cm-content")


def sample(page: Page, number: int = 1) -> Locator:
    return page.locator("[data-payload]").nth(number - 1).locator("[data-sample]")


def run(page: Page) -> Locator:
    """What came out."""
    page.get_by_role("button", name="Run", exact=True).click()
    results = page.locator("[data-results]")
    expect(results).to_have_attribute("aria-busy", "false")
    return results


def graded(server: Server, kind: str, sample: str | None = None, **changes: Any) -> Answer:
    """What is answered to whoever runs the page of a new grader as it opens, but for these changes."""
    page = read(server, f"/graders/new/{kind}")
    grader = {**json.loads(page.css("[id=grader-json]").one.value), **changes}
    item, said = page.css("[data-item]").one.value, page.css("[data-sample]").one.value
    payload = [item, said if sample is None else sample]
    return post_json(server, "/payloads/run", {"grader": json.dumps(grader), "payloads": [payload]})


def results(server: Server, kind: str, sample: str | None = None, **changes: Any) -> Element:
    answer = graded(server, kind, sample, **changes)
    assert answer.status == 200, answer.body
    return read_answer(answer)


def test_a_payload_is_graded_without_saving(server: Server, page: Page) -> None:
    page.goto("/graders/new/string_check")
    results = run(page)
    expect(results.locator(".result__reward")).to_have_text("1")
    expect(results).to_contain_text("Pass")
    sample(page).fill("Rome")
    results = run(page)
    expect(results.locator(".result__reward")).to_have_text("0")
    expect(results).to_contain_text("Fail")
    item(page).fill("{}")
    results = run(page)
    expect(results).to_contain_text("It could not be graded")
    expect(results).to_contain_text('this item has no field "answer"')
    assert all(each["name"] != "" for each in server.get("/v1/graders").json()["data"])


def test_prints_and_the_traceback_of_code_are_shown(server: Server) -> None:
    source = "def grade(sample, item):\n    print('seen', item)\n    return 1 / len(sample['output_text'])\n"
    found = results(server, "python", "ab", source=source)
    assert found.css(".result__reward").one.text == "0.5"
    assert "seen {'question':" in found.by_role("region", "What the grader printed").one.text
    wrong = results(server, "python", "", source=source).by_role("region", "What went wrong").one.text
    assert "ZeroDivisionError" in wrong
    assert "line 3" in wrong


def test_the_checks_of_a_function_stand_beside_its_reward(server: Server) -> None:
    found = results(server, "function")
    assert "Checks passed" in found.text
    assert "passed" in found.by_role("listitem").containing("test run").one.text
    assert found.css(".result__reward").one.text == "1"


def test_what_a_judge_was_asked_and_said_is_shown_with_time_and_cost(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/graders/new/binary_judge")
    page.get_by_label("Criterion").fill(f"The reply names the capital of France. {scheme} {width}")  # not in the cache
    results = run(page)
    expect(results.locator(".result__reward")).to_have_text("1")
    expect(results).to_contain_text("careful")
    expect(results).to_contain_text("said PASS")
    expect(results).to_contain_text("It names <i>Paris</i>.")
    expect(results).to_contain_text("$0.0003")
    results.get_by_text("Messages to the judge, and its words").click()
    expect(results).to_contain_text("The reply names the capital of France.")
    expect(results).to_contain_text('"score": "PASS"')
    check_page(window, "payload-judge")


@pytest.mark.parametrize(
    ("kind", "reward", "words"),
    [
        ("score_model", "1", "They agree."),
        ("label_model", "1", "said polite"),
        ("faithfulness", "0.5", "not supported: not mentioned"),
        ("context_relevancy", "0.5", "relevant"),
        ("answer_relevancy", "0.5", "not mentioned"),
    ],
)
def test_every_kind_of_judge_can_be_tried_as_it_opens(server: Server, kind: str, reward: str, words: str) -> None:
    found = results(server, kind)
    assert found.css(".result__reward").one.text == reward
    assert words in found.text


@pytest.mark.parametrize("kind", ["faithfulness", "answer_relevancy"])
def test_a_judge_that_fails_half_way_is_shown_with_what_it_said_before(server: Server, kind: str) -> None:
    found = results(server, kind, "Tim Berners-Lee published the first website in Atlantis.")
    assert "It could not be graded" in found.text
    assert len(found.css(".judgement")) == 2
    assert len(found.css(".judgement .tone-error")) == 1


def test_a_combination_shows_the_reward_of_each_of_its_graders(server: Server) -> None:
    found = results(server, "multi", "Pariss")
    assert "Rewards of its graders" in found.text
    assert "exact" in found.text
    assert "0.9091" in found.css(".subs").one.text


@pytest.mark.thorough
def test_several_payloads_make_a_table_with_details_on_click(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/graders/new/string_check")
    page.get_by_role("button", name="Add a payload").click()
    item(page, 2).fill('{"answer": "Rome"}')
    sample(page, 2).fill("Paris")
    page.get_by_role("button", name="Add a payload").click()
    sample(page, 3).fill("Oslo")
    results = run(page)
    table = results.get_by_role("table", name="Results of the payloads")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(table.get_by_role("row").nth(1)).to_contain_text("Pass")
    expect(table.get_by_role("row").nth(2)).to_contain_text("Fail")
    expect(table.get_by_role("row").nth(3)).to_contain_text("Error")
    expect(results).to_contain_text("2 of 3 graded, the mean reward is 0.5.")
    opener = table.get_by_role("button", name="3 Oslo")
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(results).to_contain_text('this item has no field "answer"')
    page.evaluate("scrollTo(0, 0)")
    check_page(window, "payload-table")
    page.get_by_role("button", name="Remove payload 2").click()
    expect(run(page).get_by_role("table").get_by_role("row")).to_have_count(3)


@pytest.mark.thorough
def test_rows_are_taken_from_a_file(server: Server, page: Page) -> None:
    lines = [json.dumps({"item": {"answer": name}, "sample": name.upper()}) for name in ("a", "b", "c", "d")]
    server.upload("\n".join(lines).encode(), "letters.jsonl")
    page.goto("/graders/new/string_check")
    page.get_by_role("button", name="Take rows from…").click()
    choose(page, "letters.jsonl")
    page.get_by_label("From row").fill("2")
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", name="Take", exact=True).click()
    expect(page.get_by_text("2 rows taken.")).to_be_visible()
    check_accessible(page)
    screenshot(page, "payload-from-file")
    expect(sample(page, 1)).to_have_value("B")
    expect(sample(page, 1)).to_be_hidden()  # of several, only a line is shown
    page.get_by_role("button", name="Payload 2").first.click()
    expect(item(page, 2)).to_contain_text('"answer": "c"')
    expect(run(page).get_by_role("table").get_by_role("row")).to_have_count(3)


def choose(page: Page, name: str) -> None:
    select = page.get_by_label("File or run")
    option = select.locator("option").filter(has_text=name).first
    expect(option).to_be_attached()
    select.select_option(option.get_attribute("value"))


@pytest.mark.thorough
def test_rows_that_are_not_there_are_told(server: Server, open_window: Open) -> None:
    server.upload(b'{"item": {}}\n{"item": {}}\n', "short.jsonl")
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/graders/new/string_check")
    page.get_by_role("button", name="Take rows from…").click()
    choose(page, "short.jsonl")
    for row, count, words in (
        ("9", "1", "There is no row 9"),
        ("x", "1", 'row: found "x"'),
        ("1", "51", "from 1 to 50"),
    ):
        page.get_by_label("From row").fill(row)
        page.get_by_label("How many").fill(count)
        page.get_by_role("button", name="Take", exact=True).click()
        expect(page.locator("[data-source-words]")).to_contain_text(words)


def test_a_row_is_taken_from_an_earlier_run_as_it_was_graded(server: Server, page: Page) -> None:
    tools = {"output_text": "", "output_tools": [{"function": {"name": "look_up", "arguments": "{}"}}]}
    data = [*rows(1, 1), {"item": {"answer": "x"}, "sample": tools}]
    made = new_eval(server, "Capitals before")
    new_run(server, made, data, name="The first run")
    page.goto("/graders/new/string_check")
    page.get_by_role("button", name="Take rows from…").click()
    choose(page, "The first run")
    page.get_by_label("From row").fill("2")
    page.get_by_role("button", name="Take", exact=True).click()
    expect(sample(page)).to_have_value("Rome")
    page.get_by_label("From row").fill("3")
    page.get_by_role("button", name="Take", exact=True).click()
    expect(page.get_by_role("checkbox", name="as JSON")).to_be_checked()
    assert json.loads(sample(page).input_value()) == tools


@pytest.mark.thorough
def test_what_cannot_be_read_is_told_at_its_payload(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/graders/new/string_check")
    page.get_by_role("button", name="Add a payload").click()
    item(page, 2).fill("[1, 2]")
    page.locator("[data-payload]").nth(1).get_by_role("checkbox", name="as JSON").check()
    sample(page, 2).fill("{nonsense")
    results = run(page)
    expect(results).to_contain_text("1 payload cannot be read.")
    second = page.locator("[data-payload]").nth(1)
    expect(second).to_contain_text("It takes a JSON object, found a list of 2.")
    expect(second).to_contain_text("This is not JSON")
    expect(page.locator("[data-payload]").nth(0)).not_to_contain_text("JSON object")
    check_accessible(page)


def test_a_custom_grader_says_that_it_cannot_grade(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("409")
    window.page.goto("/graders/new/custom")
    expect(run(window.page)).to_contain_text("a custom grader cannot be asked to grade")


def test_references_are_followed(server: Server) -> None:
    new_grader(server, "referred", {**EXACT, "operation": "ne"})
    reference = {"type": "registered", "key": "referred"}
    found = results(server, "multi", graders={"a": reference}, calculate_output="a")
    assert found.css(".result__reward").one.text == "0"


def test_a_run_that_takes_long_can_be_stopped(page: Page) -> None:
    page.goto("/graders/new/python")
    source = "import time\ndef grade(sample, item):\n    time.sleep(60)\n    return 1.0\n"
    page.locator('[data-path="source"] .cm-content').fill(source)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_hostile_rows_and_answers_are_shown_and_never_run(page: Page) -> None:
    page.goto("/graders/new/python")
    page.locator('[data-path="source"] .cm-content').fill(
        "def grade(sample, item):\n    print(sample['output_text'])\n    raise ValueError(item['x'])\n"
    )
    item(page).fill(json.dumps({"x": HOSTILE}))
    sample(page).fill(HOSTILE)
    page.get_by_role("button", name="Add a payload").click()
    sample(page, 2).fill(HOSTILE)
    results = run(page)
    results.get_by_role("button").first.click()
    expect(results).to_contain_text("<script>console.error('ran')</script>")


class _Slow:
    """A job whose second result never comes."""

    async def results(self) -> AsyncGenerator[list[Result], None]:
        yield [await agrade(EXACT, "Paris", {"answer": "Paris"})]
        await asyncio.sleep(600)


def test_what_came_before_the_deadline_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "DEADLINE_S", 0.05)
    grading = payloads._graded(cast("Rewards", _Slow()), json.dumps(EXACT), "")
    results, checks = in_thread(asyncio.run, grading)
    assert [result.reward for result in results] == [1.0]
    assert checks == []
