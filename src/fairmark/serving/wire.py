"""How requests are read and answers look: bodies, the error envelope, pages, ids."""

import asyncio
import json
import re
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
from fairmark.errors import FairmarkError, InvalidGrader
from fairmark.registry.lookup import Registry
from fairmark.serving.metrics import Metrics
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
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to end, for answers that would go on."""
    registry: Registry = field(init=False)

    def __post_init__(self) -> None:
        self.registry = Registry(self.store.graders.find)


class ApiError(FairmarkError):
    """An answer that is an error, in the wire's words. `extra`: keys beside "error"."""

    def __init__(
        self,
        status: int,
        message: str,
        type: str = "invalid_request_error",  # noqa: A002  # the wire's word
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.param = param
        self.code = code
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    def body(self) -> bytes:
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return jsontext.encode({"error": error, **self.extra})


class ClientGone(Exception):
    """Whoever asked has gone away: there is nobody to answer."""


def invalid(message: str, param: str | None = None, code: str = "invalid_value") -> ApiError:
    """400: something in the request is wrong."""
    return ApiError(400, message, param=param, code=code)


def missing(param: str, wanted: str) -> ApiError:
    return invalid(f"{param}: missing. {wanted}", param, "missing_required_parameter")


def wrong_type(param: str, wanted: str, found: Any) -> ApiError:
    message = f"Invalid type for '{param}': expected {wanted}, but found {jsontext.describe(found)} instead."
    return invalid(message, param, "invalid_type")


def not_found(what: str, id: str) -> ApiError:  # noqa: A002  # the wire's word
    return ApiError(404, f"No {what} found with id {jsontext.quote(id)}.", param="id", code="not_found")


def cannot_grade() -> ApiError:
    """409: there is nothing to compute."""
    message = (
        "a custom grader cannot be asked to grade: its scores are computed elsewhere and pushed in. To have Fairmark "
        "compute them, use a python, function or endpoint grader."
    )
    return ApiError(409, message, param="grader", code="not_gradable")


def invalid_grader(error: InvalidGrader, root: str = "grader") -> ApiError:
    """400 with every problem in the message; `param` and `code` are the first one's.

    `root`: where its grader is in the body; "" where it is all of it.
    """
    problems = [
        problem._replace(path=(root + problem.path.removeprefix("$")).removeprefix(".")) for problem in error.problems
    ]
    return ApiError(
        400,
        "\n".join(map(str, problems)),
        param=problems[0].path,
        code=problems[0].code,
        extra={"problems": [{"path": problem.path, "message": problem.message} for problem in problems]},
    )


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
    """The address the client used, for links back to us."""
    host = Headers(scope=request.scope).get("host", "")
    if not re.fullmatch(r"[\w.\-\[\]:]{1,255}", host):
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
