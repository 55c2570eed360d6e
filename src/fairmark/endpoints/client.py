"""The HTTP client for reward servers: batches, retries, deadlines, and no way into private networks."""

import asyncio
import os
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
from fairmark.errors import AnswerTooLarge, EndpointFailed, EndpointUnresponsive, GradingFailed, Unanswered
from fairmark.outbound.client import Destination, Effort, Http, HttpAnswer, HttpRequest, Retry, Terms
from fairmark.outbound.limits import CallGate
from fairmark.outbound.secrets import hidden
from fairmark.text.thread import Thread
from fairmark.work.fair import FairSlots

ATTEMPTS = 4
RETRIED = frozenset({429, 502, 503, 504})
OF_A_ROW = frozenset({400, 413, 422, 500})
"""Answers that a single row of a batch can bring about: its neighbours are asked about without it."""
AT_ONCE = 32
"""Requests at one server; as many again for an owner, and eight times as many for all, at all servers together."""
SPARE = 4
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


class _Server(Destination):
    """What is known of one server."""

    __slots__ = ("name", "no_batches_until")

    def __init__(self, url: str) -> None:
        self.name = urlsplit(url).netloc
        super().__init__(f"the endpoint {self.name}", CallGate(AT_ONCE, spare=SPARE))
        self.no_batches_until = 0.0


class _BatchCall(Effort):
    """One batch on its way, with all its retries and parts. They share its deadline."""

    __slots__ = ("base", "headers", "limit_s", "secrets", "server")

    def __init__(
        self,
        server: _Server,
        base: URL,
        headers: Mapping[str, str],
        secrets: tuple[str, ...],
        limit_s: float,
        owner: str = "",
    ) -> None:
        super().__init__(owner)
        self.server = server
        self.base = base
        self.headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **headers}
        self.secrets = secrets
        self.limit_s = limit_s

    def hide(self, text: str) -> str:
        """A server may repeat what it was sent."""
        return hidden(text, self.secrets)


class _Reply(NamedTuple):
    value: Any
    seconds: float


class EndpointClient:
    """Asks reward servers. Lives on one event loop."""

    def __init__(self, allowed: Allowed, lookup: Lookup | None = None) -> None:
        self._allowed = allowed
        self._lookup = lookup or look_up
        self._servers: dict[str, _Server] = {}
        all_places = FairSlots(16 * AT_ONCE, spare=SPARE, per_owner=4 * AT_ONCE)
        # Bodies are taken as they are: a small one could hide a very large one.
        self._http = Http(self._connector, all_places, unpack=False)

    def _connector(self) -> aiohttp.TCPConnector:
        # Our gates limit what is under way. No proxies: the one who connects has to be the one who looks where to.
        resolver = Resolver(self._allowed, self._lookup)
        return aiohttp.TCPConnector(limit=0, resolver=resolver, ttl_dns_cache=10, keepalive_timeout=30)

    async def score(self, target: Target, threads: Sequence[Thread], owner: str = "") -> list[Outcome]:
        outcomes: list[Outcome | None] = [None] * len(threads)
        bodies: list[tuple[int, bytes]] = []
        for index, thread in enumerate(threads):
            try:
                bodies.append((index, _body(thread)))
            except RecursionError:
                outcomes[index] = GradingFailed("the row is nested too deeply.")
        try:
            calls = [
                (self._call(target, owner), bodies[start : start + target.batch_size])
                for start in range(0, len(bodies), target.batch_size)
            ]
        except EndpointFailed as failure:
            return [outcome or failure for outcome in outcomes]
        answers = await asyncio.gather(*(self._score(call, [body for _, body in batch]) for call, batch in calls))
        for (_, batch), batch_outcomes in zip(calls, answers, strict=True):
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
            raise EndpointFailed(f"the endpoint {call.server.name} does not answer /info as a reward server does.")
        name, version, description = (call.hide(jsontext.shorten(told[name], LONGEST_TEXT)) for name in names)
        return name, version, description

    def _call(self, target: Target, owner: str = "") -> _BatchCall:
        """Raises EndpointFailed where the address or the headers cannot be used."""
        server = self._servers.get(target.url)
        if server is None:
            if len(self._servers) >= REMEMBERED:
                del self._servers[next(iter(self._servers))]
            server = self._servers[target.url] = _Server(target.url)
        headers, secrets = _resolve(target.headers)
        return _BatchCall(server, self._base(target.url), headers, tuple(secrets), target.timeout_s, owner)

    def _base(self, url: str) -> URL:
        base = URL(url.rstrip("/"), encoded=True)
        host, port = base.raw_host or "", base.port or 80
        address = literal(host)
        if address is None:
            return base  # a name: what it leads to is looked at by whoever connects
        if not self._allowed.permits(host, port, address):
            raise refused(host, port, str(address), self._allowed)
        return base.with_host(str(address))  # there is one spelling that nobody reads in another way

    async def _score(self, call: _BatchCall, bodies: Sequence[bytes]) -> list[Outcome]:
        try:
            if time.monotonic() < call.server.no_batches_until:
                return await self._score_singly(call, bodies)
            return await self._score_together(call, bodies)
        except _Refused as refused:
            if refused.status == 404 and time.monotonic() >= call.server.no_batches_until:
                call.server.no_batches_until = time.monotonic() + NO_BATCHES_S
                return await self._score_singly(call, bodies)
            if refused.status in OF_A_ROW and len(bodies) > 1:
                middle = len(bodies) // 2
                halves = (self._score(call, bodies[:middle]), self._score(call, bodies[middle:]))
                first, second = await asyncio.gather(*halves)
                return first + second
            return [refused.failure] * len(bodies)
        except GradingFailed as failure:
            return [failure] * len(bodies)

    async def _score_together(self, call: _BatchCall, bodies: Sequence[bytes]) -> list[Outcome]:
        body = b'{"requests":[' + b",".join(bodies) + b"]}"
        limit = min(len(bodies) * MOST_BYTES, MOST_BATCH_BYTES)
        reply = await self._ask(call, "batch_score", body, limit)
        responses = reply.value.get("responses") if isinstance(reply.value, dict) else None
        if not isinstance(responses, list):
            raise EndpointFailed(f"the endpoint {call.server.name} answered without a list of responses.")
        if len(responses) != len(bodies):
            raise EndpointFailed(
                f"the endpoint {call.server.name} answered with {len(responses)} responses to {len(bodies)} requests: "
                "nobody knows which belongs to which."
            )
        seconds = reply.seconds / len(bodies)
        return [read_outcome(call.hide, response, seconds) for response in responses]

    async def _score_singly(self, call: _BatchCall, bodies: Sequence[bytes]) -> list[Outcome]:
        async def one(body: bytes) -> Outcome:
            try:
                reply = await self._ask(call, "score", body, MOST_BYTES)
            except _Refused as refused:
                return refused.failure
            except GradingFailed as failure:
                return failure
            return read_outcome(call.hide, reply.value, reply.seconds)

        return list(await asyncio.gather(*map(one, bodies)))

    async def _ask(
        self, call: _BatchCall, path: str, body: bytes | None, limit: int, attempts: int = ATTEMPTS
    ) -> _Reply:
        """The JSON that a server answers with. Raises EndpointFailed, or _Refused where it takes no such request."""
        name = call.server.name
        sent = HttpRequest(call.base / path, body, call.headers, secrets=call.secrets)

        async def request() -> HttpRequest:
            return sent

        def read(answer: HttpAnswer) -> _Reply:
            return _Reply(_understood(call, path, answer), answer.seconds)

        terms = Terms(attempts, call.limit_s, call.limit_s, limit)
        try:
            return await self._http.ask(call.server, terms, call, request, read)
        except Unanswered as failure:
            raise EndpointUnresponsive(f"the endpoint {name}: {failure}") from None
        except AnswerTooLarge:
            raise EndpointFailed(f"the endpoint {name} answered with more than {limit >> 20} MiB.") from None

    async def close(self) -> None:
        await self._http.close()


def _resolve(headers: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The headers as they are sent, and the texts in them that nobody may see."""
    secrets: list[str] = []
    resolved: dict[str, str] = {}

    for name, value in headers.items():

        def fill(variable: re.Match[str], name: str = name) -> str:
            secret = os.environ.get(variable[1])
            if not secret:
                raise EndpointFailed(f"header {name}: the environment has no variable {variable[1]}.")
            if re.search(r"[^\t -~]", secret):
                raise EndpointFailed(f"header {name}: {variable[1]} has characters that a header cannot have.")
            secrets.append(secret)
            return secret

        resolved[name] = re.sub(r"\$\{(\w+)\}", fill, value)
    return resolved, secrets


def _body(thread: Thread) -> bytes:
    turns = [{"role": role, "content": content} for role, content in thread.turns]
    return jsontext.encode({"turns": turns, "metadata": thread.metadata})


def _understood(call: _BatchCall, path: str, answer: HttpAnswer) -> Any:
    """The answer's JSON. Raises _Refused, Retry or EndpointFailed."""
    name, status, data = call.server.name, answer.status, answer.data
    if status == 200:
        try:
            return decode(data)
        except ValueError as error:
            shown = jsontext.quote(call.hide(data[:200].decode("utf-8", "replace")))
            raise EndpointFailed(f"the endpoint {name} answered with {shown}: {error}.") from None
    said = jsontext.shorten(call.hide(" ".join(data[:2000].decode("utf-8", "replace").split())), 300)
    told = f"answered /{path} with {status}: {said or 'nothing'}"
    if status in RETRIED:
        raise Retry(f"it {told}", answer.headers, too_much=status in (429, 503), lives=status == 429)
    if 300 <= status < 400:
        told = f"answered {status} and points elsewhere; redirects are not followed."
    raise _Refused(status, EndpointFailed(f"the endpoint {name} {told}"))
