"""Signing in and out, and who gets to see what."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fairmark.serving.wrongkeys import FREE
from tests.server.client import Server, wait_for
from tests.server.test_gate import make_key, revoke_keys
from tests.web.browser import Scheme, Width, check_page, in_thread, new_eval, sign_in
from tests.web.conftest import Keyed, Open, Start
from tests.web.forms import HTML, get, post
from tests.web.visiting import Visitor


def by(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_page_asks_to_sign_in_and_goes_on_to_where_one_wanted_to_go(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    page = visitor.go("/evals?q=plums")
    assert visitor.path == "/sign-in?next=/evals%3Fq%3Dplums"
    visitor.press(page.by_role("button", "Sign in").one, {"API key": keyed.key})
    assert visitor.path == "/evals?q=plums"


def test_the_sign_in_page_in_every_look(keyed: Keyed, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(keyed, scheme, width)
    window.page.goto("/sign-in")
    check_page(window, "sign-in")


def test_a_wrong_key_is_told_so_in_human_words(keyed: Keyed, open_window: Open) -> None:
    window = open_window(keyed)
    window.expect_problem("400")
    window.page.goto("/sign-in?next=/evals")
    box = window.page.get_by_label("API key")
    box.fill("fm-wrong")
    window.page.get_by_role("button", name="Sign in").click()
    expect(window.page.get_by_text("This key is not valid. It may be mistyped, or revoked.")).to_be_visible()
    expect(box).to_have_attribute("aria-invalid", "true")
    check_page(window, "sign-in-wrong")
    box.fill(keyed.key)
    window.page.get_by_role("button", name="Sign in").click()
    window.page.wait_for_url("**/evals")


def test_the_session_is_out_of_reach_of_scripts_and_of_other_sites(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    visitor.sign_in(keyed.key)
    assert [told.partition("=")[0] for told in visitor.set_cookies] == ["fairmark_seed", "fairmark_session"]
    for told in visitor.set_cookies:
        marks = told.lower().split("; ")[1:]
        assert {"httponly", "samesite=lax", "path=/"} <= set(marks), told
        assert "secure" not in marks  # this is http
        assert keyed.key not in told


PROXIED = {"x-forwarded-proto": "https", "x-forwarded-host": "fairmark.example"}


def test_behind_a_trusted_proxy_that_speaks_https_the_cookies_are_for_https_alone(start: Start, tmp_path: Path) -> None:
    key = in_thread(make_key, tmp_path / "home0")
    server = start(env={"FAIRMARK_TRUSTED_PROXIES": "127.0.0.1"})
    shown = get(server, "/sign-in", {**HTML, **PROXIED})
    assert "; Secure" in shown.headers["set-cookie"]
    ours, direct = {"origin": "https://fairmark.example"}, {"origin": f"http://127.0.0.1:{server.port}"}
    answer = post(server, "/sign-in", {"key": key}, shown, {**PROXIED, **ours})
    assert "fairmark_session=" in answer.headers["set-cookie"]
    assert "; Secure" in answer.headers["set-cookie"]
    # Forms come from the address that the browser was at, and from no other.
    for headers in ({**PROXIED, **direct}, {**PROXIED, "origin": "https://evil.example"}, ours):
        assert post(server, "/sign-in", {"key": key}, shown, headers).status == 403


def test_a_stranger_who_poses_as_a_proxy_is_not_believed(keyed: Keyed) -> None:
    shown = get(keyed, "/sign-in", {**HTML, **PROXIED})
    assert "; Secure" not in shown.headers["set-cookie"]
    forged = {**PROXIED, "origin": "https://fairmark.example"}
    assert post(keyed, "/sign-in", {"key": keyed.key}, shown, forged).status == 403


def test_who_tries_keys_is_asked_to_wait(start: Start, tmp_path: Path) -> None:
    key = in_thread(make_key, tmp_path / "home0")
    server = start(env={"FAIRMARK_TRUSTED_PROXIES": "127.0.0.1"})
    shown = get(server, "/sign-in")
    for _ in range(FREE):
        assert post(server, "/sign-in", {"key": "fm-wrong"}, shown).status == 400
    refused = post(server, "/sign-in", {"key": key}, shown)
    assert (refused.status, int(refused.headers["retry-after"]) in range(1, 6)) == (429, True)
    assert re.search(rb"Too many wrong keys came from your address. Try again in [1-5] seconds?\.", refused.body)
    by_header = server.get("/v1/evals", by("fm-another"))
    assert (by_header.status, by_header.error["code"]) == (429, "too_many_wrong_keys")
    # Whoever comes from elsewhere does not wait, and the address is the one behind the proxy.
    assert post(server, "/sign-in", {"key": key}, shown, {"x-forwarded-for": "203.0.113.7"}).status == 303


def test_signing_out_ends_the_session_and_not_only_the_cookie(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    page = visitor.sign_in(keyed.key)
    old = {**HTML, "cookie": f"fairmark_session={visitor.cookies['fairmark_session']}"}
    assert get(keyed, "/evals", old).status == 200
    page = visitor.press(page.by_role("button", "Sign out").one)
    assert visitor.path == "/sign-in"
    assert "You have signed out." in page.by_role("status").one.text
    assert "fairmark_session" not in visitor.cookies
    assert get(keyed, "/evals", old).status == 303
    assert "You have signed out." not in visitor.go("/sign-in").text  # it is said once


def test_a_revoked_key_ends_its_sessions(start: Start) -> None:
    server = start()
    key = in_thread(make_key, server.home)
    wait_for(lambda: get(server, "/evals").status == 303)
    visitor = Visitor(server)
    visitor.sign_in(key)
    in_thread(revoke_keys, server.home)
    visitor.go("/evals")
    assert visitor.path.startswith("/sign-in")


@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "/\t/evil.example",
        "evals",
        "",
    ],
)
def test_signing_in_leads_to_no_other_site(keyed: Keyed, to: str) -> None:
    shown = get(keyed, "/sign-in")
    answer = post(keyed, "/sign-in", {"key": keyed.key, "next": to}, shown)
    assert (answer.status, answer.headers["location"]) == (303, "/evals")


def test_a_session_is_no_key_for_the_api(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    visitor.sign_in(keyed.key)
    session = visitor.cookies["fairmark_session"]
    assert keyed.get("/v1/evals", {"cookie": f"fairmark_session={session}"}).status == 401
    assert keyed.get("/v1/evals", by(session)).status == 401


def test_a_key_in_a_header_opens_pages_too(keyed: Keyed) -> None:
    assert keyed.get("/evals", by(keyed.key)).status == 200
    answer = keyed.get("/evals")
    assert (answer.status, answer.error["code"]) == (401, "not_signed_in")
    assert keyed.get("/evals", by("fm-wrong")).status == 401


def test_projects_do_not_see_one_anothers_evals_and_only_the_default_one_sees_keys(keyed: Keyed) -> None:
    new_eval(keyed, "ours", by(keyed.key))
    new_eval(keyed, "theirs", by(keyed.other_key))
    visitor = Visitor(keyed)
    page = visitor.sign_in(keyed.other_key)
    assert page.by_role("link", "theirs").one.seen
    assert page.by_role("link", "ours") == page.by_role("link", "Keys") == []
    assert page.by_text("other", exact=True).one.seen
    visitor.press(page.by_role("button", "Sign out").one)
    page = visitor.sign_in(keyed.key)
    assert page.by_role("link", "ours").one.seen
    assert page.by_role("link", "Keys").one.seen


def test_when_the_session_has_ended_htmx_leads_to_signing_in(keyed: Keyed, open_window: Open) -> None:
    window = open_window(keyed)
    window.expect_problem("401")
    sign_in(window.page, keyed, keyed.key)
    window.page.context.clear_cookies(name="fairmark_session")
    window.page.get_by_role("searchbox").fill("anything")
    window.page.wait_for_url(re.compile(r"/sign-in\?next=/evals"))


def test_a_server_without_keys_asks_nobody_to_sign_in(server: Server) -> None:
    answer = get(server, "/sign-in?next=/evals%3Fq%3Dx")
    assert (answer.status, answer.headers["location"]) == (303, "/evals?q=x")
