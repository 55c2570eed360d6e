"""The playground: a grader is checked while it is typed, run on a payload, and taken away as commands or as a link."""

import base64
import json
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import fairmark
from fairmark.graders import all_kinds
from tests.server.client import EXACT, Server
from tests.web.browser import HOSTILE, Scheme, Width, check_page, sign_in
from tests.web.conftest import Keyed, Open
from tests.web.forms import HTML, cookies_of, get, send

KINDS = [name for name in all_kinds() if name != "custom"]


def write(page: Page, label: str, text: str) -> None:
    """Replaces what stands in an editor, as pasting does."""
    editor = page.get_by_role("textbox", name=label)
    editor.click()
    editor.press("Control+a")
    page.keyboard.insert_text(text)


def grader(page: Page, value: Any) -> None:
    write(page, "The grader as JSON", value if isinstance(value, str) else json.dumps(value))


def payload(page: Page, item: Any, sample: str) -> None:
    write(page, "Item", json.dumps(item, ensure_ascii=False))
    page.get_by_label("Sample").fill(sample)


def run(page: Page) -> Locator:
    page.get_by_role("button", name="Run", exact=True).click()
    results = page.locator("[data-results]")
    expect(results).not_to_be_empty()
    return results


def fragment(value: Any) -> str:
    packed = zlib.compressobj(wbits=-15)
    body = packed.compress(json.dumps(value).encode()) + packed.flush()
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


def test_an_example_runs_and_shows_its_result_and_the_same_as_commands(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/playground?example=multi")
    expect(page.locator("[data-status]")).to_contain_text("Valid")
    results = run(page)
    expect(results).to_contain_text("Reward")
    expect(results).to_contain_text("similar")
    expect(page.locator("#panel-curl pre")).to_contain_text(f"curl {server.url}/v1/fine_tuning/alpha/graders/run")
    check_page(window, "playground")
    page.get_by_role("tab", name="Python").click()
    expect(page.locator("#panel-library pre")).to_contain_text("import fairmark")
    check_page(window, "playground-python")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_an_example_that_is_valid(server: Server, kind: str) -> None:
    found = server.get(f"/playground/examples/{kind}").json()
    checked = fairmark.validate(found["grader"])
    assert checked.valid, checked.errors
    assert json.loads(found["grader"])["type"] == kind
    assert json.loads(found["payloads"][0][0])


@pytest.mark.thorough
def test_an_example_is_put_into_the_editors_in_place(page: Page) -> None:
    page.goto("/playground")
    page.get_by_label("Example").select_option("python")
    expect(page.get_by_role("textbox", name="The grader as JSON")).to_contain_text("def grade(sample, item)")
    page.get_by_role("tab", name="Command line").click()
    expect(page.locator("#panel-command pre")).to_contain_text('"type": "python"')
    expect(run(page)).to_contain_text("Pass")


@pytest.mark.thorough
def test_problems_are_told_at_their_place_while_typing_and_go_when_they_are_mended(
    server: Server, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/playground")
    grader(page, json.dumps({**EXACT, "operation": "equals", "refernce": 1}, indent=2))
    expect(page.locator("[data-status]")).to_contain_text("1 problem")
    expect(page.locator("[data-problems]")).to_contain_text('unknown operation "equals"')
    expect(page.locator(".playground__grader .cm-lintRange-error")).to_have_text('"equals"')
    check_page(window, "playground-problems")
    grader(page, '{"type": "string_check",')
    expect(page.locator("[data-problems]")).to_contain_text("not JSON")
    expect(page.locator("[data-commands-words]")).to_contain_text("once the grader and the payload can be read")
    grader(page, EXACT)
    expect(page.locator("[data-status]")).to_contain_text("Valid")
    expect(page.locator("[data-problems] li")).to_have_count(0)


@pytest.mark.thorough
def test_running_a_wrong_grader_or_payload_tells_what_is_wrong_where_it_is(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("400")
    page = window.page
    page.goto("/playground")
    grader(page, {**EXACT, "operation": "equals"})
    expect(run(page)).to_contain_text("The grader has problems")
    expect(page.locator("[data-problems]")).to_contain_text('unknown operation "equals"')
    grader(page, EXACT)
    write(page, "Item", "[1]")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("[data-item-problems]")).to_contain_text("It takes a JSON object")


def test_prints_errors_and_flags_are_shown(page: Page) -> None:
    page.goto("/playground")
    source = "def grade(sample, item):\n    print('seen', sample['output_text'])\n    return item['nowhere']\n"
    grader(page, {"type": "python", "name": "code", "source": source})
    payload(page, {}, "Paris")
    results = run(page)
    expect(results).to_contain_text("It could not be graded")
    expect(results).to_contain_text("KeyError")
    expect(results).to_contain_text("seen Paris")
    results.get_by_text("The whole result as JSON").click()
    expect(results).to_contain_text("python_grader_runtime_error")


def test_ctrl_enter_runs_from_inside_an_editor(page: Page) -> None:
    page.goto("/playground")
    editor = page.get_by_role("textbox", name="The grader as JSON")
    editor.click()
    before = editor.inner_text()
    editor.press("Control+Enter")
    expect(page.locator("[data-results]")).to_contain_text("Reward")
    assert editor.inner_text() == before


@pytest.mark.thorough
def test_commands_follow_what_is_typed_and_do_the_same_in_a_shell(page: Page, tmp_path: Path) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/playground")
    text = f"it's $(touch ran) `touch ran` {HOSTILE}\n<b>ünïcode 👍</b>"
    grader(page, {**EXACT, "name": HOSTILE})
    payload(page, {"answer": text}, text)
    expect(page.locator("#panel-curl pre")).to_contain_text("ünïcode")
    expect(page.locator(".playground__commands")).not_to_have_class("is-stale")
    page.get_by_role("button", name="Copy for curl").click()
    expect(page.get_by_role("status").filter(has_text="Copied.")).to_be_visible()
    script = tmp_path / "copied.sh"
    script.write_text(page.evaluate("navigator.clipboard.readText()"))
    done = subprocess.run(["bash", str(script)], cwd=tmp_path, capture_output=True, timeout=60, check=True)
    result = json.loads(done.stdout)
    assert (result["reward"], result["metadata"]["name"]) == (1.0, HOSTILE)
    assert not (tmp_path / "ran").exists()
    expect(run(page)).to_contain_text("Pass")


def test_a_link_brings_grader_and_payloads_and_runs_nothing(server: Server, open_window: Open) -> None:
    page = open_window(server).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/playground")
    grader(page, {**EXACT, "name": "shared"})
    payload(page, {"answer": "Grüße 👍", "n": 1}, HOSTILE)
    page.get_by_role("button", name="Copy a link").click()
    expect(page.get_by_role("status").filter(has_text="The link is copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url

    window = open_window(server)
    sent: list[str] = []
    window.page.on("request", lambda request: sent.append(f"{request.method} {request.url.removeprefix(server.url)}"))
    window.page.goto(link)
    expect(window.page.get_by_text("This grader came with a link.")).to_be_visible()
    expect(window.page.get_by_role("textbox", name="The grader as JSON")).to_contain_text('"shared"')
    expect(window.page.get_by_role("textbox", name="Item")).to_contain_text("Grüße 👍")
    expect(window.page.get_by_label("Sample")).to_have_value(HOSTILE)
    expect(window.page.locator("[data-status]")).to_contain_text("Valid")
    expect(window.page.locator("#panel-curl pre")).to_contain_text("shared")
    posted = {each for each in sent if each.startswith("POST")}
    assert posted <= {"POST /graders/check", "POST /playground/commands"}
    assert not any("#" in each or link.partition("#")[2] in each for each in sent)  # the server never sees it
    check_page(window, "playground-linked")
    run(window.page)
    expect(window.page.get_by_text("This grader came with a link.")).to_be_hidden()


def test_a_linked_endpoint_or_code_is_not_touched_by_opening_the_link(server: Server, page: Page) -> None:
    function = "async def grade(thread):\n    open('/tmp/ran', 'w')\n    return 1.0\n"
    for linked in ({"type": "endpoint", "url": f"{server.url}/called"}, {"type": "function", "source": function}):
        shared = {"grader": json.dumps(linked), "payloads": [["{}", {"json": "{}"}]]}
        page.goto("about:blank")
        page.goto(f"/playground#{fragment(shared)}")
        expect(page.get_by_role("textbox", name="The grader as JSON")).to_contain_text(linked["type"])
        expect(page.locator("[data-status]")).to_contain_text("alid")
        expect(page.get_by_role("checkbox", name="as JSON")).to_be_checked()
    assert "/called" not in server.stderr.read_text()
    expect(page.locator("[data-results]")).to_be_empty()


@pytest.mark.parametrize(
    "given",
    [
        "nonsense",
        fragment({"grader": 1, "payloads": []}),
        fragment({"grader": "{}", "payloads": [["{}", 5]]}),
        fragment("x" * 5_000_000),
    ],
    ids=["noise", "types", "sample", "bomb"],
)
def test_a_broken_link_is_told_and_leaves_the_example(page: Page, given: str) -> None:
    page.goto(f"/playground#{given}")
    expect(page.get_by_role("status").filter(has_text="The link cannot be read")).to_be_visible()
    expect(page.get_by_role("textbox", name="The grader as JSON")).to_contain_text("string_check")


@pytest.mark.thorough
def test_with_keys_the_commands_name_the_variable_and_no_key(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    sign_in(page, keyed, keyed.other_key, "/playground")
    expect(page.locator("#panel-curl pre")).to_contain_text("Bearer $OPENAI_API_KEY")
    assert keyed.other_key not in page.content()
    expect(run(page)).to_contain_text("Pass")


def test_forged_requests_are_refused(server: Server) -> None:
    shown = get(server, "/playground")
    headers = {**HTML, "content-type": "application/json", "cookie": cookies_of(shown)}
    assert send(server, "POST", "/playground/commands", headers, b'{"grader": "{}"}').status == 403


def test_an_example_that_is_not_there_is_a_page_that_says_so(server: Server) -> None:
    assert get(server, "/playground?example=nonsense").status == 404
    assert server.get("/playground/examples/custom").error["code"] == "not_found"
