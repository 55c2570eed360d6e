"""What a server that is asked does to us, in words."""

import email.utils
import time

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from fairmark.outbound.connection import asked_pause_s, used_up_for_s, why_it_failed

REFUSED = aiohttp.ClientConnectorError(
    ConnectionKey("localhost", 9, False, True, None, None, None), ConnectionRefusedError(111, "any words")
)

ASKED = aiohttp.RequestInfo(URL("http://localhost:9/"), "POST", CIMultiDictProxy(CIMultiDict()))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (REFUSED, "cannot connect to localhost:9 (Connection refused)"),
        (aiohttp.ServerDisconnectedError(), "the server closed the connection before it answered"),
        (
            aiohttp.ClientOSError(None, "Can not write request body"),
            "the server closed the connection before it answered",
        ),
        (aiohttp.ClientOSError(104, "Connection reset by peer"), "the server closed the connection before it answered"),
        (aiohttp.ClientOSError(101, "Network is unreachable"), "[Errno 101] Network is unreachable"),
        (aiohttp.ClientPayloadError("x"), "the connection was cut in the middle of the answer"),
        (aiohttp.ClientError("bad line"), "bad line"),
        (
            aiohttp.ClientResponseError(ASKED, (), status=400, message="Bad status line:\n\n  b'\\x00hi'\n    ^"),
            "the server's answer is not HTTP (Bad status line: b'\\x00hi')",
        ),
        (aiohttp.ClientHttpProxyError(ASKED, (), status=407, message="No"), "the proxy answered 407"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_failure_is_told_in_words(error: Exception, words: str) -> None:
    assert why_it_failed(error) == words


@pytest.mark.parametrize(
    ("headers", "pause_s"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
    ],
)
def test_the_pause_that_a_server_asks_for(headers: dict[str, str], pause_s: float | None) -> None:
    assert asked_pause_s(headers) == pause_s


def test_a_pause_may_be_given_as_a_date() -> None:
    pause = asked_pause_s({"retry-after": email.utils.formatdate(time.time() + 100, usegmt=True)})
    assert pause is not None
    assert 90 < pause <= 100


@pytest.mark.parametrize(
    ("remaining", "reset", "pause_s"),
    [
        ("0", "6m0s", 360.0),
        ("0", "20ms", 0.02),
        ("0", "1h1m1.5s", 3661.5),
        ("0", "7", 7.0),
        ("0", "soon", 0.0),
        ("1", "6m0s", 0.0),
        (None, "6m0s", 0.0),
    ],
)
def test_no_requests_are_left_until_the_rate_limits_reset(remaining: str | None, reset: str, pause_s: float) -> None:
    headers = {"x-ratelimit-reset-requests": reset}
    if remaining is not None:
        headers["x-ratelimit-remaining-requests"] = remaining
    assert used_up_for_s(headers) == pytest.approx(pause_s)
