"""A window that is lent again is as good as new, and what went wrong in it is told to whoever had it."""

import pytest
from playwright.sync_api import Page, expect

from tests import thoroughness
from tests.server.client import Server
from tests.web import browser
from tests.web.browser import LOOKS, WIDTHS, Windows, check_page
from tests.web.conftest import Start

ON_LEAVING = "addEventListener('pagehide', () => localStorage.setItem('written', 'on leaving'))"
KEPT = "() => [localStorage.length, sessionStorage.length, document.cookie]"


def leave_behind(page: Page) -> None:
    page.goto("/evals")
    page.evaluate("() => { localStorage.setItem('fairmark-theme', 'dark'); sessionStorage.setItem('a', 'b'); }")
    page.evaluate("document.cookie = 'left=behind'")
    page.evaluate(ON_LEAVING)
    page.set_viewport_size({"width": 500, "height": 400})
    page.context.grant_permissions(["clipboard-read"])
    page.route("**/graders", lambda route: route.abort())
    page.context.new_page()
    page.context.set_offline(True)


def test_a_window_is_lent_again_and_nothing_is_left_in_it(server: Server, windows: Windows) -> None:
    first = windows.lend(server, "dark", "phone")
    first.page.goto("/graders")
    kept_by_a_new_one = first.page.evaluate(KEPT)
    leave_behind(first.page)
    windows.take_back(first)
    first.tell()
    again = windows.lend(server, "light", "wide")
    assert again is first
    page = again.page
    assert (page.url, page.context.pages) == ("about:blank", [page])
    page.goto("/graders")
    assert page.evaluate(KEPT) == kept_by_a_new_one
    assert page.evaluate("[innerWidth, innerHeight]") == [WIDTHS["wide"], 900]
    assert page.evaluate("matchMedia('(prefers-color-scheme: light)').matches")
    permission = "navigator.permissions.query({name: 'clipboard-read'}).then((found) => found.state)"
    assert page.evaluate(permission) == "prompt"
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")
    windows.take_back(again)
    again.tell()


def test_what_goes_wrong_is_told_once_to_whoever_had_the_window(server: Server, windows: Windows) -> None:
    window = windows.lend(server, "light", "desktop")
    window.page.goto("/evals")
    window.page.evaluate("console.error('something is wrong')")
    windows.take_back(window)
    with pytest.raises(AssertionError, match="something is wrong"):
        window.tell()
    again = windows.lend(server, "light", "desktop")
    assert again is window
    again.page.goto("/evals")
    windows.take_back(again)
    again.tell()


def test_two_windows_at_once_are_two_and_an_own_one_is_nobody_elses(server: Server, windows: Windows) -> None:
    one, two, own = (windows.lend(server, "light", "desktop", own) for own in (False, False, True))
    assert one is not two
    for window in (one, two):
        windows.take_back(window)
    windows.take_back(own, own=True)
    lent = [windows.lend(server, "light", "desktop") for _ in range(3)]
    assert own not in lent
    assert {one, two} < set(lent)
    for window in lent:
        windows.take_back(window)


def test_a_window_that_ends_elsewhere_is_not_lent_again(server: Server, windows: Windows) -> None:
    window = windows.lend(server, "light", "desktop")
    window.page.goto("data:text/html,elsewhere")
    windows.take_back(window)
    after = windows.lend(server, "light", "desktop")
    assert after is not window
    windows.take_back(after)


def test_a_window_is_lent_for_another_server_and_has_nothing_of_the_first(
    start: Start, server: Server, windows: Windows
) -> None:
    first = windows.lend(server, "light", "desktop")
    leave_behind(first.page)
    windows.take_back(first)
    first.tell()
    again = windows.lend(other := start(), "light", "desktop")
    assert again is first
    again.page.goto("/evals")
    assert again.page.url == f"{other.url}/evals"
    assert again.page.evaluate("[localStorage.length, sessionStorage.getItem('a')]") == [0, None]
    assert "left" not in again.page.evaluate("document.cookie")
    windows.take_back(again)
    again.tell()


def test_the_thorough_run_checks_a_page_in_both_looks_and_leaves_it_in_its_own(
    server: Server, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = windows.lend(server, *LOOKS[0])
    window.page.goto("/evals")
    look = "[matchMedia('(prefers-color-scheme: dark)').matches, innerWidth]"
    seen: list[list[object]] = []
    monkeypatch.setattr(browser, "check_look", lambda *_: seen.append(window.page.evaluate(look)))
    for whole, looks in ((False, [[False, 1600]]), (True, [[False, 1600], [True, 390]])):
        seen.clear()
        monkeypatch.setattr(thoroughness, "_is_whole", whole)
        check_page(window, "evals")
        assert seen == looks
        assert window.page.evaluate(look) == [False, 1600]
        assert (window.scheme, window.width) == LOOKS[0]
    windows.take_back(window)
    window.tell()
