"""The page of imports: what is asked for, how far it is, what came of it; cancelled, continued, uploaded."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.hosted import KEY, Hosted, Size, World, hosting
from tests.server.client import Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page
from tests.web.conftest import Keyed, Open, Start
from tests.web.visiting import Visitor


@pytest.fixture(scope="module")
def hosted() -> Iterator[Hosted]:
    with hosting(World(Size(evals=2, runs=2, items=5))) as started:
        yield started


def with_key(start: Start, hosted: Hosted) -> Server:
    return start(env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": hosted.base_url})


def test_a_service_is_read_before_ones_eyes_and_the_report_says_what_is_to_be_decided(
    start: Start, hosted: Hosted, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = with_key(start, hosted)
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/evals")
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_label("Key")).to_have_value("OPENAI_API_KEY")
    check_page(window, "imports")
    hosted.faults.hang_at = "output_items"
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url(re.compile("/imports/import_[0-9a-f]+$"))
    counts = page.locator(".imports__stats")
    expect(counts).to_contain_text("Evals")  # it comes by itself
    expect(page.locator("#live")).to_contain_text("Running")
    check_page(window, "import-running")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#live")).to_contain_text("Cancelled")
    hosted.faults.hang_at = ""
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name="Loaded")).to_be_visible(timeout=60_000)
    expect(page.locator("#live")).to_contain_text("Completed")
    expect(page.get_by_role("heading", name="Could not be read")).to_be_visible()
    expect(page.get_by_role("heading", name="Judges that are gone or will go")).to_be_visible()
    expect(page.locator(".copyable pre")).to_contain_text('"o3-mini" = "gpt-5.6-sol"')
    check_page(window, "import-report")
    assert KEY not in page.content()
    page.goto("/imports")
    expect(page.get_by_role("region", name="Imports", exact=True)).to_contain_text("Completed")


def test_a_file_is_uploaded_and_one_that_is_nothing_is_told(server: Server, open_window: Open, tmp_path: Path) -> None:
    window = open_window(server)
    page = window.page
    row = {"run_id": "r1", "data_source_idx": 0, "item": {"q": HOSTILE}, "grades": {HOSTILE: 1}}
    file = tmp_path / "eval_items_1.jsonl"
    file.write_text(json.dumps(row) + "\n")
    page.goto("/imports")
    expect(page.get_by_text("has no key yet")).to_be_visible()
    page.get_by_label("File").set_input_files(file)
    page.get_by_label("Name of the eval").fill(HOSTILE)
    page.get_by_role("button", name="Upload and import").click()
    expect(page.locator("#live")).to_contain_text("Completed")
    expect(page.get_by_role("heading", name="eval_items_1.jsonl")).to_be_visible()
    expect(page.get_by_role("button", name="Go on")).to_have_count(0)
    assert server.get("/v1/evals").json()["data"][0]["name"] == HOSTILE
    nothing = tmp_path / "nothing.bin"
    nothing.write_bytes(b"\x00nothing")
    page.goto("/imports")
    page.get_by_label("File").set_input_files(nothing)
    page.get_by_role("button", name="Upload and import").click()
    expect(page.locator("#live")).to_contain_text("Failed")
    expect(page.locator("#live .notice--error")).to_contain_text("nothing.bin")


def test_what_is_wrong_is_told_on_the_page(start: Start, hosted: Hosted) -> None:
    visitor = Visitor(with_key(start, hosted))
    begin = visitor.go("/imports").by_role("button", "Begin").one
    page = visitor.press(begin, {"Address": "https://evil.example/v1"})
    assert visitor.answer.status == 400
    assert "OPENAI_API_KEY is not sent to" in page.css(".notice--error").one.text
    assert page.by_label("Address").one.value == "https://evil.example/v1"


def test_another_project_is_told_that_no_key_is_for_it(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    page = visitor.sign_in(keyed.other_key, "/imports")
    assert page.by_text("may use no key of this server").one.seen
    assert page.by_text("OPENAI_API_KEY") == []


@pytest.mark.thorough
def test_a_draft_is_accepted_on_the_page(server: Server, open_window: Open, tmp_path: Path) -> None:
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text(
        "prompts: ['Capital of {{country}}?']\nproviders: [openai:gpt-4o-mini]\n"
        "tests: [{vars: {country: France}, assert: [{type: llm-rubric, value: Names a city}]}]\n"
    )
    page = open_window(server).page
    page.goto("/imports")
    page.get_by_label("File").set_input_files(file)
    page.get_by_label("Accept drafts").check()
    page.get_by_label("Judge of accepted drafts").fill("gpt-6-luna")
    page.get_by_role("button", name="Upload and import").click()
    expect(page.locator("#live")).to_contain_text("Completed")
    criteria = [one["testing_criteria"] for one in server.get("/v1/evals").json()["data"]]
    (judge,) = [criterion for listed in criteria for criterion in listed if criterion["type"] == "score_model"]
    assert (judge["model"], "runnable" in judge) == ("gpt-6-luna", False)
