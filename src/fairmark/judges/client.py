"""The one HTTP client: pooled connections, limits, retries, deadlines. It knows models' endpoints and no questions."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from fairmark import jsontext
from fairmark.errors import JudgeFailed, JudgeTimedOut
from fairmark.judgement import NO_USAGE, Usage
from fairmark.judges.models import Model, Provider
from fairmark.outbound.connection import asked_pause_s, why_it_failed
from fairmark.outbound.limits import Breaker, Gate
from fairmark.settings import Settings

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
MOST_BYTES = 16_000_000
CONNECT_S = 10.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0

Endpoint = Callable[[str], Awaitable[Provider]]
"""Starts an embedded model, by name, where it does not run yet, and tells its endpoint."""


class Rejected(JudgeFailed):
    """The server will not take this request, however often it is sent."""

    def __init__(self, message: str, status: int, error: dict[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.param = error.get("param") if isinstance(error.get("param"), str) else None
        self.code = error.get("code") if isinstance(error.get("code"), str) else None
        self.said = error.get("message") if isinstance(error.get("message"), str) else ""


class Tab:
    """What one question has cost so far, failed attempts included."""

    __slots__ = ("_check", "attempts", "started", "usage")

    def __init__(self, check: Callable[[], None] | None = None) -> None:
        """`check` raises where the question must not be asked any more; it may have waited long for its turn."""
        self._check = check
        self.attempts = 0
        self.usage = NO_USAGE
        self.started: float | None = None
        """When the first attempt began; the time a question waits for its turn is not the judge's."""

    @property
    def seconds(self) -> float:
        return 0.0 if self.started is None else time.perf_counter() - self.started

    def begin(self) -> None:
        """An attempt is about to be made. What was begun is brought to its end, whatever the check says later."""
        if self._check is not None and not self.attempts:
            self._check()

    def spend(self, reply: dict[str, Any]) -> None:
        self.usage = self.usage.plus(usage_of(reply))


class _Retry(Exception):  # a message between two methods, not an error
    """An attempt failed in a way that another may not."""

    def __init__(self, failure: JudgeFailed, pause_s: float | None = None, *, too_much: bool = False) -> None:
        super().__init__()
        self.failure = failure
        self.pause_s = pause_s
        """What the server asks for."""
        self.too_much = too_much or pause_s is not None
        """Whether the server has too much to do, so that others should hold back as well."""


class _TooLarge(Exception):
    """An answer is larger than what we are willing to hold; so would the next be."""


class Client:
    """Sends requests and brings answers back. Lives on one event loop."""

    def __init__(self, settings: Settings, local: Endpoint) -> None:
        self._settings = settings
        self._local = local
        self._all = Gate(settings.judge_concurrency)
        self._gates: dict[str, Gate] = {}
        self._breakers: dict[str, Breaker] = {}
        self._urls: dict[tuple[str, str], tuple[URL, str | None]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._timeout = aiohttp.ClientTimeout(total=settings.judge_timeout_s, sock_connect=CONNECT_S)

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]:
        """The JSON answer. Raises JudgeFailed: Rejected where no retry helps, JudgeTimedOut where it took too long."""
        gate = self._gates.get(model.key)
        if gate is None:
            most = model.concurrency or self._settings.judge_concurrency
            gate = self._gates[model.key] = Gate(most, model.requests_per_minute, model.tokens_per_minute)
        content = jsontext.encode(body)
        expected = len(content) / 4 if model.tokens_per_minute else 0.0
        retries = 0
        while True:
            good = False
            await gate.enter(expected)
            try:
                async with self._all:
                    tab.begin()
                    provider = model.provider
                    if provider.kind == "local":  # it may have died since the last attempt
                        provider = await self._local(model.real_name)
                    breaker = self._breaker(provider)
                    breaker.check()
                    reply = await self._attempt(model, provider, path, content, tab, breaker)
                good = True
                if expected:
                    gate.correct(usage_of(reply).total_tokens - expected)
                return reply
            except _Retry as retry:
                pause = self._pause(retry, retries, tab)
                if retry.too_much:
                    gate.throttle(pause)
            finally:
                gate.leave(good=good)
            retries += 1
            await asyncio.sleep(pause)

    def _breaker(self, provider: Provider) -> Breaker:
        breaker = self._breakers.get(provider.base_url)
        if breaker is None:
            where = f"{provider.name} ({urlsplit(provider.base_url).netloc})"
            breaker = self._breakers[provider.base_url] = Breaker(where)
        return breaker

    def _pause(self, retry: _Retry, retries: int, tab: Tab) -> float:
        """How long to wait for the next attempt. Raises the failure where there is none."""
        left = self._settings.judge_deadline_s - tab.seconds
        pause: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**retries) * random.uniform(0.5, 1.0)
        if retry.pause_s is not None:
            pause = max(retry.pause_s, 0.0) + random.uniform(0.0, 0.1)
        if retries >= self._settings.judge_retries or pause >= left:
            more = f" It was asked {tab.attempts} times." if tab.attempts > 1 else ""
            raise type(retry.failure)(f"{retry.failure}{more}") from None
        return pause

    async def _attempt(
        self, model: Model, provider: Provider, path: str, content: bytes, tab: Tab, breaker: Breaker
    ) -> dict[str, Any]:
        url, proxy = self._address(provider, path, model.real_name)
        left = self._settings.judge_deadline_s - tab.seconds
        limit_s = max(0.001, min(self._settings.judge_timeout_s, left))
        timeout = self._timeout
        if timeout.total != limit_s:
            timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_S)
        if tab.started is None:
            tab.started = time.perf_counter()
        tab.attempts += 1
        try:
            async with self._open().post(
                url,
                data=content,
                headers={"Content-Type": "application/json", **provider.headers},
                timeout=timeout,
                allow_redirects=False,
                proxy=proxy,
            ) as response:
                data = await _read(response)
                status, headers = response.status, response.headers
        except TimeoutError:
            message = f"{model.name}: no answer within {limit_s:g} s."
            breaker.failed(message)
            raise _Retry(JudgeTimedOut(message)) from None
        except _TooLarge:
            breaker.answered()
            raise JudgeFailed(f"{model.name}: the answer is larger than {MOST_BYTES // 1_000_000} MB.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            message = provider.hide(f"{model.name}: {why_it_failed(error)}.")
            breaker.failed(message)
            raise _Retry(JudgeFailed(message)) from None
        return _understood(model, provider, status, headers, data, breaker)

    def _address(self, provider: Provider, path: str, model: str) -> tuple[URL, str | None]:
        address = provider.url(path, model)
        found = self._urls.get((address, path))
        if found is None:
            found = self._urls[address, path] = (URL(address, encoded=True), proxy_for(address))
        return found

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Our gates limit what is under way; a second limit here would only hide it.
            connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=30)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def proxy_for(address: str) -> str | None:
    """The proxy that the environment names for it; none for this machine itself."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body, but never more than we are willing to hold."""
    length = response.content_length
    if length is not None and length > MOST_BYTES:
        response.close()
        raise _TooLarge
    if length is not None and "Content-Encoding" not in response.headers:
        return await response.read()
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > MOST_BYTES:
            response.close()
            raise _TooLarge
    return bytes(data)


def _understood(
    model: Model, provider: Provider, status: int, headers: Any, data: bytes, breaker: Breaker
) -> dict[str, Any]:
    try:
        reply = jsontext.decode(data)
    except jsontext.NotJson:
        reply = None
    if status == 200 and isinstance(reply, dict) and not isinstance(reply.get("error"), dict):
        breaker.answered()
        return reply
    error = reply.get("error") if isinstance(reply, dict) else None
    if isinstance(error, str):
        error = {"message": error}
    said = error.get("message") if isinstance(error, dict) else None
    if not isinstance(said, str):
        said = data[:2000].decode("utf-8", "replace")
    shown = jsontext.shorten(provider.hide(" ".join(said.split())), 300)
    if status == 200:
        kind = provider.hide(headers.get("Content-Type", "no content type"))
        message = (
            f"{model.name}: the server answered 200 with {kind} that is not a JSON object: {jsontext.quote(shown)}."
        )
        breaker.failed(message)
        raise _Retry(JudgeFailed(message))
    message = f"{model.name}: the server answered {status}: {shown or 'nothing'}"
    if status in RETRIED and not (isinstance(error, dict) and error.get("code") == "insufficient_quota"):
        if status == 429:
            breaker.answered()  # it lives
            raise _Retry(JudgeFailed(message), asked_pause_s(headers), too_much=True)
        breaker.failed(message)
        raise _Retry(JudgeFailed(message), asked_pause_s(headers))
    breaker.answered()
    if 300 <= status < 400:
        message = f"{model.name}: the server answered {status} and points elsewhere; redirects are not followed."
    raise Rejected(message, status, error if isinstance(error, dict) else {})


def usage_of(reply: dict[str, Any]) -> Usage:
    """The tokens of an answer, as far as the server tells them."""
    given = reply.get("usage")
    if not isinstance(given, dict):
        return NO_USAGE

    def count(key: str, inside: Any = given) -> int:
        value = inside.get(key) if isinstance(inside, dict) else None
        return value if isinstance(value, int) and value > 0 else 0

    prompt, completion = count("prompt_tokens"), count("completion_tokens")
    cached = min(prompt, count("cached_tokens", given.get("prompt_tokens_details")))
    return Usage(prompt, completion, count("total_tokens") or prompt + completion, cached)
