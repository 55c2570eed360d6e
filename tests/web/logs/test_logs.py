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
from tests.web.browser import HOSTILE, Scheme, Width, check_page
from tests.web.conftest import Open, Start
from tests.web.visiting import Visitor

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


def ask_for_all_kinds(server: Server) -> None:
    ask(server, "hello there", metadata={"use": "greeting"})
    ask(server, HOSTILE, metadata={"use": "greeting"}, model="sol")
    ask(server, "something else", tools=[{"type": "function", "function": {"name": "look"}}])
    server.post("/v1/responses", {"model": "luna", "input": "hi", "instructions": "Be brief."})


def test_the_log_an_entry_and_the_form_of_a_run_in_every_look(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    ask_for_all_kinds(server)
    criteria = [json.loads(LOUD)]
    made = server.post("/v1/evals", {"data_source_config": {"type": "logs"}, "testing_criteria": criteria}).json()
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/logs")
    expect(page.get_by_role("row")).to_have_count(4)  # with that of the headings
    check_page(window, "logs")
    page.get_by_role("link", name="something else").click()
    expect(page.get_by_role("heading", name="Conversation")).to_be_visible()
    check_page(window, "log-entry")
    page.goto(f"/evals/{made['id']}/logs")
    expect(page.get_by_role("heading", name="Grade what is stored")).to_be_visible()
    check_page(window, "log-run")


def test_the_log_shows_what_is_stored_and_an_eval_is_made_of_it(server: Server) -> None:
    ask_for_all_kinds(server)
    visitor = Visitor(server)
    page = visitor.go("/evals")
    page = visitor.follow(page.by_role("navigation", "Main").one.by_role("link", "Logs").one)
    assert len(page.by_role("row")) == 4
    turns = visitor.follow(page.by_role("link", "something else").one).css(".log-turn")
    assert len(turns) == 3
    assert "look" in turns[2].text
    answers = visitor.follow(page.by_role("link", "Responses").one)
    entry = visitor.follow(answers.by_role("link", "hi").one)
    assert entry.css(".log-turn__text").texts == ["Be brief.", "hi", "HI"]
    page = visitor.go("/logs")
    page = visitor.press(page.by_role("button", "Show").one, {"Metadata": "use=greeting", "Model": "luna"})
    assert len(page.by_role("row")) == 2
    page = visitor.press(page.by_role("button", "Show").one, {"Model": ""})
    assert len(page.by_role("row")) == 3
    page = visitor.follow(page.by_role("link", "Make an eval of these").one)
    assert page.by_text("use=greeting").one.seen
    fields = {"Name optional": "Greetings", "Graders as JSON": LOUD}
    page = visitor.press(page.by_role("button", "Create the eval").one, fields)
    assert page.by_role("heading", "Grade what is stored").one.seen
    visitor.press(page.by_role("button", "Start the run").one)
    assert re.fullmatch("/evals/eval_[0-9a-f]+/runs/evalrun_[0-9a-f]+", visitor.path)
    eval_id, run_id = visitor.path.split("/")[-3::2]
    made = server.get(f"/v1/evals/{eval_id}").json()
    assert made["name"] == "Greetings"
    chosen = made["data_source_config"]
    assert (chosen["type"], chosen["metadata"]) == ("logs", {"use": "greeting"})
    path = f"/v1/evals/{eval_id}/runs/{run_id}"
    wait_for(lambda: server.get(path).json()["status"] == "completed")
    counts = server.get(path).json()["result_counts"]
    assert (counts["total"], counts["passed"]) == (2, 1)


def test_an_empty_log_and_a_filter_that_finds_nothing_say_so(server: Server) -> None:
    visitor = Visitor(server)
    assert visitor.go("/logs").by_text("Nothing is stored yet").one.seen
    ask(server)
    page = visitor.go("/logs?model=nobody")
    assert page.by_text("Nothing stored is like that").one.seen
    assert len(visitor.follow(page.by_role("link", "Show all").one).by_role("row")) == 2
    assert len(visitor.go("/logs?after=unknown").by_role("row")) == 2
    for path in ("/logs/chat/nothing", "/logs/other/chatcmpl-0001", "/logs/responses/chatcmpl-0001"):
        assert server.get(path).status == 404, path


def test_pages_of_the_log_and_deleting_one(server: Server) -> None:
    for number in range(30):
        ask(server, f"number {number:02d}")
    visitor = Visitor(server)
    page = visitor.go("/logs")
    assert len(page.by_role("row")) == 26
    page = visitor.follow(page.by_role("link", "Next").one)
    assert len(page.by_role("row")) == 6
    assert "number 00" in page.by_role("row")[-1].text
    page = visitor.follow(page.by_role("link", "Previous").one)
    assert "number 29" in page.by_role("row")[1].text
    page = visitor.follow(page.by_role("link", "number 29").one)
    asked = page.css(f'dialog[id="{page.by_role("button", "Delete").one.attributes["data-open"]}"]').one
    page = visitor.press(asked.by_text("Delete", exact=True).one)
    assert "number 28" in page.by_role("row")[1].text


def test_a_run_over_nothing_is_told_on_its_form(server: Server) -> None:
    ask(server)
    body = {"data_source_config": {"type": "logs"}, "testing_criteria": [
        {"type": "string_check", "name": "x", "input": "{{sample.output_text}}", "reference": "x", "operation": "eq"}
    ]}  # fmt: skip
    made = server.post("/v1/evals", body).json()
    visitor = Visitor(server)
    page = visitor.go(f"/evals/{made['id']}/logs?kind=responses")
    page = visitor.press(page.by_role("button", "Start the run").one)
    assert visitor.answer.status == 400
    assert page.by_text("it chooses no stored response").one.seen
