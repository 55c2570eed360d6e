"""Keys: an open server is closed by its first one; who looks after them, and who may not."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.client import Server, wait_for
from tests.server.test_gate import make_key
from tests.web.browser import HOSTILE, Scheme, Width, check_page, in_thread, sign_in
from tests.web.conftest import Keyed, Open, Start
from tests.web.forms import HTML, cookies_of, get, post, send
from tests.web.visiting import Visitor

KEY = re.compile("fm-[0-9a-f]{48}")


def shown_key(page: Page) -> str:
    expect(page.get_by_role("heading", name="Your new key")).to_be_visible()
    text = page.locator(".keys__made pre").inner_text()
    assert KEY.fullmatch(text), text
    return text


def create(page: Page, name: str, project: str = "default") -> str:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Project").fill(project)
    page.get_by_role("button", name="Create key").click()
    return shown_key(page)


def by(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_an_open_server_says_that_it_is_open_and_what_the_first_key_does(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    window = open_window(start(), scheme, width)
    window.page.goto("/keys")
    expect(window.page.get_by_role("heading", name="This server is open")).to_be_visible()
    expect(window.page.get_by_text("anybody on this machine may use the server")).to_be_visible()
    expect(window.page.get_by_text("This closes the open server at once")).to_be_visible()
    check_page(window, "keys-open")


def test_the_first_key_closes_the_server_and_signs_its_maker_in_at_once(
    start: Start, open_window: Open, scheme: Scheme, width: Width
) -> None:
    server = start()
    window = open_window(server, scheme, width)
    page = window.page
    page.goto("/keys")
    page.get_by_label("Name of the first key").fill("My laptop")
    page.get_by_role("button", name="Make the first key").click()
    key = shown_key(page)
    check_page(window, "keys-first")
    # At once, while the server may still remember that it was open, and later.
    create(page, "Nightly CI", "ci")
    wait_for(lambda: server.get("/v1/evals").status == 401)
    assert server.get("/v1/evals", by(key)).status == 200
    page.goto("/evals")
    expect(page).to_have_url(re.compile("/evals$"))
    listed = Visitor(server).sign_in(key, "/keys").by_role("row")
    assert "The key you are signed in with" in listed.containing("My laptop").one.text


def test_the_first_key_is_of_the_project_that_looks_after_keys_whatever_a_form_says(start: Start) -> None:
    server = start()
    shown = get(server, "/keys")
    answer = post(server, "/keys", {"name": "first", "project": "elsewhere"}, shown)
    assert answer.status == 200
    assert b"elsewhere" not in answer.body


def test_once_there_is_a_key_the_open_door_is_shut_for_keys_without_delay(start: Start) -> None:
    server = start()
    shown = get(server, "/keys")
    assert shown.status == 200
    made = post(server, "/keys", {"name": "first"}, shown)
    assert made.status == 200
    late = post(server, "/keys", {"name": "second"}, shown)
    assert late.status == 401
    assert get(server, "/keys").headers["location"] == "/sign-in?next=/keys"


def test_keys_are_listed_created_and_shown_once(keyed: Keyed, open_window: Open, scheme: Scheme, width: Width) -> None:
    window = open_window(keyed, scheme, width)
    page = window.page
    sign_in(page, keyed, keyed.key, "/keys")
    name = f"Nightly CI {width} {scheme}"
    key = create(page, name, "research")
    check_page(window, "keys-made")
    assert keyed.get("/v1/evals", by(key)).status == 200
    assert key not in page.url
    page.reload()  # sends nothing again
    expect(page.get_by_role("heading", name="Your new key")).to_have_count(0)
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_have_count(1)
    expect(row).to_contain_text("research")
    expect(row).to_contain_text(f"{key[:8]}…")
    expect(row).to_contain_text("just now")
    assert key not in page.content()
    assert key not in keyed.stderr.read_text()
    check_page(window, "keys")


def test_a_new_key_is_copied_whole(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page, keyed, keyed.key, "/keys")
    key = create(page, "to copy")
    page.get_by_role("button", name="Copy the key").click()
    expect(page.get_by_role("status")).to_contain_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == key


def test_a_key_is_revoked_after_a_question_and_stays_in_the_list(keyed: Keyed, open_window: Open) -> None:
    window = open_window(keyed)
    page = window.page
    sign_in(page, keyed, keyed.key, "/keys")
    key = create(page, "Lost phone", "research")
    page.get_by_role("button", name="Revoke Lost phone").click()
    dialog = page.get_by_role("dialog", name="Revoke this key?")
    expect(dialog).to_contain_text("Lost phone")
    check_page(window, "keys-revoke")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Revoke Lost phone").click()
    dialog.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_role("status")).to_contain_text("The key is revoked.")
    row = page.get_by_role("row").filter(has_text="Lost phone")
    expect(row).to_contain_text("Revoked")
    expect(row.get_by_role("button")).to_have_count(0)
    assert keyed.get("/v1/evals", by(key)).status == 401


def test_revoking_ones_own_and_last_key_is_warned_of_and_signs_out(start: Start) -> None:
    server = start()
    key = in_thread(make_key, server.home)
    wait_for(lambda: get(server, "/evals").status == 303)
    visitor = Visitor(server)
    page = visitor.sign_in(key, "/keys")
    dialog = page.css(f'dialog[id="{page.by_role("button", "Revoke test").one.attributes["data-open"]}"]').one
    assert "last key that looks after keys" in dialog.text
    page = visitor.press(dialog.by_text("Revoke key").one)
    assert visitor.path == "/sign-in"
    assert "Your key is revoked." in page.by_role("status").one.text
    assert get(server, "/evals").status == 303  # revoking the last key does not open the server again


def test_who_looks_after_no_keys_gets_a_page_that_says_so(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    visitor.sign_in(keyed.other_key)
    page = visitor.go("/keys")
    assert visitor.answer.status == 403
    assert page.by_role("heading", "This is not allowed").one.seen
    assert page.by_text("Yours is of the project other").one.seen
    assert page.by_role("link", "Keys") == []


@pytest.mark.parametrize("path", ["/keys", "/keys/key_0123456789abcdef/revoke"])
def test_other_projects_can_neither_make_nor_revoke_keys(keyed: Keyed, path: str) -> None:
    answer = send(
        keyed,
        "POST",
        path,
        {**by(keyed.other_key), "content-type": "application/x-www-form-urlencoded"},
        b"name=x&project=default",
    )
    assert (answer.status, answer.error["code"]) == (403, "not_admin")


@pytest.mark.parametrize("path", ["/keys", "/keys/key_0123456789abcdef/revoke"])
def test_forged_forms_are_refused(server: Server, path: str) -> None:
    shown = get(server, "/keys")
    kind = {"content-type": "application/x-www-form-urlencoded", "cookie": cookies_of(shown)}
    assert send(server, "POST", path, {**HTML, **kind}, b"name=forged").status == 403
    assert b"This server is open" in get(server, "/keys").body


def test_a_hostile_name_stays_text(keyed: Keyed, open_window: Open) -> None:
    page = open_window(keyed).page
    sign_in(page, keyed, keyed.key, "/keys")
    create(page, HOSTILE)
    expect(page.get_by_role("row").filter(has_text="{{7*7}}")).to_contain_text(HOSTILE)


def test_what_is_wrong_with_a_new_key_is_told_beside_its_field(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    create = visitor.sign_in(keyed.key, "/keys").by_role("button", "Create key").one
    page = visitor.press(create, {"Name": "kept", "Project": "no spaces please"})
    assert visitor.answer.status == 400
    assert page.by_text("It takes 1 to 64 letters, digits").one.seen
    assert page.by_label("Name").one.value == "kept"
    page = visitor.press(page.by_role("button", "Create key").one, {"Name": "   ", "Project": "default"})
    assert visitor.answer.status == 400
    assert page.by_text("Give the key a name").one.seen


def test_a_key_that_is_not_there_cannot_be_revoked(keyed: Keyed) -> None:
    shown = {**by(keyed.key), "content-type": "application/x-www-form-urlencoded"}
    answer = send(keyed, "POST", "/keys/key_0123456789abcdef/revoke", shown, b"")
    assert (answer.status, answer.error["code"]) == (404, "not_found")
