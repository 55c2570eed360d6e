"""How requests are read and answers look: bodies, the error envelope, pages, ids."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import urandom
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from fairmark import jsontext
from fairmark.refusals import invalid
from fairmark.registry.lookup import Registry
from fairmark.serving.metrics import Metrics
from fairmark.serving.proxies import HOST
from fairmark.serving.wrongkeys import WrongKeys
from fairmark.settings import Settings

if TYPE_CHECKING:
    from fairmark.evals.engine import Engine
    from fairmark.store import Store

JSON = "application/json"


@dataclass(slots=True)
class State:
    """What all routes share."""

    store: "Store"
    engine: "Engine"
    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)
    wrong_keys: WrongKeys = field(default_factory=WrongKeys)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to end, for answers that would go on."""
    registry: Registry = field(init=False)

    def __post_init__(self) -> None:
        self.registry = Registry(self.store.graders.find)


class ClientGone(Exception):
    """Whoever asked has gone away: there is nobody to answer."""


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer. A msgspec.Raw inside is passed through as it is."""
    return Response(encode(value), status, headers, JSON)


def encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half an emoji somewhere: everything is escaped, what was JSON already too
        return json.dumps(value, separators=(",", ":"), default=_read_raw).encode()


def _read_raw(value: msgspec.Raw) -> Any:
    return jsontext.decode(bytes(value))


def page(entries: Sequence[tuple[str, Any]], has_more: bool) -> Response:
    """A page of a list: (id, value) in the order they are to be shown."""
    return answer(
        {
            "object": "list",
            "data": [value for _, value in entries],
            "first_id": entries[0][0] if entries else None,
            "last_id": entries[-1][0] if entries else None,
            "has_more": has_more,
        }
    )


def state(request: Request) -> State:
    found: State = request.scope["fairmark"]
    return found


def project(request: Request) -> str:
    """Whose request this is."""
    name: str = request.scope["project"]
    return name


def base_url(request: Request) -> str:
    """The address the client used, for links back to us: a trusted proxy's, where they came through one."""
    host = Headers(scope=request.scope).get("host", "")
    if not HOST.fullmatch(host.encode("latin-1", "replace")):
        name, port = request.scope.get("server") or ("localhost", None)
        host = f"{name}:{port}" if port else name
    return f"{request.scope['scheme']}://{host}"


async def read_bytes(request: Request) -> bytes:
    return await read_body(request.receive)


async def read_body(receive: Receive) -> bytes:
    """The whole body. How long it may be, and how long it may take, is watched over by others. Raises ClientGone."""
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body
    chunks = [body]
    while message.get("more_body", False):
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        chunks.append(message.get("body", b""))
    return b"".join(chunks)


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object that the body is. Raises ApiError."""
    return decode_object(await read_bytes(request))


def decode_object(body: bytes) -> dict[str, Any]:
    try:
        value = jsontext.decode(body)
    except jsontext.NotJson as error:
        raise invalid(f"The body is not JSON: {error}.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise invalid(f"The body must be a JSON object, found {jsontext.describe(value)}.", code="invalid_type")
    if jsontext.deeper_than(value, jsontext.MAX_DEPTH):
        raise invalid(f"The body is nested deeper than {jsontext.MAX_DEPTH} levels.")
    return value


def new_request_id() -> bytes:
    return b"req_" + urandom(16).hex().encode()
