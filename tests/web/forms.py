"""Pages without a browser: what is sent and answered, byte for byte."""

import http.client
import json
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from tests.server.client import Answer, Server

HTML = {"accept": "text/html"}


def send(server: Server, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
    """The answer itself, not where it leads."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def get(server: Server, path: str, headers: Mapping[str, str] = HTML) -> Answer:
    return send(server, "GET", path, headers)


def post(
    server: Server, path: str, fields: Mapping[str, str], shown: Answer, headers: Mapping[str, str] | None = None
) -> Answer:
    """A form of the page that was shown, as a browser sends it."""
    body = urlencode({"csrf_token": token_in(shown), **fields}).encode()
    kind = {"content-type": "application/x-www-form-urlencoded", "cookie": cookies_of(shown)}
    return send(server, "POST", path, {**HTML, **kind, **(headers or {})}, body)


def token_in(shown: Answer) -> str:
    found = re.search(rb'name="csrf-token" content="([0-9a-f]+)"', shown.body)
    assert found is not None
    return found[1].decode()


def cookies_of(shown: Answer) -> str:
    return shown.headers.get("set-cookie", "").partition(";")[0]


def post_json(server: Server, path: str, body: object) -> Answer:
    """As a script of a page asks."""
    shown = get(server, "/evals/new")
    kind = {"content-type": "application/json", "accept": "application/json", "x-csrf-token": token_in(shown)}
    return send(server, "POST", path, {**kind, "cookie": cookies_of(shown)}, json.dumps(body).encode())
