"""The web page as the gate knows it: who needs no session, and errors in human words for those who read."""

import asyncio
import json

import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Scope

from fairmark.errors import ApiError
from fairmark.web.frame import assets
from fairmark.web.pages import PAGES
from fairmark.web.site import Site
from tests.web.browser import in_thread

HTML = {"accept": "text/html"}


def refused(
    error: ApiError, headers: dict[str, str], method: str = "GET", path: str = "/evals", query: str = ""
) -> Response | None:
    """The answer as it is sent; None where it is left to the API."""
    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    answer = Site().refusal(error, scope, "req_1")
    return None if answer is None else in_thread(asyncio.run, sent(answer, scope))


async def sent(answer: ASGIApp, scope: Scope) -> Response:
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    await answer(scope, receive, send)
    whole = Response(b"".join(message.get("body", b"") for message in messages), messages[0]["status"])
    whole.raw_headers = list(messages[0]["headers"])
    return whole


def test_every_page_has_its_handler_under_its_method() -> None:
    handlers = Site().handlers()
    assert all(page.method in handlers[page.path] for page in PAGES)
    assert "GET" in handlers[assets.ROUTE]


def test_only_the_way_in_and_our_own_files_are_public() -> None:
    site = Site()
    assert {page.path for page in PAGES if site.is_public(page.path)} == {"/sign-in"}
    assert site.is_public(assets.PREFIX + "page.css")
    assert not site.is_public("/sign-in/x")


def test_only_pages_that_start_runs_take_files() -> None:
    site = Site()
    assert site.takes_files("/evals/eval_1/new-run")
    assert site.takes_files("/evals/eval_1/new-run/preview")
    assert not site.takes_files("/evals/new")


def test_a_program_gets_the_apis_error_and_a_person_a_page() -> None:
    error = ApiError(404, "No eval found", code="not_found")
    assert refused(error, {"accept": "application/json"}) is None
    page = refused(error, HTML)
    assert page is not None
    assert page.status_code == 404
    assert b"No eval found" in bytes(page.body)
    assert b"There is nothing here" in bytes(page.body)


def test_who_has_to_sign_in_is_led_there_and_back() -> None:
    answer = refused(ApiError(401, "no key"), HTML, path="/evals/e", query="at=after_1&q=a b")
    assert answer is not None
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/sign-in?next=/evals/e%3Fat%3Dafter_1%26q%3Da%20b",
    )
    home = refused(ApiError(401, "no key"), HTML, path="/")
    assert home is not None
    assert home.headers["location"] == "/sign-in"


def test_a_part_of_a_page_sends_the_whole_page_to_the_way_in() -> None:
    here = {"hx-request": "true", "hx-current-url": "http://127.0.0.1/evals?q=1"}
    answer = refused(ApiError(401, "no key"), here)
    assert answer is not None
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/sign-in?next=/evals%3Fq%3D1")
    assert json.loads(bytes(answer.body))["error"]["message"] == "no key"


@pytest.mark.parametrize(
    ("referer", "again"),
    [("http://here/evals/new", "/evals/new"), ("http://elsewhere/evals/new", ""), ("", "")],
)
def test_after_a_failure_of_ours_the_way_back_leads_to_our_own_form_alone(referer: str, again: str) -> None:
    error = ApiError(500, "secret words", code="internal_error")
    page = refused(error, {**HTML, "host": "here", "referer": referer}, method="POST")
    assert page is not None
    assert b"secret words" not in bytes(page.body)
    assert b"bug in Fairmark" in bytes(page.body)
    assert b"req_1" in bytes(page.body)
    assert (f'href="{again}"'.encode() in bytes(page.body)) is bool(again)


def test_a_refusal_keeps_the_headers_of_its_error() -> None:
    error = ApiError(429, "slower", headers={"retry-after": "5"})
    page = refused(error, HTML)
    assert page is not None
    assert page.headers["retry-after"] == "5"
