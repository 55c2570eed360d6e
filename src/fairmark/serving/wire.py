"""How requests are read and answers look: bodies, the error envelope, pages."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from fairmark import jsontext, longjson
from fairmark.checks.engine import CheckEngine
from fairmark.completions.keeping import SETTLED_WITHIN_S, Keeper
from fairmark.completions.relay import Relay
from fairmark.finetuning.engine import JobEngine
from fairmark.longjson import LONG
from fairmark.moving.imports import ImportEngine
from fairmark.refusals import invalid
from fairmark.registry.lookup import Registry
from fairmark.serving.limits import ProjectLimiter
from fairmark.serving.metrics import Metrics
from fairmark.serving.proxies import HOST
from fairmark.serving.siblings import Siblings
from fairmark.serving.wrongkeys import WrongKeys
from fairmark.settings import Settings

if TYPE_CHECKING:
    from fairmark.evals.engine import Engine
    from fairmark.store import Store

JSON = "application/json"


_STORED = "completions stored"
"""What the processes of a server ask one another before somebody looks for a completion."""


@dataclass(slots=True)
class State:
    """What all routes share."""

    store: "Store"
    engine: "Engine"
    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)
    wrong_keys: WrongKeys = field(default_factory=WrongKeys)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server begins to end, for answers that would go on."""
    siblings: Siblings = field(default_factory=Siblings)
    """The other processes of the server."""
    works: bool = True
    """Whether this process works off runs, jobs, imports and checks."""
    limits: ProjectLimiter = field(init=False)
    registry: Registry = field(init=False)
    jobs: JobEngine = field(init=False)
    relay: Relay = field(init=False)
    keeper: Keeper = field(init=False)
    imports: ImportEngine = field(init=False)
    checks: CheckEngine = field(init=False)

    def __post_init__(self) -> None:
        tell = self.siblings.tell
        self.limits = ProjectLimiter(self.store)
        self.engine.budget_of = self.limits.budget
        self.engine.admit = self.limits.check_rows
        self.registry = Registry(self.store.graders.find)
        self.registry.tell_others = partial(self.siblings.ask, "graders changed")
        self.jobs = JobEngine(self.store, self.engine, tell=tell)
        self.checks = CheckEngine(self.store, self.engine.judge, tell)
        self.checks.budget_of = self.limits.budget
        self.checks.admit = self.limits.check_day
        shares_file = self.siblings.count > 1 and self.store.is_sqlite
        folder = self.settings.data_folder
        self.imports = ImportEngine(self.store, folder, self.works, tell if shares_file else None)
        self.relay = Relay(self.settings)
        self.keeper = Keeper(self.store, self.settings, self.metrics.kept)
        if self.siblings.count > 1:
            self.keeper.ask_others = partial(self.siblings.ask, _STORED, within_s=SETTLED_WITHIN_S)
        self._hear_siblings()

    def _hear_siblings(self) -> None:
        on = self.siblings.on
        on("graders changed", lambda _: self.registry.forget())
        for what in ("new run", "cancelled"):
            on(what, partial(self.engine.hear, what))
        for what in ("new job", "dropped job"):
            on(what, partial(self.jobs.hear, what))
        for what in ("new check", "dropped check"):
            on(what, partial(self.checks.hear, what))
        on("new import", lambda _: self.imports.wake())
        on(_STORED, self.keeper.settled_here)
        on("alive", lambda _: True)
        on("metrics", lambda _: self.metrics.families())
        on("wrong key", lambda record: self.wrong_keys.count(*record))
        self.wrong_keys.tell = lambda address, digest: self.siblings.tell("wrong key", [address, digest])

    async def close(self) -> None:
        """Once nobody is answered any more: what waits to be stored is stored."""
        await self.keeper.stop()
        await self.relay.close()
        await self.limits.stop()


class ClientGone(Exception):
    """Whoever asked has gone away: there is nobody to answer."""


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
    shared: State = request.scope["fairmark"]
    return shared


def project(request: Request) -> str:
    """Whose request this is."""
    name: str = request.scope["project"]
    return name


def key_id(request: Request) -> str | None:
    """The id of the key that was shown, or that the session was made with; None on a server without keys."""
    visitor = request.scope.get("visitor")
    id_: str | None = getattr(visitor, "key_id", None)
    return id_


def base_url(request: Request) -> str:
    """The address the client used, for links back to us: a trusted proxy's, where they came through one."""
    host = Headers(scope=request.scope).get("host", "")
    if not HOST.fullmatch(host.encode("latin-1", "replace")):
        name, port = request.scope.get("server") or ("localhost", None)
        host = f"{name}:{port}" if port else name
    return f"{request.scope['scheme']}://{host}"


async def whole_body(receive: Receive, first: Message | None = None) -> bytes:
    """The whole body; `first`: what was received of it before. How long it may be, and how long it may take, is
    watched over by others. Raises ClientGone."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive() if first is None else first
        first = None
        if message["type"] != "http.request":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if message.get("more_body", False):
            chunks.append(chunk)
        elif not chunks:
            return chunk
        elif size <= LONG:
            return b"".join((*chunks, chunk))
        else:
            return await asyncio.to_thread(b"".join, (*chunks, chunk))  # bytes are joined without the interpreter


async def read_object(request: Request, *, rows: bool = False) -> dict[str, Any]:
    """The JSON object that the body is; `rows`: with LongLists in it, where it is long. Raises ApiError."""
    body = await whole_body(request.receive)
    if len(body) <= LONG:
        return decode_object(body)
    return await asyncio.to_thread(decode_object, body, rows=rows)


def decode_object(body: bytes, *, rows: bool = False) -> dict[str, Any]:
    """To be called in a thread where the body is long."""
    try:
        value = longjson.decode(body, rows=rows)
    except jsontext.NotJson as error:
        raise invalid(f"The body is not JSON: {error}.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise invalid(f"The body must be a JSON object, found {jsontext.describe(value)}.", code="invalid_type")
    if jsontext.deeper_than(value, jsontext.MAX_DEPTH):
        raise invalid(f"The body is nested deeper than {jsontext.MAX_DEPTH} levels.")
    return value
