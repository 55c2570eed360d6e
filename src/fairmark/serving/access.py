"""Who may come in: a request's key -> its project, and how often a key may knock."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from fairmark.errors import ApiError
from fairmark.serving.proxies import Caller
from fairmark.serving.wrongkeys import WrongKeys
from fairmark.work import together

REMEMBERED_S = 2.0
"""How long a key's answer is remembered: a revoked key works at most this much longer."""
ASK_AGAIN_S = 1.0
"""After so long the store is asked again beside what goes on: beside much else that takes a while, and who comes often
need not wait for it."""
REMEMBERED_AT_MOST = 10_000
OPEN_PROJECT = "default"
SESSION_COOKIE = "fairmark_session"
LOOPBACK_NAMES = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})

Headers = Mapping[bytes, bytes]


class KnownKey(Protocol):
    """As much of a stored key as is needed here."""

    @property
    def id(self) -> str: ...

    @property
    def project(self) -> str: ...


class KeyFinder(Protocol):
    """Where keys are kept."""

    async def find(self, key: str) -> KnownKey | None: ...

    async def any(self) -> bool: ...


class SessionFinder(Protocol):
    """Where sessions of the web page are kept."""

    async def find(self, token: str) -> KnownKey | None: ...


class Visitor:
    """Whoever a key belongs to."""

    __slots__ = ("_bucket", "key_id", "project")

    def __init__(self, project: str, key_id: str | None, per_minute: int) -> None:
        self.project = project
        self.key_id = key_id
        # As many at once after a pause, then one for each share of the minute.
        self._bucket = together.bucket(f"key {key_id}", per_minute, per_minute) if per_minute else None

    def knock(self) -> None:
        """Raises 429 where this key has knocked too often."""
        if self._bucket is None:
            return
        wait_s = self._bucket.delay(1.0, time.monotonic())
        self._bucket.take(0.0 if wait_s else 1.0)
        if wait_s:
            raise ApiError(
                429,
                f"Too many requests with this key. Try again in {wait_s:.1f} s.",
                "rate_limit_error",
                code="rate_limit_exceeded",
                headers={"retry-after": str(int(wait_s) + 1), "retry-after-ms": str(int(wait_s * 1000) + 1)},
            )


class Access:
    """Lets requests in. Without any key in the store, and only where we listen on loopback, everybody is let in."""

    def __init__(
        self,
        keys: KeyFinder,
        sessions: SessionFinder,
        on_loopback: bool,
        rate_limit_per_minute: int,
        wrong_keys: WrongKeys,
    ) -> None:
        self._keys = keys
        self._wrong_keys = wrong_keys
        self._sessions = sessions
        self._on_loopback = on_loopback
        self._per_minute = rate_limit_per_minute
        self._everybody = Visitor(OPEN_PROJECT, None, rate_limit_per_minute)
        self._open = (-REMEMBERED_S, False)
        """When it was asked whether there is no key at all, and the answer."""
        self._found: dict[str, tuple[float, Visitor | None]] = {}
        """When a key was asked for, and whose it is."""
        self._asking: dict[str, asyncio.Task[Any]] = {}
        """What is asked again, by its key; "" whether there are any."""
        self._visitors: dict[str, Visitor] = {}
        self._hosts: set[bytes] = set()

    async def visitor(self, headers: Headers, caller: Caller) -> Visitor:
        """Raises ApiError 401, 403 for a web page that reaches for an open server, 429 for who tries keys.

        `headers`: as they came, which proxies have not changed.
        """
        keys = _credentials(headers)
        visitor = await self._let_in(headers, keys, caller)
        if visitor is not None:
            return visitor
        message = "The API key is not valid." if keys else "There is no API key."
        raise ApiError(
            401,
            f"{message} Send one as 'Authorization: Bearer KEY' or 'api-key: KEY'; fairmark keys create makes one.",
            code="invalid_api_key",
        )

    async def page_visitor(self, headers: Headers, caller: Caller) -> tuple[Visitor, str | None]:
        """For the web page, where a session is as good as a key. Gives the session too, where it was what counted."""
        keys, session = _credentials(headers), cookie(headers, SESSION_COOKIE)
        key = await self._sessions.find(session) if session else None
        # A session counts before the open door, which is remembered for a moment after the first key was made.
        visitor = await self._let_in(headers, keys, caller) if key is None or keys else None
        if visitor is not None:
            return visitor, None
        if key is None:
            raise ApiError(
                401,
                "Sign in to see this page, or send an API key as 'Authorization: Bearer KEY'.",
                code="not_signed_in",
            )
        return self._visitor(key), session

    async def _let_in(self, headers: Headers, keys: list[str], caller: Caller) -> Visitor | None:
        if self._on_loopback and await self._is_open():
            self._check_page(headers, caller)
            return self._everybody
        for key in keys:
            self._wrong_keys.check(caller.address, key)
            visitor = await self._find(key)
            if visitor is not None:
                self._wrong_keys.right(caller.address, key)
                return visitor
        for key in keys:
            self._wrong_keys.wrong(caller.address, key)
        return None

    async def _is_open(self) -> bool:
        asked_at, is_open = self._open
        if self._counts(asked_at, "", self._ask_whether_open):
            return is_open
        return await self._ask_whether_open()

    async def _ask_whether_open(self) -> bool:
        now = time.monotonic()
        is_open = not await self._keys.any()
        self._open = (now, is_open)
        return is_open

    async def _find(self, key: str) -> Visitor | None:
        asked_at, visitor = self._found.get(key, (-REMEMBERED_S, None))
        if self._counts(asked_at, key, lambda: self._ask_for(key)):
            return visitor
        return await self._ask_for(key)

    async def _ask_for(self, key: str) -> Visitor | None:
        now = time.monotonic()
        stored = await self._keys.find(key)
        visitor = None if stored is None else self._visitor(stored)
        if len(self._found) >= REMEMBERED_AT_MOST:  # somebody tries keys
            self._found.clear()
        self._found[key] = (now, visitor)
        return visitor

    def _counts(self, asked_at: float, key: str, ask: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Whether what was answered then still counts. Where it will not for long, it is asked again meanwhile."""
        age_s = time.monotonic() - asked_at
        if ASK_AGAIN_S < age_s < REMEMBERED_S and key not in self._asking:
            task = self._asking[key] = asyncio.ensure_future(ask())
            task.add_done_callback(lambda done: self._asked(key, done))
        return age_s < REMEMBERED_S

    def _asked(self, key: str, task: "asyncio.Task[Any]") -> None:
        del self._asking[key]
        if not task.cancelled():
            task.exception()  # a store that is away: whoever comes when the answer counts no more is told

    def _visitor(self, key: KnownKey) -> Visitor:
        """One for each key, however it comes in: it knocks as often as it may, all ways together."""
        visitor = self._visitors.get(key.id)
        if visitor is None:
            visitor = self._visitors[key.id] = Visitor(key.project, key.id, self._per_minute)
        return visitor

    def _check_page(self, headers: Headers, caller: Caller) -> None:
        """A browser sends requests to this machine for any page it shows; such a page must not use the server.

        A page's requests tell where it comes from, and one that has renamed itself to this machine's address still
        asks for its own name. What a proxy tells has to be of this machine as well: a page can send such headers too.
        """
        host = headers.get(b"host", b"localhost")
        self._check_host(host)
        expected = b"http://" + host
        if caller.origin is not None:
            expected = caller.origin
            self._check_host(expected.partition(b"://")[2])
        origin = headers.get(b"origin")
        if origin is not None and origin != expected:
            raise ApiError(
                403, "Web pages of other sites may not use a server without keys.", code="origin_not_allowed"
            )

    def _check_host(self, host: bytes) -> None:
        if host not in self._hosts:
            name = host if host.endswith(b"]") else host.rpartition(b":")[0] or host
            if name.lower() not in LOOPBACK_NAMES:
                raise ApiError(
                    403,
                    "This server has no keys and answers to localhost only. fairmark keys create makes a key.",
                    code="host_not_allowed",
                )
            if len(self._hosts) < 100:
                self._hosts.add(host)


def cookie(headers: Headers, name: str) -> str | None:
    """A cookie's value. Ours need no quoting, so that nothing of it is undone here."""
    for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return None


def _credentials(headers: Headers) -> list[str]:
    """The keys that a request brings: OpenAI's header and Azure's."""
    keys = []
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").strip().partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        keys.append(token.strip())
    key = headers.get(b"api-key", b"").decode("latin-1").strip()
    if key and key not in keys:
        keys.append(key)
    return keys
