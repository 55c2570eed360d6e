"""The labelling page in a real browser, without a mouse."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import Server, wait_for
from tests.web.browser import HOSTILE, Scheme, Width, Window, check_page, new_eval, new_run
from tests.web.conftest import Keyed, Open
from tests.web.forms import cookies_of, get, post, send, token_in
from tests.web.visiting import Visitor


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "item": {"question": f"Question {index}?", "answer": "Paris" if index % 2 else f"Answer {index}"},
            "sample": {"output_text": f"Answer {index}", "model": "secret-model"},
        }
        for index in range(count)
    ]


def run_of(server: Server, count: int, headers: Mapping[str, str] | None = None, name: str = "secret-run") -> str:
    """The path of a run that has ended."""
    made = new_eval(server, "capitals", headers)
    return f"/evals/{made}/runs/{new_run(server, made, rows(count), name, headers)}"


def begin(server: Server, page: Page, path: str, count: int, rater: str = "kim") -> None:
    """At the first row. The form before it is sent without the browser."""
    visitor = Visitor(server)
    button = visitor.go(f"{path}/label").by_role("button", "Begin").one
    visitor.press(button, {"Your name": rater, "How many rows": str(count)})
    page.goto(visitor.path)
    expect(page.locator("#labelling[data-whole]")).to_be_attached()


def begin_by_keys(page: Page, path: str, count: int, rater: str = "kim") -> None:
    """From the form to the first row."""
    page.goto(f"{path}/label")
    page.get_by_label("Your name").fill(rater)
    page.get_by_label("How many rows").fill(str(count))
    page.keyboard.press("Enter")
    page.wait_for_url("**/label/labelbatch_*")
    expect(page.locator("#labelling[data-whole]")).to_be_attached()


def labels_of(server: Server, path: str, headers: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    found, after, run_id = [], "", path.rpartition("/")[2]
    while True:
        page = server.get(f"/v1/labels?run_id={run_id}&limit=100{after}", headers).json()
        found += page["data"]
        if not page["has_more"]:
            return found
        after = f"&after={page['last_id']}"


def count_of(page: Page) -> tuple[int, int]:
    """The row that is shown, and how many are done."""
    at, done = re.findall(r"\d+", page.locator("#count").inner_text())[::2]
    return int(at), int(done)


def shown_answer(page: Page) -> int:
    return int(re.findall(r"Answer (\d+)", page.locator("#row").inner_text())[0])


def all_sent(page: Page) -> None:
    expect(page.locator('#labelling[data-waiting="0"]')).to_be_attached(timeout=60_000)


def test_rows_are_labelled_by_keys_and_kept_at_each(server: Server, page: Page) -> None:
    path = run_of(server, 8)
    begin_by_keys(page, path, 6)
    said: dict[int, str] = {}
    total = int(re.findall(r"\d+", page.locator("#count").inner_text())[1])
    for step in range(total):
        idx = shown_answer(page)
        said.setdefault(idx, "pass" if idx % 3 else "fail")
        page.keyboard.press("p" if idx % 3 else "F")
        if step == 0:
            wait_for(lambda: len(labels_of(server, path)) == 1)
    expect(page.get_by_role("heading", name="Done, thank you")).to_be_visible()
    all_sent(page)
    found = {label["row"]: label for label in labels_of(server, path) if not label["repeated"]}
    assert {idx: label["label"] for idx, label in found.items()} == said
    assert all(label["rater"] == "kim" and label["seconds"] is not None for label in found.values())
    assert all(0 < label["chance"] <= 1 for label in found.values())


@pytest.mark.thorough
def test_undo_skip_notes_and_arrows(server: Server, page: Page) -> None:
    path = run_of(server, 5)
    begin(server, page, path, 5)
    first = shown_answer(page)
    page.keyboard.press("p")
    expect(page.locator("#count")).to_contain_text("1 done")
    page.keyboard.press("u")
    expect(page.locator("#count")).to_contain_text("0 done")
    assert shown_answer(page) == first
    all_sent(page)
    assert labels_of(server, path) == []
    page.keyboard.press("n")
    page.keyboard.type("puns, f and all")
    page.keyboard.press("Enter")
    page.keyboard.press("f")
    page.keyboard.press("s")
    expect(page.locator("#count")).to_contain_text("2 done")
    assert count_of(page) == (3, 2)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert shown_answer(page) == first
    expect(page.get_by_role("button", name="Fail")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("p")
    page.keyboard.press("u")  # what was said before counts again
    all_sent(page)
    (label,) = labels_of(server, path)
    assert (label["row"], label["label"], label["note"]) == (first, "fail", "puns, f and all")


def test_nothing_on_the_page_leads_the_rater(server: Server, page: Page) -> None:
    path = run_of(server, 6)
    run_id = path.rpartition("/")[2]
    server.post("/v1/labels", {"run_id": run_id, "row": 0, "label": "pass", "rater": "other-rater"})
    begin(server, page, path, 6)
    for _ in range(6):
        seen = page.content()
        assert not [secret for secret in ("secret-model", "secret-run", "other-rater") if secret in seen]
        expect(page.locator("#row .badge")).to_have_count(0)
        page.keyboard.press("ArrowRight")


def test_the_connection_may_drop_and_come_back(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to load resource")
    labelled_through_a_cut(server, window, 8)


@pytest.mark.thorough
def test_a_hundred_rows_with_the_connection_cut_in_the_middle_lose_nothing(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to load resource")
    labelled_through_a_cut(server, window, 100)


def labelled_through_a_cut(server: Server, window: Window, count: int) -> None:
    page = window.page
    path = run_of(server, count)
    begin(server, page, path, count)
    total = int(re.findall(r"\d+", page.locator("#count").inner_text())[1])
    said: dict[int, str] = {}
    for step in range(total):
        if step == total // 3:
            page.context.set_offline(True)
        if step == 2 * total // 3:
            expect(page.locator("#waiting")).to_contain_text("in this browser")
            page.context.set_offline(False)
        idx = shown_answer(page)
        said.setdefault(idx, "pass" if idx % 2 else "fail")
        page.keyboard.press("p" if idx % 2 else "f")
    expect(page.get_by_role("heading", name="Done, thank you")).to_be_visible()
    all_sent(page)
    found = labels_of(server, path)
    assert len(found) == total
    assert {label["row"]: label["label"] for label in found if not label["repeated"]} == said
    assert len(said) == count


@pytest.mark.thorough
def test_what_a_closed_page_had_not_sent_is_sent_when_it_is_opened_again(server: Server, open_window: Open) -> None:
    window = open_window(server)
    window.expect_problem("ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to load resource")
    page = window.page
    path = run_of(server, 4)
    begin(server, page, path, 4)
    here = page.url
    page.context.set_offline(True)
    page.keyboard.press("p")
    page.keyboard.press("p")
    expect(page.locator("#waiting")).to_contain_text("2 labels wait in this browser")
    page.context.set_offline(False)
    page.context.route("**/save", lambda route: route.abort())
    page.close()
    page.context.unroute("**/save")
    again = page.context.new_page()
    again.goto(here)
    expect(again.locator("#count")).to_contain_text("2 done")
    all_sent(again)
    assert len(labels_of(server, path)) == 2


def test_answers_that_are_lost_double_nothing(server: Server, open_window: Open) -> None:
    """The server keeps what it was sent, and the browser never hears of it."""
    window = open_window(server)
    window.expect_problem("ERR_FAILED|Failed to load resource")
    page = window.page
    path = run_of(server, 4)
    begin(server, page, path, 4)
    lost: list[int] = []

    def lose(route: Any) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/save", lose)
    page.keyboard.press("p")
    page.keyboard.press("p")
    page.keyboard.press("u")
    all_sent(page)
    assert lost == [200, 200]
    assert len(labels_of(server, path)) == 1


@pytest.mark.thorough
def test_two_raters_label_at_once_and_their_agreement_is_seen(server: Server, open_window: Open) -> None:
    path = run_of(server, 4)  # so few that both get all of them
    pages = [open_window(server).page for _ in range(2)]
    for name, page in zip(("kim", "lee"), pages, strict=True):
        begin(server, page, path, 4, name)
    open_pages = list(pages)
    while open_pages:
        for page in list(open_pages):
            if page.locator("#end").is_visible():
                open_pages.remove(page)
                continue
            page.keyboard.press("p" if shown_answer(page) % 2 else "f")
    for page in pages:
        all_sent(page)
    found = [label for label in labels_of(server, path) if not label["repeated"]]
    by_rater = {name: {each["row"] for each in found if each["rater"] == name} for name in ("kim", "lee")}
    assert by_rater == {"kim": set(range(4)), "lee": set(range(4))}
    page = pages[0]
    page.get_by_role("link", name="See what labels say").press("Enter")
    facts = page.get_by_role("region", name="Labels about exact")
    expect(facts).to_contain_text("Raters among themselves")
    expect(facts).to_contain_text("κ 1.00")
    expect(facts).to_contain_text("kim (")


@pytest.mark.thorough
def test_two_tabs_of_one_rater_share_one_batch_and_lose_nothing(server: Server, open_window: Open) -> None:
    window = open_window(server)
    path = run_of(server, 6)
    begin(server, window.page, path, 6)
    second = window.page.context.new_page()
    second.goto(window.page.url)
    expect(second.locator("#labelling[data-whole]")).to_be_attached()
    assert shown_answer(second) == shown_answer(window.page)
    row = shown_answer(second)
    window.page.keyboard.press("p")
    all_sent(window.page)
    second.keyboard.press("f")
    all_sent(second)
    assert [(label["row"], label["label"]) for label in labels_of(server, path)] == [(row, "fail")]


def test_formulas_are_set_for_raters_on_every_row(server: Server, page: Page) -> None:
    made = new_eval(server, "formulas")
    given = [{"item": {"answer": "x", "question": f"What is $x^{n}$?"}, "sample": {"output_text": r"$\sqrt{2}$"}}
             for n in (2, 3)]  # fmt: skip
    begin(server, page, f"/evals/{made}/runs/{new_run(server, made, given)}", 2)
    for _ in given:
        expect(page.locator("#row .math msqrt")).to_be_visible()
        expect(page.locator("#row .math msup")).to_be_visible()
        page.keyboard.press("p")
    all_sent(page)


def test_hostile_texts_stay_texts(server: Server, page: Page) -> None:
    made = new_eval(server, HOSTILE)
    row = {"item": {"answer": "x", "question": HOSTILE, HOSTILE: HOSTILE}, "sample": {"output_text": HOSTILE}}
    path = f"/evals/{made}/runs/{new_run(server, made, [row], HOSTILE)}"
    begin(server, page, path, 1, HOSTILE)
    expect(page.locator("#row")).to_contain_text("<script>")
    page.keyboard.press("n")
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Enter")
    page.keyboard.press("p")
    all_sent(page)
    for where in (f"{path}/labels", f"{path}/rows/0", f"{path}/label", path):
        page.goto(where)
        expect(page.locator("h1")).to_be_visible()
    (label,) = labels_of(server, path)
    assert (label["rater"], label["note"]) == (HOSTILE, HOSTILE)


def test_another_projects_batch_is_not_there(keyed: Keyed) -> None:
    headers = {"authorization": f"Bearer {keyed.key}"}
    path = run_of(keyed, 3, headers)
    visitor = Visitor(keyed)
    page = visitor.sign_in(keyed.key, f"{path}/label")
    assert page.by_label("Your name").one.value == "test"
    visitor.press(page.by_role("button", "Begin").one, {"Your name": "kim", "How many rows": "3"})
    batch = visitor.path
    assert batch.startswith(f"{path}/label/labelbatch_")
    other = {"authorization": f"Bearer {keyed.other_key}"}
    assert keyed.get(batch, other).status == 404
    assert keyed.get(f"{batch}/rows", other).status == 404
    assert keyed.post(f"{batch}/save", {"entries": []}, other).status == 404
    assert keyed.post(f"{batch}/save", {"entries": []}, headers).status == 200


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"at": 99, "value": "pass"}, "0 to "),
        ({"at": 0, "value": "maybe"}, "Use one of: pass, fail"),
        ({"at": 0, "value": "pass", "id": "nonsense"}, "It takes label_"),
        ({"at": 0, "value": "pass", "note": "x" * 10_001}, "at most 10000"),
    ],
)
def test_a_bad_entry_is_refused_and_the_others_are_kept(server: Server, entry: dict[str, Any], words: str) -> None:
    path = run_of(server, 3)
    shown = get(server, f"{path}/label")
    begun = post(server, f"{path}/label", {"rater": "kim", "question": "1-label", "count": "3"}, shown)
    assert begun.status == 303, begun.body
    entries = [{"id": "label_bad", **entry}, {"id": f"label_{path[-8:]}", "at": 1, "value": "fail"}]
    headers = {"x-csrf-token": token_in(shown), "cookie": cookies_of(shown), "content-type": "application/json"}
    save = f"{begun.headers['location']}/save"
    answer = send(server, "POST", save, headers, json.dumps({"entries": entries}).encode()).json()
    assert words in next(iter(answer["refused"].values()))
    assert list(answer["became"].values()) == ["kept"]
    forged = send(server, "POST", save, {"content-type": "application/json"}, json.dumps({"entries": []}).encode())
    assert forged.status == 403


def test_the_screen_in_every_look(server: Server, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(server, scheme, width)
    path = run_of(server, 6)
    window.page.goto(f"{path}/label")
    check_page(window, "label-start")
    begin(server, window.page, path, 6)
    check_page(window, "label-screen")
    window.page.get_by_role("button", name="Pass").click()
    expect(window.page.locator("#count")).to_contain_text("1 done")
    window.page.goto(f"{path}/labels")
    check_page(window, "labels")
