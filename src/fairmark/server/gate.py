"""Around everything: prefixes, request ids, keys, limits, the log, the metrics, and exceptions that become answers.

One plain ASGI layer: a request passes through one call, and what is raised anywhere below becomes an answer here.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Collection, Mapping
from os import urandom
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.refusals import answer_to, invalid, memory_full, not_routed, shutting_down, too_long
from fairmark.serving import log
from fairmark.serving.access import Access
from fairmark.serving.process import DISCARDED_AT_MOST
from fairmark.serving.proxies import Caller, read_proxies
from fairmark.serving.wire import ClientGone, State, whole_body
from fairmark.work import marks

if TYPE_CHECKING:
    from fairmark.server.routes import HotHandler

PUBLIC = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"})
"""What needs no key."""
ROOTS = frozenset({"evals", "files", "fine_tuning", "graders", "models", "rewards", "chat", "responses", "embeddings"})
"""What may stand where a path could also name an Azure deployment."""
SMALL_BODY = 65_536
DISCARD_WITHIN_S = 10.0
BODIES_AT_ONCE = 8
"""How many bodies of the greatest size may be in memory at once, all requests together."""
GONE = 499
"""What the log shows where nobody waited for an answer."""


def canonical(path: str) -> str:
    """The path under /v1 that OpenAI's, Azure's and Foundry's clients mean by theirs. `OPTIONS *` names none at all."""
    if path.startswith("/v1/"):
        return path.rstrip("/")
    parts = path.split("/")[1:] or [""]
    if parts[:2] == ["api", "projects"] and len(parts) > 3 and parts[3] == "openai":
        parts = parts[3:]
    if parts[0] == "openai":
        parts = parts[1:]
        if parts and parts[0] == "v1":
            parts = parts[1:]
        elif parts and parts[0] == "deployments":
            # The deployment may be missing, and it may be called "evals" itself.
            unnamed = len(parts) > 1 and parts[1] in ROOTS and not (len(parts) > 2 and parts[2] in ROOTS)
            parts = parts[1:] if unnamed else parts[2:]
        path = "/v1/" + "/".join(parts)
    return path.rstrip("/") or "/"


_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/(?:chat/completions|responses|embeddings)/?")


def deployment(path: str) -> str | None:
    """The model that Azure's clients name in a path; None where they name none."""
    match = _DEPLOYMENT.search(path) if "/deployments/" in path else None
    return None if match is None else match[1]


def is_api(path: str) -> bool:
    """Whether a canonical path is one of the API. All others but the public ones are pages."""
    return path == "/v1" or path.startswith("/v1/")


class Pages(Protocol):
    """The web page, as far as the gate has to know it."""

    def is_public(self, path: str) -> bool: ...

    def takes_files(self, path: str) -> bool:
        """Whether what is posted there goes to disk as it comes."""
        ...

    def refusal(self, error: ApiError, scope: Scope, request_id: str) -> ASGIApp | None:
        """The answer to those who look at a page in a browser; None where the common form will do."""
        ...


class Gate:
    """`hot`: path -> handler of POST requests that skip the ordinary routes; `routed`: paths that have these."""

    def __init__(
        self,
        routes: ASGIApp,
        hot: Mapping[str, "HotHandler"],
        routed: Collection[str],
        state: State,
        access: Access,
        pages: Pages,
    ) -> None:
        self._routes = routes
        self._hot = hot
        self._routed = routed
        self._pages = pages
        self._state = state
        self._metrics = state.metrics
        self._access = access
        proxies = state.settings.trusted_proxies
        self._proxies = read_proxies(proxies) if proxies.strip() else None
        self._body_limit = state.settings.max_body_mb * 1_000_000
        self._file_limit = state.settings.max_file_mb * 1_000_000
        self._room = BODIES_AT_ONCE * self._body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = perf_counter()
        request_id = b"req_" + urandom(16).hex().encode()
        status = 0
        marks.request_id.set(request_id.decode())

        def answer(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                # A model behind us has given its answer an id already, by which its own logs know it.
                name = b"x-request-id" if b"x-request-id" not in dict(message["headers"]) else b"x-fairmark-request-id"
                message["headers"] = [*message["headers"], (name, request_id)]
            return send(message)

        scope["deployment"] = deployment(scope["path"])
        path = scope["path"] = canonical(scope["path"])
        scope["fairmark"] = self._state
        scope["app"] = self  # makes the router raise what it finds wrong
        headers = dict(scope["headers"])
        entered = False
        telemetry = self._metrics.telemetry
        span = None if telemetry is None else telemetry.begin_request(scope["method"], headers)
        body = self._long_body(path, headers, receive) if scope["method"] in ("POST", "PATCH") else None
        self._metrics.in_flight += 1
        try:
            await self._let_in(scope, headers)
            limits = self._state.limits
            entered = bool(limits.limits) and is_api(path) and limits.enter(scope["project"])
            if b"content-encoding" in headers:
                _check_encoding(headers[b"content-encoding"])
            if body is not None:
                body.check()
                receive = body
            if scope["method"] == "HEAD":
                scope = {**scope, "method": "GET"}  # the protocol below still knows that it sends no body
            handler = self._hot.get(path)
            if handler is not None and scope["method"] == "POST":
                first = await receive()
                in_one = first["type"] == "http.request" and not first.get("more_body", False)
                whole = first.get("body", b"") if in_one else await whole_body(receive, first)
                await handler(scope, whole, receive, answer)
            elif handler is None or path in self._routed:
                await self._routes(scope, receive, answer)
            else:
                raise HTTPException(405, headers={"Allow": "POST"})
        except (ClientGone, ClientDisconnect):
            status = status or GONE
        except asyncio.CancelledError:
            if status:
                raise
            await _send(shutting_down(), answer)
        except Exception as error:
            if status:
                self._tell_failure(error, scope, request_id)
                raise
            refusal = self._as_answer(error, scope, request_id)
            if body is not None and _closes(scope, headers):
                await body.discard()
            await self._refuse(refusal, scope, answer, request_id)
        finally:
            self._metrics.in_flight -= 1
            if entered:
                self._state.limits.leave(scope["project"])
            if body is not None:
                self._metrics.body_bytes -= body.taken
            self._note(scope, request_id, status, perf_counter() - started, span)

    async def _let_in(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Whose request this is, for those behind. Raises ApiError where nobody may come in with it."""
        path = scope["path"]
        peer = scope.get("client") or ("",)
        caller = Caller(peer[0]) if self._proxies is None else self._proxies.see_through(scope)
        if is_api(path):
            visitor = await self._access.visitor(headers, caller)
        elif path in PUBLIC or self._pages.is_public(path):
            return
        else:
            visitor, scope["session"] = await self._access.page_visitor(headers, caller)
        scope["visitor"] = visitor
        visitor.knock()
        scope["project"] = visitor.project

    async def _refuse(self, error: ApiError, scope: Scope, send: Send, request_id: bytes) -> None:
        on_page = not is_api(scope["path"]) and scope["path"] not in PUBLIC
        shown = self._pages.refusal(error, scope, request_id.decode()) if on_page else None
        if shown is None:
            await _send(error, send)
        else:
            await shown(scope, _no_body, send)

    def _long_body(self, path: str, headers: Mapping[bytes, bytes], receive: Receive) -> "_LongBody | None":
        """The body, where it is long or does not say how long it is; None where nobody need watch it."""
        try:
            length = int(headers.get(b"content-length", b"-1" if b"transfer-encoding" in headers else b"0"))
        except ValueError:
            length = -1
        if 0 <= length <= SMALL_BODY:
            return None
        on_disk = path in ("/v1/files", "/v1/imports/file") or self._pages.takes_files(path)
        # A form is a little longer than its file.
        return _LongBody(self, receive, length, self._file_limit + 1_000_000 if on_disk else self._body_limit, on_disk)

    def take_room(self, size: int) -> None:
        """For a part of a body that is kept in memory. Raises 503 where others have filled it."""
        if self._metrics.body_bytes + size > self._room:
            raise memory_full()
        self._metrics.body_bytes += size

    def _as_answer(self, error: Exception, scope: Scope, request_id: bytes) -> ApiError:
        """The answer to a request on which this was raised. What is no fault of the request goes to the log."""
        if isinstance(error, HTTPException):
            where = f"{scope['method']} {jsontext.shorten(scope['path'], 200)}"
            return not_routed(error.status_code, str(error.detail), where, error.headers or {})
        refusal = answer_to(error, request_id.decode())
        if refusal is not error:
            match refusal.code:
                case "disk_full":
                    log.event(logging.ERROR, "disk full", reason=str(error), request_id=request_id.decode())
                case "store_unavailable":
                    log.event(logging.WARNING, "store unavailable", reason=str(error), request_id=request_id.decode())
                case "internal_error":
                    self._tell_failure(error, scope, request_id)
        return refusal

    def _tell_failure(self, error: Exception, scope: Scope, request_id: bytes) -> None:
        where = f"{scope['method']} {scope['path']}"
        log.event(logging.ERROR, "request failed", error, request_id=request_id.decode(), request=where)

    def _note(self, scope: Scope, request_id: bytes, status: int, seconds: float, span: Any) -> None:
        """For the metrics, the traces and the log."""
        path = scope["path"]
        route = path if path in self._hot else getattr(scope.get("endpoint"), "path", "unknown")
        # By the route's pattern, never by a path with ids in it.
        self._metrics.requests.add(route, str(status))
        self._metrics.seconds.add(seconds, route)
        if self._metrics.telemetry is not None:
            self._metrics.telemetry.end_request(span, scope["method"], route, status, request_id.decode())
        level = logging.DEBUG if status < 400 else logging.INFO if status < 500 else logging.ERROR
        if not log.LOGGER.isEnabledFor(level):
            return
        # The path alone: a query may hold what somebody mistook for a place to put a key.
        log.event(
            level,
            "request",
            request_id=request_id.decode(),
            method=scope["method"],
            path=jsontext.shorten(scope["path"], 200),
            status=status,
            ms=round(seconds * 1000, 2),
            project=scope.get("project"),
        )


class _LongBody:
    """A body that is long or of unknown length, counted as it comes."""

    def __init__(self, gate: Gate, receive: Receive, length: int, limit: int, on_disk: bool) -> None:
        self._gate = gate
        self._receive = receive
        self._length = length
        self._limit = limit
        self._on_disk = on_disk
        self._seen = 0
        self._ended = False
        self.taken = 0
        """What of it is in memory."""

    def check(self) -> None:
        """Raises 413 for a body that says it is too long, before it comes."""
        if self._length > self._limit:
            raise too_long(self._limit)

    async def __call__(self) -> Message:
        message = await self._receive()
        self._ended = not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._seen += size
        if self._seen > self._limit:
            raise too_long(self._limit)
        if not self._on_disk:
            self._gate.take_room(size)
            self.taken += size
        return message

    async def discard(self) -> None:
        """Reads on, up to a point, before a refusal that closes the connection.

        Closing it while a client still sends would break it, and the client would never see the refusal.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_WITHIN_S):
                while not self._ended and self._seen < DISCARDED_AT_MOST:
                    message = await self._receive()
                    self._ended = not message.get("more_body", False)
                    self._seen += len(message.get("body", b""))


def _check_encoding(encoding: bytes) -> None:
    """Raises ApiError for a body that would have to be unpacked."""
    if encoding.strip().lower() not in (b"", b"identity"):
        shown = jsontext.quote(jsontext.shorten(encoding.decode("latin-1")))
        raise invalid(f"Content-Encoding: found {shown}. Send the body as it is, without compression.")


def _closes(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    return scope["http_version"] == "1.0" or b"close" in headers.get(b"connection", b"").lower()


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send(error: ApiError, send: Any) -> None:
    body = error.body()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in error.headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
