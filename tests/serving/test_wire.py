"""How requests are read and answers look."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from starlette.requests import Request

from fairmark.errors import ApiError
from fairmark.serving import wire


def receiving(*messages: dict[str, Any]) -> Any:
    left = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(left)

    return receive


def part(body: bytes, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b"", r"^The body is not JSON: ", "invalid_json"),
        (b'{"a": ', r"^The body is not JSON: ", "invalid_json"),
        (b"[1]", r"^The body must be a JSON object, found a list of 1\.$", "invalid_type"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, r"^The body is (not JSON|nested deeper)", None),
    ],
)
def test_a_body_that_is_no_object_is_refused(body: bytes, message: str, code: str | None) -> None:
    with pytest.raises(ApiError, match=message) as refused:
        wire.decode_object(body)
    assert refused.value.status == 400
    assert code in (None, refused.value.code)


def test_an_object_is_read_with_all_that_is_in_it() -> None:
    request = Request({"type": "http", "headers": []}, receiving(part('{"a": ["ä"]}'.encode(), False)))
    assert asyncio.run(wire.read_object(request)) == {"a": ["ä"]}


def test_half_an_emoji_is_escaped_and_json_that_is_ready_stays_as_it_is() -> None:
    ready = msgspec.Raw(b'{"b": 1.50}')
    assert wire.encode({"a": ready}) == b'{"a":{"b": 1.50}}'
    assert json.loads(wire.encode({"a": ready, "c": "\ud83d"})) == {"a": {"b": 1.5}, "c": "\ud83d"}


def test_a_page_names_its_first_and_its_last_entry() -> None:
    page = wire.page([("a", {"n": 1}), ("b", {"n": 2})], has_more=True)
    assert json.loads(bytes(page.body)) == {
        "object": "list",
        "data": [{"n": 1}, {"n": 2}],
        "first_id": "a",
        "last_id": "b",
        "has_more": True,
    }
    empty = json.loads(bytes(wire.page([], has_more=False).body))
    assert (empty["data"], empty["first_id"], empty["last_id"]) == ([], None, None)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("evals.example:8443", "https://evals.example:8443"),
        ("", "https://127.0.0.1:80"),
        ('x"><script>', "https://127.0.0.1:80"),
        ("a b", "https://127.0.0.1:80"),
    ],
)
def test_links_back_to_us_have_the_address_that_the_client_used_if_it_can_be_one(host: str, url: str) -> None:
    scope = {
        "type": "http",
        "scheme": "https",
        "server": ("127.0.0.1", 80),
        "headers": [(b"host", host.encode())],
    }
    assert wire.base_url(Request(scope)) == url
