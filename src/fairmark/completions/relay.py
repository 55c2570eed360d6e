"""The way to the models behind the server: which one is meant, whether there is room, and its answer as it comes."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from fairmark import jsontext
from fairmark.completions.exchange import NotKept, unpacked
from fairmark.errors import ApiError, LocalModelUnavailable, UnknownModel
from fairmark.judges.chosen import embedded
from fairmark.judges.client import connector, proxy_for
from fairmark.judges.models import LOCAL, Model, ModelRegistry, Provider, read_registry
from fairmark.longjson import LONG
from fairmark.outbound.client import CONNECT_S
from fairmark.outbound.connection import why_it_failed
from fairmark.outbound.secrets import hidden
from fairmark.settings import Settings
from fairmark.store.completions import with_fields
from fairmark.work import together
from fairmark.work.fair import FairSlots

WHOLE_ANSWERS = 6
"""How many times as long as its silence a whole answer may take."""
MOST_MODELS = 1_000
LOOK_EVERY_S = 1.0
REFUSAL_BYTES = 1_000_000
PART_BYTES = 256_000
"""Of a long question, sent at once."""

# What a client says that is meant for the model's server. Its key is for us, and stays here.
_TO_MODEL = frozenset({
    b"accept", b"accept-language", b"content-type", b"idempotency-key", b"openai-beta", b"traceparent", b"tracestate",
    b"user-agent", b"x-client-request-id",
})  # fmt: skip
_TO_MODEL_TOO = (b"x-stainless-", b"x-ms-")
_TO_CLIENT = frozenset({
    "content-type", "content-encoding", "cache-control", "retry-after", "retry-after-ms", "request-id",
    "apim-request-id", "content-length",
})  # fmt: skip
_TO_CLIENT_TOO = ("x-", "openai-", "azureml-")
_NEVER = frozenset({"x-powered-by", "x-frame-options", "x-content-type-options", "x-xss-protection", "x-robots-tag"})


class Directed(NamedTuple):
    """Where a question goes, and the body that goes there."""

    model: Model
    body: bytes


class Upstream(NamedTuple):
    """An answer that has begun."""

    status: int
    headers: list[tuple[bytes, bytes]]
    chunks: AsyncIterator[bytes]
    """As they come. Raises Cut where the answer does not come to its end."""
    request_id: str
    content_type: str
    encoding: str


class Cut(Exception):  # a message to whoever passes the answer on, not an error
    """The connection was cut, or nothing came for too long, in the middle of the answer."""


class Relay:
    """Passes questions on. Lives on the server's event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        most = max(2, settings.completion_concurrency)
        self._places = FairSlots(most, spare=max(1, most // 8), per_owner=max(1, most // 2))
        self._of_models: dict[str, FairSlots] = {}
        self._registry: ModelRegistry | None = None
        self._models: dict[str, Model] = {}
        self._addresses: dict[str, tuple[URL, str | None]] = {}
        self._session: aiohttp.ClientSession | None = None
        silence_s = settings.completion_timeout_s
        self._timeout = aiohttp.ClientTimeout(
            total=WHOLE_ANSWERS * silence_s, sock_connect=CONNECT_S, sock_read=silence_s
        )

    def find(self, name: str) -> Model:
        """Raises 404 with those there are."""
        model = self._models.get(name)
        if model is None:
            if self._registry is None:
                self._registry = read_registry()
            try:
                model = self._registry.resolve(name)
            except UnknownModel as error:
                raise ApiError(404, str(error), param="model", code="model_not_found") from None
            if len(self._models) < MOST_MODELS:
                self._models[name] = model
        return model

    def target(self, name: str, body: bytes, named_in_body: str | None) -> Directed:
        """The model of this name, and the body with the name that its server knows. All else stays as it is."""
        model = self.find(name)
        if model.real_name == named_in_body or (model.provider.kind == "azure" and named_in_body is None):
            return Directed(model, body)
        return Directed(model, with_fields(body, {"model": model.real_name}))

    @asynccontextmanager
    async def ask(
        self, project: str, target: Directed, path: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> AsyncIterator[Upstream]:
        """The answer of the model's server, whatever it is. Raises ApiError where there is none, or no room."""
        if not self._places.try_enter(project):
            raise _too_many(self._places.held(project))
        try:
            slots = self._slots(target.model)
            if slots is None:
                async with self._open(target, path, headers) as upstream:
                    yield upstream
                return
            try:
                async with asyncio.timeout(self._settings.completion_timeout_s):
                    await slots.enter(project)
            except TimeoutError:
                raise _late(target.model, self._settings.completion_timeout_s) from None
            try:
                async with self._open(target, path, headers) as upstream:
                    yield upstream
            finally:
                slots.leave(project)
        finally:
            self._places.leave(project)

    @asynccontextmanager
    async def _open(
        self, target: Directed, path: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> AsyncIterator[Upstream]:
        model = await self._started(target.model)
        provider = model.provider
        address, proxy = self._address(provider, path, model.real_name)
        sent = _sent_headers(headers, provider)
        try:
            response = await self._client().post(
                address,
                data=_sent_body(target.body, sent),
                headers=sent,
                timeout=self._timeout,
                allow_redirects=False,
                proxy=proxy,
                skip_auto_headers=("User-Agent",),
            )
        except TimeoutError:
            raise _late(model, self._settings.completion_timeout_s) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = hidden(why_it_failed(error), provider.secrets)
            raise ApiError(
                502, f"{model.name}: {why}.", "server_error", code="model_unreachable", headers={"retry-after": "1"}
            ) from None
        try:
            yield await self._upstream(response, model)
        finally:
            response.close() if not response.content.at_eof() else response.release()

    async def _upstream(self, response: aiohttp.ClientResponse, model: Model) -> Upstream:
        status, provider = response.status, model.provider
        if 300 <= status < 400:
            raise ApiError(
                502,
                f"{model.name}: the server answered {status} and points elsewhere; redirects are not followed.",
                "server_error",
                code="model_unreachable",
            )
        if not 200 <= status < 600:
            message = f"{model.name}: the server answered {status}, which is no answer: those are from 200 to 599."
            raise ApiError(502, message, "server_error", code="model_unreachable")
        passed = [
            (name.lower(), hidden(value, provider.secrets))
            for name, value in response.headers.items()
            if _passes(name.lower())
        ]
        chunks = _chunks(response)
        if status >= 400:
            chunks, passed = await _without_secrets(response, passed, provider)
        return Upstream(
            status,
            [(name.encode(), value.encode("latin-1", "replace")) for name, value in passed],
            chunks,
            response.headers.get("x-request-id", ""),
            response.content_type,
            _encoding(response),
        )

    async def _started(self, model: Model) -> Model:
        if model.provider.kind != LOCAL:
            return model
        try:
            return replace(model, provider=await embedded(model.real_name))
        except LocalModelUnavailable as error:
            raise ApiError(404, str(error), param="model", code="model_not_found") from None

    def _slots(self, model: Model) -> FairSlots | None:
        """Of a model whose server cannot bear more at once."""
        if not model.concurrency:
            return None
        if model.key not in self._of_models:
            self._of_models[model.key] = together.slots(f"completions {model.key}", model.concurrency)
        return self._of_models[model.key]

    def _address(self, provider: Provider, path: str, model: str) -> tuple[URL, str | None]:
        address = provider.url(path, model)
        known = self._addresses.get(address)
        if known is None:
            known = (URL(address, encoded=True), proxy_for(address))
            if len(self._addresses) < MOST_MODELS:
                self._addresses[address] = known
        return known

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=connector(), cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    content = response.content
    try:
        while not content.at_eof():
            looking = asyncio.timeout(LOOK_EVERY_S)
            try:
                async with looking:
                    chunk = await content.readany()
            except TimeoutError:
                # One that breaks the rules of HTTP is hung up on, and whoever reads is not told.
                if not looking.expired() or _is_closed(response) or content.exception() is not None:
                    raise
                continue
            if chunk:
                yield chunk
    except (aiohttp.ClientError, OSError) as error:  # TimeoutError is one
        raise Cut(why_it_failed(error)) from None


def _is_closed(response: aiohttp.ClientResponse) -> bool:
    connection = response.connection
    return connection is not None and (connection.transport is None or connection.transport.is_closing())


async def _without_secrets(
    response: aiohttp.ClientResponse, headers: list[tuple[str, str]], provider: Provider
) -> tuple[AsyncIterator[bytes], list[tuple[str, str]]]:
    """A refusal, whole: servers like to repeat the key that they were asked with, and it is not the client's."""
    body = bytearray()
    try:
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > REFUSAL_BYTES:
                break
    except (aiohttp.ClientError, OSError):
        pass  # as much of it as there is
    shown = hidden(_plain(bytes(body), response).decode("latin-1"), provider.secrets).encode("latin-1")
    kept = [(name, value) for name, value in headers if name not in ("content-length", "content-encoding")]

    async def whole() -> AsyncIterator[bytes]:
        yield shown

    return whole(), [*kept, ("content-length", str(len(shown)))]


def _plain(refusal: bytes, response: aiohttp.ClientResponse) -> bytes:
    """Unpacked, where a server packs what was not to be packed: in there nobody would find the key."""
    encoding = _encoding(response)
    if not encoding:
        return refusal
    try:
        return unpacked(refusal, encoding, REFUSAL_BYTES)
    except NotKept:
        message = f"The model's server answered {response.status}, and why in a form ({encoding}) that cannot be read."
        error = {"message": message, "type": "server_error", "param": None, "code": "model_unreachable"}
        return jsontext.encode({"error": error})


def _encoding(response: aiohttp.ClientResponse) -> str:
    return response.headers.get("content-encoding", "").lower().replace("identity", "")


def _sent_headers(headers: Iterable[tuple[bytes, bytes]], provider: Provider) -> dict[str, str]:
    sent = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers
        if name in _TO_MODEL or name.startswith(_TO_MODEL_TOO)
    }
    sent.setdefault("content-type", "application/json")
    # As it is, so that it can be read here too where it is to be stored.
    return {**sent, "accept-encoding": "identity", **provider.headers}


def _sent_body(body: bytes, headers: dict[str, str]) -> bytes | AsyncIterator[memoryview]:
    """A long one in parts, so that no call copies the whole. How long it is stands in the headers then."""
    if len(body) <= LONG:
        return body
    headers["content-length"] = str(len(body))

    async def parts() -> AsyncIterator[memoryview]:
        whole = memoryview(body)
        for begin in range(0, len(body), PART_BYTES):
            yield whole[begin : begin + PART_BYTES]

    return parts()


def _passes(name: str) -> bool:
    return name in _TO_CLIENT or (name.startswith(_TO_CLIENT_TOO) and name not in _NEVER)


def _too_many(held: int) -> ApiError:
    return ApiError(
        429,
        f"{held} questions of this project are under way at models, as many as may be at once. Try again.",
        "rate_limit_error",
        code="too_many_at_once",
        headers={"retry-after": "1"},
    )


def _late(model: Model, silence_s: float) -> ApiError:
    host = urlsplit(model.provider.base_url).netloc
    where = f" at {host}" if host else ""
    message = f"{model.name}: no answer{where} within {silence_s:g} s."
    return ApiError(504, message, "server_error", code="model_timeout")
