"""Templates into answers: everything is escaped, and a name that is not there is an error."""

from typing import Any

import pytest
from jinja2 import UndefinedError
from starlette.requests import Request

from fairmark.web.frame import render
from fairmark.web.frame.visit import begin


def request() -> Request:
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
    begin(scope)
    return Request(scope)


def error_page(message: str) -> bytes:
    answer = render.page(
        request(), "frame/error.html", 404, title="There is nothing here", message=message, request_id="", again=""
    )
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    return bytes(answer.body)


def test_what_users_say_is_escaped() -> None:
    page = error_page("<script>alert('x')</script>")
    assert b"&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert b"<script>alert" not in page


def test_half_an_emoji_does_not_break_a_page() -> None:
    assert b"half ? an emoji" in error_page("half \ud83d an emoji")


def test_a_name_that_nobody_gave_is_an_error_and_no_gap() -> None:
    with pytest.raises(UndefinedError, match="'message' is undefined"):
        render.page(request(), "frame/error.html", 404, title="x", request_id="", again="")


def test_a_form_brings_the_token_of_its_visit() -> None:
    seen = request()
    common = render._common(seen)
    assert seen.scope["visit"].knows(common["csrf_token"])
    assert f'value="{common["csrf_token"]}"' in common["csrf"]


def test_every_template_can_be_compiled() -> None:
    names = render.environment().list_templates()
    assert len(names) > 20
    for name in names:
        assert render.environment().get_template(name).name == name
