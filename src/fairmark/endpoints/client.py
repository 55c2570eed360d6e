"""The HTTP client for reward servers: batches, retries, deadlines, and no way into private networks."""

import asyncio
import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from fairmark import jsontext
from fairmark.endpoints.addresses import Allowed, literal
from fairmark.endpoints.answers import LONGEST_TEXT, Outcome, decode, read_outcome
from fairmark.endpoints.base import Target
from fairmark.endpoints.resolver import Lookup, Resolver, look_up, refused
from fairmark.errors import EndpointFailed, EndpointUnresponsive, GradingFailed, JudgeFailed
from fairmark.outbound.connection import asked_pause_s, why_it_failed
from fairmark.outbound.limits import Breaker, Gate
from fairmark.outbound.secrets import hidden
from fairmark.text.thread import Thread

ATTEMPTS = 4
FIRST_PAUSE_S = 0.5
RETRIED = frozenset({429, 502, 503, 504})
OF_A_ROW = frozenset({400, 413, 422, 500})
"""Answers that a single row of a batch can bring about: its neighbours are asked about without it."""
AT_ONCE = 32
CONNECT_S = 10.0
MOST_BYTES = 1 << 20
"""What the answer about one conversation may have."""
MOST_BATCH_BYTES = 16 * MOST_BYTES
NO_BATCHES_S = 300.0
"""How long it is remembered that a server has no /batch_score."""
REMEMBERED = 256


class _Refused(Exception):  # a message between two methods, not an error
    """A server answered that it does not take a request."""

    def __init__(self, status: int, failure: EndpointFailed) -> None:
        super().__init__()
        self.status = status
        self.failure = failure


class _Retry(Exception):
    """An attempt failed in a way that another may not."""

    def __init__(self, failure: EndpointFailed, pause_s: float | None = None, *, too_much: bool = False) -> None:
        super().__init__()
        self.failure = failure
        self.pause_s = pause_s
        self.too_much = too_much


class _TooLarge(Exception):
    """An answer is larger than what we are willing to hold; so would the next be."""


class _Place:
    """What is known of one server."""

    def __init__(self, url: str) -> None:
        self.name = urlsplit(url).netloc
        self.gate = Gate(AT_ONCE)
        self.breaker = Breaker(f"the endpoint {self.name}")
        self.no_batches_until = 0.0


class _Call:
    """One batch on its way, with all its retries and parts. They share its deadline."""

    def __init__(
        self, place: _Place, base: URL, headers: Mapping[str, str], secrets: Sequence[str], limit_s: float
    ) -> None:
        self.place = place
        self.base = base
        self.headers = headers
        self._secrets = secrets
        self.limit_s = limit_s
        self._ends_at: float | None = None

    def left_s(self) -> float:
        """The clock starts with the first request: the time a batch waits for its turn is not the server's."""
        if self._ends_at is None:
            self._ends_at = time.monotonic() + self.limit_s
        return self._ends_at - time.monotonic()

    def hide(self, text: str) -> str:
        """A server may repeat what it was sent."""
        return hidden(text, self._secrets)

    def late(self) -> EndpointUnresponsive:
        return EndpointUnresponsive(f"the endpoint {self.place.name} gave no answer within {self.limit_s:g} s.")


class _Reply(NamedTuple):
    value: Any
    seconds: float


class Client:
    """Asks reward servers. Lives on one event loop."""

    def __init__(self, allowed: Allowed, lookup: Lookup | None = None) -> None:
        self._allowed = allowed
        self._lookup = lookup or look_up
        self._places: dict[str, _Place] = {}
        self._session: aiohttp.ClientSession | None = None

    async def score(self, target: Target, threads: Sequence[Thread]) -> list[Outcome]:
        outcomes: list[Outcome | None] = [None] * len(threads)
        bodies: list[tuple[int, bytes]] = []
        for index, thread in enumerate(threads):
            try:
                bodies.append((index, _body(thread)))
            except RecursionError:
                outcomes[index] = GradingFailed("the row is nested too deeply.")
        try:
            calls = [
                (self._call(target), bodies[start : start + target.batch_size])
                for start in range(0, len(bodies), target.batch_size)
            ]
        except EndpointFailed as failure:
            return [outcome or failure for outcome in outcomes]
        found = await asyncio.gather(*(self._score(call, [body for _, body in batch]) for call, batch in calls))
        for (_, batch), batch_outcomes in zip(calls, found, strict=True):
            for (index, _), outcome in zip(batch, batch_outcomes, strict=True):
                outcomes[index] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    async def info(self, target: Target) -> tuple[str, str, str]:
        """Name, version and description, as the server tells them. Raises EndpointFailed."""
        call = self._call(target)
        try:
            told = (await self._ask(call, "info", None, MOST_BYTES, attempts=1)).value
        except _Refused as refused:
            raise refused.failure from None
        names = ("name", "version", "description")
        if not isinstance(told, dict) or not all(isinstance(told.get(name), str) for name in names):
            raise EndpointFailed(f"the endpoint {call.place.name} does not answer /info as a reward server does.")
        name, version, description = (call.hide(jsontext.shorten(told[name], LONGEST_TEXT)) for name in names)
        return name, version, description

    def _call(self, target: Target) -> _Call:
        """Raises EndpointFailed where the address or the headers cannot be used."""
        place = self._places.get(target.url)
        if place is None:
            if len(self._places) >= REMEMBERED:
                del self._places[next(iter(self._places))]
            place = self._places[target.url] = _Place(target.url)
        headers, secrets = _resolve(target.headers)
        return _Call(place, self._base(target.url), headers, secrets, target.timeout_s)

    def _base(self, url: str) -> URL:
        base = URL(url.rstrip("/"), encoded=True)
        host, port = base.raw_host or "", base.port or 80
        address = literal(host)
        if address is None:
            return base  # a name: what it leads to is looked at by whoever connects
        if not self._allowed.permits(host, port, address):
            raise refused(host, port, str(address), self._allowed)
        return base.with_host(str(address))  # there is one spelling that nobody reads in another way

    async def _score(self, call: _Call, bodies: Sequence[bytes]) -> list[Outcome]:
        try:
            if time.monotonic() < call.place.no_batches_until:
                return await self._score_singly(call, bodies)
            return await self._score_together(call, bodies)
        except _Refused as refused:
            if refused.status == 404 and time.monotonic() >= call.place.no_batches_until:
                call.place.no_batches_until = time.monotonic() + NO_BATCHES_S
                return await self._score_singly(call, bodies)
            if refused.status in OF_A_ROW and len(bodies) > 1:
                middle = len(bodies) // 2
                halves = (self._score(call, bodies[:middle]), self._score(call, bodies[middle:]))
                first, second = await asyncio.gather(*halves)
                return first + second
            return [refused.failure] * len(bodies)
        except GradingFailed as failure:
            return [failure] * len(bodies)

    async def _score_together(self, call: _Call, bodies: Sequence[bytes]) -> list[Outcome]:
        body = b'{"requests":[' + b",".join(bodies) + b"]}"
        limit = min(len(bodies) * MOST_BYTES, MOST_BATCH_BYTES)
        reply = await self._ask(call, "batch_score", body, limit)
        responses = reply.value.get("responses") if isinstance(reply.value, dict) else None
        if not isinstance(responses, list):
            raise EndpointFailed(f"the endpoint {call.place.name} answered without a list of responses.")
        if len(responses) != len(bodies):
            raise EndpointFailed(
                f"the endpoint {call.place.name} answered with {len(responses)} responses to {len(bodies)} requests: "
                "nobody knows which belongs to which."
            )
        seconds = reply.seconds / len(bodies)
        return [read_outcome(call.hide, response, seconds) for response in responses]

    async def _score_singly(self, call: _Call, bodies: Sequence[bytes]) -> list[Outcome]:
        async def one(body: bytes) -> Outcome:
            try:
                reply = await self._ask(call, "score", body, MOST_BYTES)
            except _Refused as refused:
                return refused.failure
            except GradingFailed as failure:
                return failure
            return read_outcome(call.hide, reply.value, reply.seconds)

        return list(await asyncio.gather(*map(one, bodies)))

    async def _ask(self, call: _Call, path: str, body: bytes | None, limit: int, attempts: int = ATTEMPTS) -> _Reply:
        """The JSON that a server answers with. Raises EndpointFailed, or _Refused where it takes no such request."""
        gate = call.place.gate
        tried = 0
        while True:
            good = False
            await gate.enter()
            try:
                if call.left_s() <= 0:
                    raise call.late()
                try:
                    call.place.breaker.check()
                except JudgeFailed as failure:
                    raise EndpointUnresponsive(str(failure)) from None
                reply = await self._attempt(call, path, body, limit)
                good = True
                return reply
            except _Retry as retry:
                tried += 1
                pause = retry.pause_s
                if pause is None:
                    pause = FIRST_PAUSE_S * 2.0 ** (tried - 1) * random.uniform(0.5, 1.0)
                if tried >= attempts or pause >= call.left_s():
                    more = f" It was asked {tried} times." if tried > 1 else ""
                    raise type(retry.failure)(f"{retry.failure}{more}") from None
                if retry.too_much:
                    gate.throttle(pause)
            finally:
                gate.leave(good=good)
            await asyncio.sleep(pause)

    async def _attempt(self, call: _Call, path: str, body: bytes | None, limit: int) -> _Reply:
        place = call.place
        started = time.perf_counter()
        try:
            async with self._open().request(
                "GET" if body is None else "POST",
                call.base / path,
                data=body,
                headers={"Content-Type": "application/json", "Accept-Encoding": "identity", **call.headers},
                timeout=aiohttp.ClientTimeout(total=max(0.001, call.left_s()), sock_connect=CONNECT_S),
                allow_redirects=False,
            ) as response:
                data = await _read(response, limit)
                status, headers = response.status, response.headers
        except TimeoutError:
            late = call.late()
            place.breaker.failed(str(late))
            raise late from None
        except _TooLarge:
            place.breaker.answered()
            size = f"{limit >> 20} MiB"
            raise EndpointFailed(f"the endpoint {place.name} answered with more than {size}.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            message = call.hide(f"the endpoint {place.name}: {why_it_failed(error)}.")
            place.breaker.failed(message)
            raise _Retry(EndpointUnresponsive(message)) from None
        return _Reply(_understood(call, path, status, headers, data), time.perf_counter() - started)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # Our gates limit what is under way. No proxies: the one who connects has to be the one who looks where to.
            connector = aiohttp.TCPConnector(
                limit=0, resolver=Resolver(self._allowed, self._lookup), ttl_dns_cache=10, keepalive_timeout=30
            )
            # Bodies are taken as they are: a small one could hide a very large one.
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def _resolve(headers: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The headers as they are sent, and the texts in them that nobody may see."""
    secrets: list[str] = []
    resolved: dict[str, str] = {}

    for name, value in headers.items():

        def found(variable: re.Match[str], name: str = name) -> str:
            secret = os.environ.get(variable[1])
            if not secret:
                raise EndpointFailed(f"header {name}: the environment has no variable {variable[1]}.")
            if re.search(r"[^\t -~]", secret):
                raise EndpointFailed(f"header {name}: {variable[1]} has characters that a header cannot have.")
            secrets.append(secret)
            return secret

        resolved[name] = re.sub(r"\$\{(\w+)\}", found, value)
    return resolved, secrets


def _body(thread: Thread) -> bytes:
    turns = [{"role": role, "content": content} for role, content in thread.turns]
    return jsontext.encode({"turns": turns, "metadata": thread.metadata})


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, but never more than we are willing to hold."""
    if (response.content_length or 0) > limit:
        response.close()
        raise _TooLarge
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > limit:
            response.close()
            raise _TooLarge
    return bytes(data)


def _understood(call: _Call, path: str, status: int, headers: Any, data: bytes) -> Any:
    """The answer's JSON. Raises _Refused, _Retry or EndpointFailed."""
    place = call.place
    if status == 200:
        place.breaker.answered()
        try:
            return decode(data)
        except ValueError as error:
            shown = jsontext.quote(call.hide(data[:200].decode("utf-8", "replace")))
            raise EndpointFailed(f"the endpoint {place.name} answered with {shown}: {error}.") from None
    said = jsontext.shorten(call.hide(" ".join(data[:2000].decode("utf-8", "replace").split())), 300)
    message = f"the endpoint {place.name} answered /{path} with {status}: {said or 'nothing'}"
    if status in RETRIED:
        if status == 429:
            place.breaker.answered()  # it lives
        else:
            place.breaker.failed(message)
        raise _Retry(EndpointUnresponsive(message), _pause_s(headers), too_much=status in (429, 503))
    place.breaker.answered()
    if 300 <= status < 400:
        message = f"the endpoint {place.name} answered {status} and points elsewhere; redirects are not followed."
    raise _Refused(status, EndpointFailed(message))


def _pause_s(headers: Mapping[str, str]) -> float | None:
    """What the server asks for, and a little more: those who were turned away together do not come back together."""
    asked = asked_pause_s(headers)
    return None if asked is None else asked + random.uniform(0.0, 0.1)
