"""Whoever visits without a script gets where a browser would get."""

import pytest

from tests.server.client import Server
from tests.web.conftest import Keyed
from tests.web.visiting import Visitor


def test_a_form_is_sent_as_it_stands_and_as_it_was_filled_in(keyed: Keyed) -> None:
    visitor = Visitor(keyed)
    page = visitor.go("/keys")
    assert visitor.path == "/sign-in?next=/keys"
    visitor.press(page.by_role("button", "Sign in").one, {"API key": keyed.key})
    assert visitor.path == "/keys"
    made = visitor.press(visitor.page.by_role("button", "Create key").one, {"Name": "a & b"})
    assert made.by_role("row").containing("a & b").one.text.startswith("a & b")
    visitor.press(visitor.page.by_role("button", "Sign out").one)
    assert (visitor.path, "fairmark_session" in visitor.cookies) == ("/sign-in", False)


def test_a_link_is_followed_and_a_search_is_an_address(server: Server) -> None:
    visitor = Visitor(server)
    visitor.follow(visitor.go("/evals").by_role("link", "Graders", exact=True).one)
    assert visitor.path == "/graders"
    assert visitor.go("/nothing").by_role("heading", "There is nothing here").one.seen
    assert visitor.answer.status == 404


def test_what_is_no_link_and_no_button_of_a_form_leads_nowhere(server: Server) -> None:
    visitor = Visitor(server)
    page = visitor.go("/evals")
    with pytest.raises(AssertionError, match="<h1>"):
        visitor.follow(page.css("h1").one)
    with pytest.raises(AssertionError, match="0 times the label 'Nowhere'"):
        visitor.press(page.by_role("button", "Open the demo eval").one, {"Nowhere": "x"})
