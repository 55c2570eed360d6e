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


def by(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_page_asks_to_sign_in_and_goes_on_to_where_one_wanted_to_go(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    page.goto("/evals?q=plums")
    expect(page).to_have_url(re.compile(r"/sign-in\?next=/evals%3Fq%3Dplums$"))
    page.get_by_label("API key").fill(keyed.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile(r"/evals\?q=plums$"))


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


def test_the_session_is_out_of_reach_of_scripts_and_of_other_sites(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    sign_in(page, keyed.key)
    cookies = {each["name"]: each for each in page.context.cookies()}
    session = cookies["fairmark_session"]
    assert (session["httpOnly"], session["sameSite"], session["path"]) == (True, "Lax", "/")
    assert not session["secure"]  # this is http
    assert keyed.key not in str(cookies)
    assert page.evaluate("document.cookie") == ""


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


def test_signing_out_ends_the_session_and_not_only_the_cookie(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    sign_in(page, keyed.key)
    (session,) = [each["value"] for each in page.context.cookies() if each["name"] == "fairmark_session"]
    old = {**HTML, "cookie": f"fairmark_session={session}"}
    assert get(keyed, "/evals", old).status == 200
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    expect(page.get_by_role("status")).to_contain_text("You have signed out.")
    assert "fairmark_session" not in [each["name"] for each in page.context.cookies()]
    assert get(keyed, "/evals", old).status == 303
    page.reload()
    expect(page.get_by_role("status")).not_to_contain_text("You have signed out.")  # it is said once


def test_a_revoked_key_ends_its_sessions(start: Start, open_window: Open) -> None:
    server = start()
    key = in_thread(make_key, server.home)
    wait_for(lambda: get(server, "/evals").status == 303)
    page = open_window(server).page
    sign_in(page, key)
    in_thread(revoke_keys, server.home)
    page.goto("/evals")
    expect(page).to_have_url(re.compile("/sign-in"))


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


def test_a_session_is_no_key_for_the_api(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    sign_in(page, keyed.key)
    (session,) = [each["value"] for each in page.context.cookies() if each["name"] == "fairmark_session"]
    assert keyed.get("/v1/evals", {"cookie": f"fairmark_session={session}"}).status == 401
    assert keyed.get("/v1/evals", by(session)).status == 401


def test_a_key_in_a_header_opens_pages_too(keyed: Keyed) -> None:
    assert keyed.get("/evals", by(keyed.key)).status == 200
    answer = keyed.get("/evals")
    assert (answer.status, answer.error["code"]) == (401, "not_signed_in")
    assert keyed.get("/evals", by("fm-wrong")).status == 401


def test_projects_do_not_see_one_anothers_evals_and_only_the_default_one_sees_keys(
    keyed: Keyed, open_window: Open
) -> None:
    new_eval(keyed, "ours", by(keyed.key))
    new_eval(keyed, "theirs", by(keyed.other_key))
    page = open_window(keyed).page
    sign_in(page, keyed.other_key)
    expect(page.get_by_role("link", name="theirs")).to_be_visible()
    expect(page.get_by_role("link", name="ours")).to_have_count(0)
    expect(page.get_by_role("link", name="Keys")).to_have_count(0)
    expect(page.get_by_text("other", exact=True)).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, keyed.key)
    expect(page.get_by_role("link", name="ours")).to_be_visible()
    expect(page.get_by_role("link", name="Keys")).to_be_visible()


def test_when_the_session_has_ended_htmx_leads_to_signing_in(keyed: Keyed, open_window: Open) -> None:
    window = open_window(keyed)
    window.expect_problem("401")
    sign_in(window.page, keyed.key)
    window.page.context.clear_cookies(name="fairmark_session")
    window.page.get_by_role("searchbox").fill("anything")
    window.page.wait_for_url(re.compile(r"/sign-in\?next=/evals"))


def test_a_server_without_keys_asks_nobody_to_sign_in(server: Server) -> None:
    answer = get(server, "/sign-in?next=/evals%3Fq%3Dx")
    assert (answer.status, answer.headers["location"]) == (303, "/evals?q=x")
