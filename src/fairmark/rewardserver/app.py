"""The routes as one plain ASGI application: who may come in, and which grader is asked."""

import contextlib
import hmac
import logging
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.types import Message, Receive, Scope, Send

from fairmark import __version__, jsontext
from fairmark.errors import ApiError, InvalidData, Refusal
from fairmark.graders import find, grades_by_itself
from fairmark.refusals import detail_of
from fairmark.rewardserver import nemo
from fairmark.rewardserver.answers import ANSWERS, OnError, Served, read_on_error
from fairmark.serving.presence import unless_gone
from fairmark.serving.proxies import Caller, Proxies
from fairmark.serving.wire import ClientGone
from fairmark.serving.wrongkeys import WrongKeys
from fairmark.spec import GraderSpec
from fairmark.trainers.rivals import refuse_one_by_one

METHODS = {
    "info": "GET",
    "metadata_schema": "GET",
    "health": "GET",
    "score": "POST",
    "batch_score": "POST",
    "get_reward": "POST",
    "scores": "POST",
    "verify": "POST",
    "seed_session": "POST",
    "aggregate_metrics": "POST",
    "reverify_mode": "GET",
}
BODIES_AT_ONCE = 8
"""How many bodies of the greatest size may be in memory at once, all requests together."""
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
SCHEMA = {"title": "Metadata", "type": "object", "additionalProperties": True}


def by_path(graders: list[GraderSpec]) -> dict[str, GraderSpec]:
    """The graders by the word that stands for them in a path. Raises InvalidData, InvalidGrader."""
    by_word: dict[str, GraderSpec] = {}
    for spec in graders:
        if not grades_by_itself(spec):
            raise InvalidData(f"{jsontext.quote(spec.name)}: a custom grader cannot be asked to grade.")
        refuse_one_by_one(spec)
        word = re.sub(r"[^A-Za-z0-9._~-]+", "-", spec.name).strip("-.") or spec.type
        if word in by_word or word in METHODS:
            taken = "another grader has it" if word in by_word else "the server needs it itself"
            raise InvalidData(f"{jsontext.quote(spec.name)}: its path would be /{word}, and {taken}. Rename it.")
        by_word[word] = spec
    return by_word


class RewardApp:
    """`key`: what clients must know; without one, only programs on this machine may come, and no web pages."""

    def __init__(
        self,
        graders: Mapping[str, GraderSpec],
        key: str | None,
        max_body_bytes: int,
        proxies: Proxies,
        on_error: OnError = "zero",
    ) -> None:
        """`on_error`: what OpenRLHF is told of rows that failed, where its address does not say it."""
        self._graders = {word: Served(spec) for word, spec in graders.items()}
        self._on_error = on_error
        self._key = key
        self._proxies = proxies
        self._wrong_keys = WrongKeys()
        self._max_body = max_body_bytes
        self._room = BODIES_AT_ONCE * max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            status, value, headers = 200, await self._answer(scope, receive), {}
        except ClientGone:
            return
        except Exception as error:
            refusal = detail_of(error)
            if refusal is not error:
                where = f"{scope['method']} {jsontext.shorten(scope['path'], 200)}"
                logging.getLogger("fairmark").error("%s failed; please report this", where, exc_info=error)
            status, value, headers = refusal.status, {"detail": refusal.detail}, refusal.headers
        body = jsontext.encode(value)
        told = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        encoded = [(name.encode(), text.encode()) for name, text in told.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> Any:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        *before, door = scope["path"].strip("/").split("/")
        if door not in METHODS or len(before) > 1:
            raise Refusal(404, f"Not Found. There are: {', '.join(f'/{known}' for known in METHODS)}.")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method != METHODS[door]:
            raise Refusal(405, "Method Not Allowed", {"allow": METHODS[door]})
        if door == "health":
            return {"status": "ok"}
        self._let_in(headers, scope["query_string"], self._proxies.see_through(scope))
        served = self._grader(before, door)
        match door:
            case "info":
                return self._info(served)
            case "metadata_schema":
                return SCHEMA
            case "reverify_mode":
                return nemo.REVERIFY_MODE
        assert served is not None  # noqa: S101  # only /info does without
        on_error = read_on_error(scope["query_string"], self._on_error)
        async with self._body(headers, receive) as body:
            return await unless_gone(receive, ANSWERS[door](served, body, on_error))

    def _let_in(self, headers: Mapping[str, str], query: bytes, caller: Caller) -> None:
        """Raises Refusal. `headers`: as they came, which proxies have not changed."""
        if self._key is None:
            _check_page(headers, caller)
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        # OpenRLHF can be given an address and nothing else.
        key = token.strip() if scheme.lower() == "bearer" else parse_qs(query.decode("latin-1")).get("key", [""])[0]
        try:
            self._wrong_keys.check(caller.address, key)
        except ApiError as waiting:
            raise Refusal(waiting.status, waiting.message, waiting.headers) from None
        if hmac.compare_digest(key.encode(), self._key.encode()):
            self._wrong_keys.right(caller.address, key)
            return
        if key:
            self._wrong_keys.wrong(caller.address, key)
        mistake = "The key is not the right one." if key else "There is no key."
        raise Refusal(401, f"{mistake} Send it as 'Authorization: Bearer KEY'.", {"www-authenticate": "Bearer"})

    def _grader(self, before: list[str], door: str) -> Served | None:
        if before and before[0] in self._graders:
            return self._graders[before[0]]
        if not before and len(self._graders) == 1:
            return next(iter(self._graders.values()))
        if not before and door == "info":
            return None
        raise Refusal(404, f"Not Found. There are: {', '.join(f'/{word}/{door}' for word in self._graders)}.")

    def _info(self, served: Served | None) -> dict[str, str]:
        if served is None:
            paths = ", ".join(f"/{word}" for word in self._graders)
            return {"version": __version__, "name": "fairmark", "description": f"Graders at their own paths: {paths}."}
        spec = served.spec
        described = getattr(spec, "description", None)
        summary = f"{spec.type}: {find(spec.type).summary}"
        return {
            "version": __version__,
            "name": spec.name,
            "description": described if isinstance(described, str) else summary,
        }

    @contextlib.asynccontextmanager
    async def _body(self, headers: Mapping[str, str], receive: Receive) -> AsyncIterator[bytes]:
        """The whole body, while it is worked on. Raises Refusal for one that is too long, or finds no room."""
        body = bytearray()
        taken = 0
        try:
            length = headers.get("content-length", "0")
            if length.isascii() and length.isdigit() and int(length) > self._max_body:
                raise self._too_long()
            while True:
                message = await _next(receive)
                chunk: bytes = message.get("body", b"")
                if len(body) + len(chunk) > self._max_body:
                    raise self._too_long()
                if len(chunk) > self._room:
                    detail = "Other requests' bodies fill the memory that is set aside for them. Try again."
                    raise Refusal(503, detail, {"retry-after": "2", "connection": "close"})
                self._room -= len(chunk)
                taken += len(chunk)
                body += chunk
                if not message.get("more_body", False):
                    break
            yield bytes(body)
        finally:
            self._room += taken

    def _too_long(self) -> Refusal:
        """The rest of such a body is not read: the connection ends."""
        detail = f"The body is longer than {self._max_body // 1_000_000} MB."
        return Refusal(413, detail, {"connection": "close"})


async def _next(receive: Receive) -> Message:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    return message


def _check_page(headers: Mapping[str, str], caller: Caller) -> None:
    """A browser sends requests to this machine for any page it shows; such a page must not spend what judges cost.

    What a proxy tells has to be of this machine as well: a page can send such headers too.
    """
    host = headers.get("host", "localhost")
    expected = f"http://{host}" if caller.origin is None else caller.origin.decode("latin-1")
    for address in (host, expected.partition("://")[2]):
        name = address if address.endswith("]") else address.rpartition(":")[0] or address
        if name.lower() not in LOOPBACK_NAMES:
            raise Refusal(403, "This server has no key and answers to localhost only. Set FAIRMARK_REWARD_KEY.")
    if headers.get("origin", expected) != expected:
        raise Refusal(403, "Web pages of other sites may not use a server without a key.")
