"""The log: what is stored, chosen by model and metadata, one of them as a conversation, and an eval made of them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.completions.provider import Provider, environment
from tests.judges.faults import FaultServer
from tests.server.client import Server, wait_for
from tests.web.browser import HOSTILE, Scheme, Width, check_page, write_graders
from tests.web.conftest import Open, Start

LOUD = json.dumps(
    {
        "type": "string_check",
        "name": "loud",
        "input": "{{ sample.output_text }}",
        "reference": "HELLO",
        "operation": "like",
    }
)


@pytest.fixture
def server(start: Start) -> Iterator[Server]:
    with FaultServer() as model:
        model.always(Provider())
        yield start(env=environment(model))


def ask(server: Server, text: str = "hello", **more: Any) -> None:
    messages = [{"role": "system", "content": "Be loud."}, {"role": "user", "content": text}]
    answer = server.post("/v1/chat/completions", {"model": "luna", "messages": messages, "store": True, **more})
    assert answer.status == 200, answer.body


def test_the_log_shows_what_is_stored_and_an_eval_is_made_of_it(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    ask(server, "hello there", metadata={"use": "greeting"})
    ask(server, HOSTILE, metadata={"use": "greeting"}, model="sol")
    ask(server, "something else", tools=[{"type": "function", "function": {"name": "look"}}])
    server.post("/v1/responses", {"model": "luna", "input": "hi", "instructions": "Be brief."})
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/evals")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Logs").click()
    expect(page.get_by_role("row")).to_have_count(4)  # with that of the headings
    check_page(window, "logs")
    page.get_by_role("link", name="something else").click()
    expect(page.get_by_role("heading", name="Conversation")).to_be_visible()
    turns = page.locator(".log-turn")
    expect(turns).to_have_count(3)
    expect(turns.nth(2)).to_contain_text("look")
    check_page(window, "log-entry")
    page.go_back()
    page.get_by_role("link", name="Responses").click()
    page.get_by_role("link", name="hi").click()
    expect(page.locator(".log-turn__text")).to_have_text(["Be brief.", "hi", "HI"])
    page.goto("/logs")
    page.get_by_label("Metadata").fill("use=greeting")
    page.get_by_label("Model").fill("luna")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_label("Model").fill("")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name="Make an eval of these").click()
    expect(page.get_by_text("use=greeting")).to_be_visible()
    page.get_by_role("textbox", name="Name optional").fill("Greetings")
    write_graders(page, LOUD)
    page.get_by_role("button", name="Create the eval").click()
    expect(page.get_by_role("heading", name="Grade what is stored")).to_be_visible()
    check_page(window, "log-run")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url(re.compile("/evals/eval_[0-9a-f]+/runs/evalrun_[0-9a-f]+$"))
    eval_id, run_id = page.url.split("/")[-3::2]
    made = server.get(f"/v1/evals/{eval_id}").json()["data_source_config"]
    assert (made["type"], made["metadata"]) == ("logs", {"use": "greeting"})
    path = f"/v1/evals/{eval_id}/runs/{run_id}"
    wait_for(lambda: server.get(path).json()["status"] == "completed")
    counts = server.get(path).json()["result_counts"]
    assert (counts["total"], counts["passed"]) == (2, 1)


def test_an_empty_log_and_a_filter_that_finds_nothing_say_so(server: Server, open_window: Open) -> None:
    page = open_window(server).page
    page.goto("/logs")
    expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
    ask(server)
    page.goto("/logs?model=nobody")
    expect(page.get_by_text("Nothing stored is like that")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(page.get_by_role("row")).to_have_count(2)
    page.goto("/logs?after=unknown")
    expect(page.get_by_role("row")).to_have_count(2)
    for path in ("/logs/chat/nothing", "/logs/other/chatcmpl-0001", "/logs/responses/chatcmpl-0001"):
        assert server.get(path).status == 404, path


def test_pages_of_the_log_and_deleting_one(server: Server, open_window: Open) -> None:
    for number in range(30):
        ask(server, f"number {number:02d}")
    page = open_window(server).page
    page.goto("/logs")
    expect(page.get_by_role("row")).to_have_count(26)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("row")).to_have_count(6)
    expect(page.get_by_role("row").last).to_contain_text("number 00")
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("number 29")
    page.get_by_role("link", name="number 29").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("number 28")


def test_a_run_over_nothing_is_told_on_its_form(server: Server, open_window: Open) -> None:
    ask(server)
    body = {"data_source_config": {"type": "logs"}, "testing_criteria": [
        {"type": "string_check", "name": "x", "input": "{{sample.output_text}}", "reference": "x", "operation": "eq"}
    ]}  # fmt: skip
    made = server.post("/v1/evals", body).json()
    window = open_window(server)
    window.expect_problem("status of 400")
    page = window.page
    page.goto(f"/evals/{made['id']}/logs?kind=responses")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("it chooses no stored response")).to_be_visible()
