"""Asks models over HTTP: which turn a question has, what an answer means, how a failure is told."""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from fairmark import jsontext
from fairmark.errors import AnswerTooLarge, JudgeFailed, JudgeTimedOut, Rejected, Unanswered
from fairmark.judgement import NO_USAGE, Usage
from fairmark.judges.models import LOCAL, Model, Provider
from fairmark.outbound.client import Destination, Effort, Http, HttpAnswer, HttpRequest, Retry, Terms
from fairmark.outbound.limits import CallGate
from fairmark.settings import Settings
from fairmark.work import counts
from fairmark.work.fair import FairSlots

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
MOST_BYTES = 16_000_000

Endpoint = Callable[[str], Awaitable[Provider]]
"""Starts an embedded model, by name, where it does not run yet, and tells its endpoint."""


QUESTIONS = counts.counter(
    "fairmark_judge_questions_total", "Questions to models, by model and what came of them.", "model", "outcome"
)
SECONDS = counts.histogram(
    "fairmark_judge_seconds", "From a question to its answer, with waiting and retries, by model.", "model"
)


class Tab(Effort):
    """What one question has cost so far, failed attempts included."""

    __slots__ = ("_check", "usage")

    def __init__(self, check: Callable[[], None] | None = None, owner: str = "") -> None:
        """`check` raises where the question must not be asked any more; it may have waited long for its turn."""
        super().__init__(owner)
        self._check = check
        self.usage = NO_USAGE

    def begin(self) -> None:
        """What was begun is brought to its end, whatever the check says later."""
        if self._check is not None and not self.attempts:
            self._check()

    def spend(self, reply: dict[str, Any]) -> None:
        self.usage = self.usage.plus(usage_of(reply))


class JudgeClient:
    """Sends questions to models and brings answers back. Lives on one event loop.

    Each model has places of its own, so that one that hangs keeps nobody from the others. What one owner has under way
    at all models together is bounded too, so that his hanging models keep nobody else from theirs; a few questions to
    each go beyond that bound, so that they do not keep himself from one that answers.
    """

    def __init__(self, settings: Settings, local: Endpoint) -> None:
        self._local = local
        self._most = most = max(1, settings.judge_concurrency)
        self._terms = Terms(settings.judge_retries + 1, settings.judge_timeout_s, settings.judge_deadline_s, MOST_BYTES)
        self._places: dict[str, Destination] = {}
        self._addresses: dict[tuple[str, str], tuple[URL, str | None]] = {}
        all_places = FairSlots(16 * most, spare=most, per_owner=4 * most)
        few_places = FairSlots(4 * most, per_owner=max(1, most // 2))
        self._http = Http(connector, all_places, unpack=True, few_places=few_places)

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]:
        """The JSON answer. Raises JudgeFailed: Rejected where no retry helps, JudgeTimedOut where it took too long."""
        place = self._place(model)
        content = jsontext.encode(body)
        provider = model.provider

        async def request() -> HttpRequest:
            nonlocal provider
            if model.provider.kind == LOCAL:  # it may have died since the last attempt
                provider = await self._local(model.real_name)
            url, proxy = self._address(provider, path, model.real_name)
            headers = {"Content-Type": "application/json", **provider.headers}
            return HttpRequest(url, content, headers, proxy, provider.secrets)

        def read(answer: HttpAnswer) -> dict[str, Any]:
            return _understood(model, provider, answer)

        expected = len(content) / 4 if model.tokens_per_minute else 0.0
        began, outcome = time.perf_counter(), "failed"
        try:
            reply = await self._http.ask(place, self._terms, tab, request, read, expected)
            outcome = "answered"
        except Unanswered as failure:
            outcome = "timed out" if failure.late else "failed"
            told = f"{model.name}: {failure}{'' if failure.reached else _where(provider)}"
            raise (JudgeTimedOut if failure.late else JudgeFailed)(told) from None
        except AnswerTooLarge as failure:
            raise JudgeFailed(f"{model.name}: {failure}") from None
        finally:
            QUESTIONS.add(model.name, outcome)
            SECONDS.add(time.perf_counter() - began, model.name)
        if expected:
            place.gate.correct(usage_of(reply).total_tokens - expected)
        return reply

    def _place(self, model: Model) -> Destination:
        place = self._places.get(model.key)
        if place is None:
            # A limit of the model's own is one that its server cannot bear to be passed.
            most, spare = (model.concurrency, 0) if model.concurrency else (self._most, self._most // 8)
            gate = CallGate(most, model.requests_per_minute, model.tokens_per_minute, spare, name=f"judge {model.key}")
            where = f"{model.real_name} at {model.provider.name} ({urlsplit(model.provider.base_url).netloc})"
            place = self._places[model.key] = Destination(where, gate)
        return place

    def _address(self, provider: Provider, path: str, model: str) -> tuple[URL, str | None]:
        address = provider.url(path, model)
        known = self._addresses.get((address, path))
        if known is None:
            known = self._addresses[address, path] = (URL(address, encoded=True), proxy_for(address))
        return known

    async def close(self) -> None:
        await self._http.close()


def connector() -> aiohttp.TCPConnector:
    # Our gates limit what is under way; a second limit here would only hide it.
    return aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=30)


def proxy_for(address: str) -> str | None:
    """The proxy that the environment names for it; none for this machine itself."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def _understood(model: Model, provider: Provider, answer: HttpAnswer) -> dict[str, Any]:
    """The answer's JSON. Raises Retry or Rejected."""
    status, data = answer.status, answer.data
    try:
        reply = jsontext.decode(data)
    except jsontext.NotJson:
        reply = None
    if status == 200 and isinstance(reply, dict) and not isinstance(reply.get("error"), dict):
        return reply
    error = reply.get("error") if isinstance(reply, dict) else None
    if isinstance(error, str):
        error = {"message": error}
    said = error.get("message") if isinstance(error, dict) else None
    if not isinstance(said, str):
        said = data[:2000].decode("utf-8", "replace")
    shown = jsontext.shorten(provider.hide(" ".join(said.split())), 300)
    if status == 200:
        kind = provider.hide(answer.headers.get("Content-Type", "no content type"))
        told = f"the server answered 200 with {kind} that is not a JSON object: {jsontext.quote(shown)}."
        raise Retry(told + hint(provider, status))
    told = f"the server answered {status}: {shown or 'nothing'}"
    if status in RETRIED and not (isinstance(error, dict) and error.get("code") == "insufficient_quota"):
        raise Retry(told, answer.headers, too_much=status == 429, lives=status == 429)
    if 300 <= status < 400:
        told = f"the server answered {status} and points elsewhere; redirects are not followed."
    likely = hint(provider, status, said)
    if likely and not told.endswith((".", "!", "?", "…")):
        told += "."
    told += likely
    raise Rejected(f"{model.name}: {told}", status, error if isinstance(error, dict) else {})


def hint(provider: Provider, status: int, said: str = "") -> str:
    """What is likely wrong with the settings where a server answers so, as more sentences; nothing where it is not
    likely."""
    if not provider.url_from:
        return ""
    url, asked_at = provider.base_url.rstrip("/"), _where(provider)
    if status in (401, 403):
        if not provider.key_from:
            return f"{asked_at} No key is configured for it: name the variable that has it in key_env."
        is_set = "is not set" if not provider.secrets else "may be wrong, or for another server"
        return f"{asked_at} The key {provider.key_from} {is_set}."
    if status == 400 and "plain HTTP request" in said:
        return f"{asked_at} It speaks TLS: its address begins with https://."
    if status in (200, 404, 405) and provider.kind == "openai" and not re.search(r"/v\d", url) and "model" not in said:
        return f"{asked_at} The path of that address has no /v1; most servers have it: try {url}/v1."
    return ""


def _where(provider: Provider) -> str:
    """Where the server was asked, and who says so."""
    if not provider.url_from:
        return ""
    return f" It was asked at {provider.base_url} ({provider.url_from})."


def usage_of(reply: dict[str, Any]) -> Usage:
    """The tokens of an answer, as far as the server tells them."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return NO_USAGE

    def count(key: str, inside: Any = usage) -> int:
        value = inside.get(key) if isinstance(inside, dict) else None
        return value if isinstance(value, int) and value > 0 else 0

    prompt, completion = count("prompt_tokens"), count("completion_tokens")
    cached = min(prompt, count("cached_tokens", usage.get("prompt_tokens_details")))
    return Usage(prompt, completion, count("total_tokens") or prompt + completion, cached)
