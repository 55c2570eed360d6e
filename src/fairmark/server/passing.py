"""Chat completions, responses and embeddings, passed through to the models behind: plain handlers, no framework.

Body and answer stay as they are, and go on as they come. What is to be stored is copied on its way, and stored when the
answer has gone.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.types import Receive, Scope, Send

from fairmark import jsontext, longjson
from fairmark.completions.exchange import Exchange, Unkept
from fairmark.completions.keeping import Keeper
from fairmark.completions.relay import Cut, Directed, Upstream
from fairmark.longjson import LONG
from fairmark.refusals import invalid, missing, wrong_type
from fairmark.serving.presence import unless_gone
from fairmark.serving.wire import State, decode_object
from fairmark.store.completions import Kind

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
EMBEDDINGS = "/v1/embeddings"


class _Head(msgspec.Struct):
    """What of a body has to be known here."""

    model: str | None = None
    store: bool | None = None
    stream: bool | None = None
    background: bool | None = None


_NO_BACKGROUND = (
    "background: a response that goes on after its answer could not be retrieved here: answers are stored when they "
    "have come to their end. Leave background out and wait for the answer, or add stream: true; "
    "or ask the provider itself."
)
_read_head = msgspec.json.Decoder(_Head).decode


class _Asked(NamedTuple):
    project: str
    kind: Kind | None
    """Of what is to be stored; None where nothing is."""
    model: str
    body: bytes


async def chat(scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """POST /v1/chat/completions."""
    await _pass_on(scope, body, receive, send, "chat/completions", "chat", stored_unless_told=False)


async def responses(scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """POST /v1/responses."""
    await _pass_on(scope, body, receive, send, "responses", "response", stored_unless_told=True)


async def embeddings(scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """POST /v1/embeddings."""
    await _pass_on(scope, body, receive, send, "embeddings", None, stored_unless_told=False)


async def _pass_on(
    scope: Scope,
    body: bytes,
    receive: Receive,
    send: Send,
    path: str,
    kind: Kind | None,
    stored_unless_told: bool,
) -> None:
    state: State = scope["fairmark"]
    is_long = len(body) > LONG
    head = await asyncio.to_thread(_head_of_long, body) if is_long else _head(body)
    if kind == "response" and head.background and not head.stream:
        raise invalid(_NO_BACKGROUND, "background", "unsupported_background")
    name = scope.get("deployment") or head.model
    if not name:
        raise missing("model", "It takes the name of a model.")
    if is_long:
        target = await asyncio.to_thread(state.relay.target, name, body, head.model)
    else:
        target = state.relay.target(name, body, head.model)
    stored = stored_unless_told if head.store is None else head.store
    asked = _Asked(scope["project"], kind if stored else None, name, body)
    await unless_gone(receive, _answer(scope, send, state, target, path, asked))


def _head(body: bytes) -> _Head:
    try:
        return _read_head(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _checked(decode_object(body))


def _head_of_long(body: bytes) -> _Head:
    """Of a body that only its model will read as a whole: what is wrong inside of its members, the model says."""
    try:
        inside = longjson.members(body)
        named = {field: inside[field] for field in _Head.__struct_fields__ if field in inside}
        return _checked({field: longjson.decode(jsontext.encode(value)) for field, value in named.items()})
    except jsontext.NotJson as error:
        raise invalid(f"The body is not a JSON object: {error}.", code="invalid_json") from None


def _checked(asked: Mapping[str, Any]) -> _Head:
    for field, wanted in (("model", str), ("store", bool), ("stream", bool), ("background", bool)):
        value = asked.get(field)
        if value is not None and not isinstance(value, wanted):
            raise wrong_type(field, "a string" if wanted is str else "true or false", value)
    return _Head(*(asked.get(field) for field in _Head.__struct_fields__))


async def _answer(scope: Scope, send: Send, state: State, target: Directed, path: str, asked: _Asked) -> None:
    async with state.relay.ask(asked.project, target, path, scope["headers"]) as upstream:
        copy = None
        if asked.kind is not None and 200 <= upstream.status < 300:
            copy = _Copy(state.keeper, asked, asked.kind, upstream)
        try:
            await send({"type": "http.response.start", "status": upstream.status, "headers": upstream.headers})
            async for chunk in upstream.chunks:
                if copy is not None:
                    copy.add(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if copy is not None:
                copy.expect()
            await send({"type": "http.response.body", "body": b""})
            if copy is not None:
                copy.keep()
        except Cut:
            # Whoever asked sees what we saw: a connection that is cut in the middle of an answer.
            if copy is not None:
                copy.give_up("broken")
        finally:
            if copy is not None:
                copy.drop()


class _Copy:
    """An answer on its way through, copied for the store as far as there is room."""

    def __init__(self, keeper: Keeper, asked: _Asked, kind: Kind, upstream: Upstream) -> None:
        self._keeper = keeper
        self._asked = asked
        self._kind = kind
        self._upstream = upstream
        self._parts: list[bytes] = []
        self._size = 0
        self._why_not: Unkept | None = None
        self._expected = self._done = False
        self._held = 0
        self._hold(len(asked.body))

    def _hold(self, size: int) -> bool:
        if self._why_not is None:
            self._size += size
            if self._size > self._keeper.most_bytes:
                self._why_not = "too_large"
            elif not self._keeper.hold(size):
                self._why_not = "busy"
            else:
                self._held += size
                return True
            self._free()
        return False

    def _free(self) -> None:
        self._keeper.let_go(self._held)
        self._held = 0
        self._parts.clear()

    def add(self, chunk: bytes) -> None:
        if self._hold(len(chunk)):
            self._parts.append(chunk)
            # Clients go on as soon as they read that it is the end, and may ask for what is stored at once.
            if b"[DONE]" in chunk or b"response.completed" in chunk:
                self.expect()

    def expect(self) -> None:
        if not self._expected:
            self._expected = True
            self._keeper.expect(self._asked.project)

    def keep(self) -> None:
        if self._why_not is not None:
            self.give_up(self._why_not)
            return
        self.expect()
        self._done = True
        upstream, asked = self._upstream, self._asked
        is_stream = upstream.content_type == "text/event-stream"
        answer = b"".join(self._parts)
        self._held = 0  # it is the keeper's now
        self._keeper.keep(
            Exchange(
                asked.project,
                self._kind,
                asked.model,
                asked.body,
                answer,
                is_stream,
                upstream.encoding,
                upstream.request_id,
            )
        )

    def give_up(self, why: Unkept) -> None:
        self.expect()
        self._done = True
        self._free()
        self._keeper.give_up(self._asked.project, why)

    def drop(self) -> None:
        """The client has gone, say: what did not come to its end is not stored."""
        if not self._done:
            self.give_up("broken")
