"""What surrounds every page: refusals, forged requests, errors in human words, compression."""

import gzip
import re

import pytest
from playwright.sync_api import expect

from fairmark.web.pages import PAGES
from tests.server.client import EXACT, Server
from tests.server.test_gate import Holder
from tests.web.browser import Scheme, Width, check_page, sign_in
from tests.web.conftest import Keyed, Open, Start
from tests.web.forms import HTML, cookies_of, get, post, send, token_in
from tests.web.visiting import Visitor

POLICY = (
    r"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]{20,}'; img-src 'self' data:; "
    r"media-src data:; "
    r"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
POSTED = sorted(page.path for page in PAGES if page.method == "POST")
SHOWN = sorted({page.path for page in PAGES if page.method == "GET"})


@pytest.mark.parametrize("path", [*SHOWN, "/nothing/here"])
def test_every_page_and_error_tells_the_browser_what_to_refuse(server: Server, path: str) -> None:
    answer = get(server, re.sub(r"\{[^}]+\}", "x", path))
    if "'unsafe-inline'" not in answer.headers["content-security-policy"]:
        assert re.fullmatch(POLICY, answer.headers["content-security-policy"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["permissions-policy"].startswith("camera=()")
    assert answer.headers["cache-control"] == "no-store"


def test_no_two_pages_have_the_same_nonce_or_token(server: Server) -> None:
    first = get(server, "/evals")
    again = get(server, "/evals", {**HTML, "cookie": cookies_of(first)})
    assert first.headers["content-security-policy"] != again.headers["content-security-policy"]
    assert token_in(first) != token_in(again)


@pytest.fixture(scope="module")
def session(keyed: Keyed) -> str:
    return signed_in(keyed)


@pytest.mark.parametrize("path", POSTED)
def test_what_is_posted_without_a_token_is_refused(server: Server, keyed: Keyed, session: str, path: str) -> None:
    for each, headers in ((server, {}), (keyed, {"cookie": f"fairmark_session={session}"})):
        answer = send(each, "POST", re.sub(r"\{[^}]+\}", "x", path), {**headers, "content-length": "0"})
        assert (answer.status, answer.error["code"]) == (403, "token_not_valid")


def signed_in(keyed: Keyed) -> str:
    answer = post(keyed, "/sign-in", {"key": keyed.key}, get(keyed, "/sign-in"))
    found = re.search("fairmark_session=([^;]+)", answer.headers["set-cookie"])
    assert found is not None
    return found[1]


def test_a_token_is_good_for_its_own_browser_alone(start: Start) -> None:
    server = start()
    mine, another = get(server, "/evals"), get(server, "/evals")
    foreign = {"cookie": cookies_of(another)}
    assert post(server, "/demo", {}, mine, foreign).status == 403
    assert post(server, "/demo", {}, mine, {"cookie": ""}).status == 403
    for wrong in ("", "00", "zz" * 64, "é", "00" * 64, token_in(mine)[:-2] + "00"):
        assert post(server, "/demo", {"csrf_token": wrong}, mine).status == 403
    assert server.get("/v1/evals").json()["data"] == []
    assert post(server, "/demo", {}, mine).status == 303
    again = get(server, "/evals", {**HTML, "cookie": cookies_of(mine)})
    assert post(server, "/demo", {}, again, {"cookie": cookies_of(mine)}).status == 303


def test_a_sessions_token_is_not_the_one_from_before_signing_in(keyed: Keyed) -> None:
    before = get(keyed, "/sign-in")
    answer = post(keyed, "/demo", {}, before, {"cookie": f"fairmark_session={signed_in(keyed)}; {cookies_of(before)}"})
    assert answer.status == 403


def test_a_token_in_a_header_does_too_and_the_body_may_be_anything(start: Start) -> None:
    server = start()
    shown = get(server, "/evals")
    headers = {"cookie": cookies_of(shown), "x-csrf-token": token_in(shown), "content-type": "application/json"}
    assert send(server, "POST", "/demo", headers, b"{}").status == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
    ],
)
def test_a_request_of_another_site_is_refused_even_with_a_token(keyed: Keyed, headers: dict[str, str]) -> None:
    shown = get(keyed, "/sign-in")
    answer = post(keyed, "/sign-in", {"key": keyed.key}, shown, headers)
    assert answer.status == 403
    assert b"This request came from a page of another site." in answer.body


def test_a_page_behind_a_proxy_may_have_another_scheme_than_we_know(keyed: Keyed) -> None:
    origin = {"origin": f"https://127.0.0.1:{keyed.port}"}
    assert post(keyed, "/sign-in", {"key": keyed.key}, get(keyed, "/sign-in"), origin).status == 303


def test_a_key_in_a_header_needs_no_token(keyed: Keyed) -> None:
    answer = send(keyed, "POST", "/demo", {"authorization": f"Bearer {keyed.key}", "content-length": "0"})
    assert answer.status == 303


def test_an_open_server_shows_its_pages_to_this_machine_alone(server: Server) -> None:
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        answer = get(server, "/evals", {**HTML, **headers})
        assert answer.status == 403
        assert b"<h1" in answer.body


def test_errors_are_pages_for_those_who_look_and_json_for_programs(server: Server) -> None:
    for accept, kind in (("text/html,*/*", "text/html"), ("*/*", "application/json"), (None, "application/json")):
        answer = get(server, "/nothing", {"accept": accept} if accept else {})
        assert answer.status == 404
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["x-request-id"].startswith("req_")
    assert get(server, "/v1/nothing", HTML).error["code"] == "unknown_url"
    assert get(server, "/evals/eval_x/runs/evalrun_x").status == 404
    assert send(server, "POST", "/evals", {**HTML, "content-length": "0"}).status == 405


def test_an_unknown_address_in_every_look(server: Server, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(server, scheme, width)
    window.expect_problem("404")
    window.page.goto("/nothing/here")
    expect(window.page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    check_page(window, "error-404")
    expect(window.page.get_by_role("link", name="To the evals")).to_have_attribute("href", "/evals")


def test_a_store_that_cannot_be_reached_is_told_in_human_words_and_leads_back(start: Start, open_window: Open) -> None:
    server = start()
    window = open_window(server)
    window.expect_problem("503")
    window.page.goto("/evals")
    holder = Holder(server.home / "fairmark.db")
    holder.hold()
    window.page.get_by_role("button", name="Open the demo eval").click()
    expect(window.page.get_by_text("The database cannot be reached at the moment.")).to_be_visible(timeout=20_000)
    expect(window.page.get_by_text(re.compile("tells more under req_"))).to_be_visible()
    check_page(window, "error-503")
    holder.let_go()
    visitor = Visitor(server)
    page = visitor.go(window.page.get_by_role("link", name="Try again").get_attribute("href") or "")
    visitor.press(page.by_role("button", "Open the demo eval").one)
    assert "/runs/" in visitor.path


def test_pages_are_compressed_for_those_who_take_it(server: Server) -> None:
    server.post("/v1/evals", {"data_source_config": {"type": "logs"}, "testing_criteria": [EXACT]})
    plain = get(server, "/evals")
    small = get(server, "/evals", {**HTML, "accept-encoding": "gzip", "cookie": cookies_of(plain)})
    assert small.headers["content-encoding"] == "gzip"
    assert gzip.decompress(small.body).startswith(b"<!doctype html>")
    assert len(small.body) < len(plain.body) / 2
    assert "content-encoding" not in plain.headers


def test_the_colours_that_were_chosen_stay(server: Server, open_window: Open) -> None:
    page = open_window(server, "light").page
    page.goto("/evals")
    toggle = page.get_by_role("button", name="Dark colours")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(background)
    assert dark != light
    page.goto("/evals?q=x")
    assert page.evaluate(background) == dark
    toggle.click()
    page.reload()
    assert page.evaluate(background) == light


def test_the_keyboard_reaches_the_content_first(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    sign_in(page, keyed, keyed.key)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
