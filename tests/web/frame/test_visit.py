"""A visit: its token is new each time and known to no other browser, and a flash is said once."""

from typing import Any

import pytest
from starlette.datastructures import FormData
from starlette.requests import Request

from fairmark.serving.access import OPEN_PROJECT, Visitor
from fairmark.web.frame.visit import (
    FLASH_LENGTH,
    Visit,
    above_zero,
    begin,
    field,
    is_partial,
    redirect,
    visit,
)


def visited(cookies: str = "", **scope: Any) -> Visit:
    return begin({"type": "http", "headers": [(b"cookie", cookies.encode())], **scope})


def test_a_token_is_another_one_each_time_and_known_to_its_own_browser_alone() -> None:
    mine, yours = visited(session="s" * 40), visited(session="t" * 40)
    tokens = {mine.token() for _ in range(10)}
    assert len(tokens) == 10
    assert all(mine.knows(token) for token in tokens)
    assert not any(yours.knows(token) for token in tokens)


@pytest.mark.parametrize("token", ["", "no hex", "00" * 64, "00" * 32, "00" * 65, "é"])
def test_what_is_no_token_is_not_known(token: str) -> None:
    assert not visited().knows(token)


def test_a_browser_without_a_session_keeps_the_seed_that_its_tokens_are_bound_to() -> None:
    first = visited()
    assert first.is_new
    again = visited(f"fairmark_seed={first.seed}")
    assert (again.seed, again.is_new, again.knows(first.token())) == (first.seed, False, True)
    for planted in ("short", "x" * 65):
        other = visited(f"fairmark_seed={planted}")
        assert (other.seed != planted, other.is_new) == (True, True)
    assert not visited(session="s" * 40).is_new


def test_what_the_last_page_did_is_said_by_the_next() -> None:
    answer = redirect("/evals", "Gelöscht; “fertig”")
    assert (answer.status_code, answer.headers["location"]) == (303, "/evals")
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert visited(cookie).flash == "Gelöscht; “fertig”"
    assert "set-cookie" not in redirect("/evals").headers
    assert len(visited(redirect("/", "x" * 1000).headers["set-cookie"].partition(";")[0]).flash) == FLASH_LENGTH


def test_only_the_open_project_looks_after_all_keys() -> None:
    assert visited(visitor=Visitor(OPEN_PROJECT, None, 0)).is_admin
    assert not visited(visitor=Visitor("other", None, 0)).is_admin
    assert not visited().is_admin


def test_a_key_in_a_header_is_told_from_a_session() -> None:
    visitor = Visitor("other", "key_1", 0)
    assert visited(visitor=visitor).by_key
    assert not visited(visitor=visitor, session="s" * 40).by_key
    assert not visited(visitor=Visitor("other", None, 0)).by_key


def test_a_field_is_its_text_and_nothing_where_there_is_none() -> None:
    request = Request({"type": "http", "headers": [], "form": FormData([("name", "x")])})
    assert (field(request, "name"), field(request, "other")) == ("x", "")


@pytest.mark.parametrize(
    ("headers", "partial"),
    [
        ({}, False),
        ({"hx-request": "true"}, True),
        ({"hx-request": "true", "hx-history-restore-request": "true"}, False),
    ],
)
def test_a_part_is_sent_only_to_those_who_show_the_rest_already(headers: dict[str, str], partial: bool) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert is_partial(Request({"type": "http", "headers": raw})) is partial


def test_the_visit_is_found_again_in_the_request() -> None:
    scope: dict[str, Any] = {"type": "http", "headers": []}
    assert visit(Request(scope | {"visit": begin(scope)})) is scope["visit"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("3", 3), (" 0.5 ", 0.5), ("1e3", 1000), ("0", None), ("-1", None), ("nan", None), ("inf", None), ("many", None)],
)
def test_a_number_above_zero_is_read_and_nothing_else(text: str, number: float | None) -> None:
    assert above_zero(text) == number
