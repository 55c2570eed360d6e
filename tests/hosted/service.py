"""The double's doors: lists with cursors, single objects, contents of files, and the faults on the way."""

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NoReturn

from aiohttp import web

from tests.hosted.faults import Faults
from tests.hosted.world import REFUSED_PURPOSES, Entry, Items, World

KEY = "sk-double-3f9a1c77d2e84b06a5c1"
PREFIXES = ("/v1", "/openai/v1", "/openai", "/api/projects/{project}/openai/v1")
DRIP_S = 1.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Hosted:
    """The running double. May be looked at and changed from other threads, as its tests do."""

    def __init__(self, world: World, faults: Faults, key: str = KEY) -> None:
        self.world = world
        self.faults = faults
        self.key = key
        self.requests: list[str] = []
        """Paths with their queries, in the order in which they came."""
        self.under_way = self.most_under_way = 0
        self.root = ""
        self.on_request: Callable[[int], None] = lambda number: None
        """Called when a request has come, with its number: to kill somebody, or to change the world."""
        self._grown: set[tuple[str, str]] = set()

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def kinds(self) -> Counter[str]:
        """How many requests there were, by the last word of their path that is no id."""
        paths = (request.partition("?")[0].strip("/").split("/") for request in self.requests)
        return Counter([word for word in path if word.replace("_", "").isalpha()][-1] for path in paths)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        routes = {
            "/evals": self._evals,
            "/evals/{eval}/runs": self._runs,
            "/evals/{eval}/runs/{run}/output_items": self._items,
            "/files": self._files,
            "/files/{file}": self._file,
            "/files/{file}/content": self._content,
            "/chat/completions": self._completions,
            "/chat/completions/{completion}/messages": self._messages,
            "/responses/{response}": self._response,
            "/responses/{response}/input_items": self._input_items,
            "/fine_tuning/jobs": self._jobs,
            "/fine_tuning/jobs/{job}/events": self._events,
            "/fine_tuning/jobs/{job}/checkpoints": self._checkpoints,
            "/models": self._models,
        }
        for prefix in PREFIXES:
            for path, handler in routes.items():
                app.router.add_get(prefix + path, handler)
        app.router.add_get("/requests", self._requests)
        return app

    async def _requests(self, request: web.Request) -> web.Response:
        """For whoever started the double as a process: how many requests there were."""
        return web.json_response({"requests": len(self.requests)})

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/requests":
            return await handler(request)
        self.requests.append(request.path_qs)
        self.on_request(len(self.requests))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.faults.slow_s)
            return await self._answer(request, handler)
        finally:
            self.under_way -= 1

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("api-key", "")
        limit = request.query.get("limit", "")
        fault = self.faults.of(request.path, int(limit) if limit.isdigit() else None)
        if sent != self.key:
            fault = 401
        if isinstance(fault, int):
            return self._failure(fault, sent)
        if fault == "html":
            return web.Response(text="<html><body>Just a moment …</body></html>", content_type="text/html")
        if fault == "hang":
            await asyncio.sleep(3600)
        is_dated = request.path.startswith("/openai/") and not request.path.startswith("/openai/v1")
        if is_dated and not request.query.get("api-version"):
            return self._failure(404, sent)
        try:
            answer = await handler(request)
        except web.HTTPException as error:
            return _error(error.status, error.text or "")
        if self.faults.broken_objects and isinstance(answer, web.Response) and isinstance(answer.body, bytes):
            shown = {entry["id"] for entry in json.loads(answer.body).get("data", [])}
            if shown & self.faults.broken_objects:
                return self._failure(500, sent)
        if fault in ("cut", "drip") and isinstance(answer, web.Response) and isinstance(answer.body, bytes):
            return await _cut(request, answer.body, answer.content_type, drip=fault == "drip")
        return answer

    def _failure(self, status: int, sent: str) -> web.Response:
        """Repeats the key, as some servers do."""
        headers = {}
        if status == 429:
            pause_ms = self.faults.retry_after_ms
            headers = {
                "retry-after-ms": str(pause_ms),
                "retry-after": str(-(-pause_ms // 1000)),
                "x-ratelimit-limit-requests": "60",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": f"{pause_ms}ms",
            }
        return _error(status, f"No: you sent {sent}.", headers)

    # Lists

    async def _evals(self, request: web.Request) -> web.Response:
        return _page(request, self.world.evals)

    async def _runs(self, request: web.Request) -> web.Response:
        runs = self.world.runs.get(request.match_info["eval"])
        return _page(request, runs) if runs is not None else _nothing()

    async def _items(self, request: web.Request) -> web.Response:
        run_id = request.match_info["run"]
        if run_id not in {entry.id for entry in self.world.runs.get(request.match_info["eval"], ())}:
            _nothing()
        if self.world.is_going(run_id) and (run_id, request.query_string) not in self._grown:
            self._grown.add((run_id, request.query_string))
            if len(self._grown) <= 3:
                self.world.grow(run_id, 7)
        return _page(request, self.world.items_of(run_id))

    async def _files(self, request: web.Request) -> web.Response:
        entries = [self._true_or_not(entry) for entry in self.world.files]
        return _page(request, entries, most=self.faults.most_files, usual=10_000, order="desc")

    async def _completions(self, request: web.Request) -> web.Response:
        return _page(request, self.world.completions)

    async def _messages(self, request: web.Request) -> web.Response:
        id_ = request.match_info["completion"]
        known = any(entry.id == id_ for entry in self.world.completions)
        return _page(request, self.world.messages_of(id_)) if known else _nothing()

    async def _input_items(self, request: web.Request) -> web.Response:
        id_ = request.match_info["response"]
        if id_ not in self.world.responses:
            _nothing()
        return _page(request, self.world.input_items_of(id_), order="desc")

    async def _jobs(self, request: web.Request) -> web.Response:
        return _page(request, self.world.jobs[::-1], order=None)

    async def _events(self, request: web.Request) -> web.Response:
        return _page(request, self.world.events_of(request.match_info["job"])[::-1], order=None)

    async def _checkpoints(self, request: web.Request) -> web.Response:
        return _page(request, self.world.checkpoints_of(request.match_info["job"])[::-1], order=None)

    # Single things

    async def _models(self, request: web.Request) -> web.Response:
        return _json(self.world.models)

    async def _response(self, request: web.Request) -> web.Response:
        entry = self.world.responses.get(request.match_info["response"])
        return _json(entry.text()) if entry else _nothing()

    async def _file(self, request: web.Request) -> web.Response:
        id_ = request.match_info["file"]
        entry = next((entry for entry in self.world.files if entry.id == id_), self.world.unlisted.get(id_))
        return _json(self._true_or_not(entry).text()) if entry else _nothing()

    async def _content(self, request: web.Request) -> web.Response:
        id_ = request.match_info["file"]
        if id_ not in self.world.contents:
            _nothing()
        purpose = self.world.purposes.get(id_)
        if purpose in REFUSED_PURPOSES:
            raise web.HTTPBadRequest(text=f"Not allowed to download files of purpose: {purpose}")
        return web.Response(body=self.world.contents[id_], content_type="application/octet-stream")

    def _true_or_not(self, entry: Entry) -> Entry:
        if entry.id not in self.faults.lying_files:
            return entry
        text = json.dumps({**json.loads(entry.text()), "bytes": 7})
        return entry._replace(text=lambda: text)


def _page(
    request: web.Request, entries: Sequence[Entry], most: int = 100, usual: int = 20, order: str | None = "asc"
) -> web.Response:
    """A page. `order`: the usual one; None where the list knows only its own."""
    wanted = request.query.get("order", order or "")
    limit = int(request.query.get("limit", usual))
    if not 1 <= limit <= most or (order is None and "order" in request.query) or wanted not in ("asc", "desc", ""):
        raise web.HTTPBadRequest(text=f"limit: 1 to {most}; order: asc or desc")
    after = request.query.get("after")
    step = -1 if wanted == "desc" else 1
    place = -1 if step == 1 else len(entries)
    if after is not None:
        places = entries.place(after) if isinstance(entries, Items) else _place(entries, after)
        if places < 0:
            raise web.HTTPBadRequest(text=f"after: there is no {after}")
        place = places
    begin = place + step
    end = min(len(entries), begin + limit) if step == 1 else max(-1, begin - limit)
    shown = [entries[index] for index in range(begin, end, step)]
    more = end < len(entries) if step == 1 else end >= 0
    ids = json.dumps(shown[0].id if shown else None), json.dumps(shown[-1].id if shown else None)
    data = ",\n    ".join(entry.text() for entry in shown)
    return _json(
        f'{{\n  "object": "list",\n  "data": [\n    {data}\n  ],\n  "first_id": {ids[0]},\n  "last_id": {ids[1]},\n'
        f'  "has_more": {json.dumps(more)}\n}}\n'
    )


def _place(entries: Sequence[Entry], id_: str) -> int:
    return next((index for index, entry in enumerate(entries) if entry.id == id_), -1)


def _json(text: str) -> web.Response:
    return web.Response(body=text.encode(), content_type="application/json", headers={"x-request-id": "req_double"})


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.Response(
        status=status, body=json.dumps({"error": error}).encode(), content_type="application/json", headers=headers
    )


def _nothing() -> NoReturn:
    raise web.HTTPNotFound(text="No such object.")


async def _cut(request: web.Request, body: bytes, content_type: str, *, drip: bool) -> web.StreamResponse:
    """The first half of a body, all at once or byte by byte, and the connection closed."""
    answer = web.StreamResponse(headers={"Content-Type": content_type, "Content-Length": str(len(body))})
    await answer.prepare(request)
    half = body[: len(body) // 2]
    if drip:
        for index in range(len(half)):
            await answer.write(half[index : index + 1])
            await asyncio.sleep(DRIP_S)
    else:
        await answer.write(half)
    if request.transport is not None:
        request.transport.close()
    return answer


async def serve(hosted: Hosted, port: int = 0) -> web.AppRunner:
    """Listens on loopback; `hosted.root` is where."""
    runner = web.AppRunner(hosted.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    hosted.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    return runner


@contextlib.contextmanager
def hosting(world: World | None = None, faults: Faults | None = None) -> Iterator[Hosted]:
    """The double, in a thread of this process, for as long as the block lasts."""
    hosted = Hosted(world or World(), faults or Faults())
    ready, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def main() -> None:
        runner = await serve(hosted)
        ready.set()
        await stop.wait()
        await runner.cleanup()

    def work() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=work, name="hosted", daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield hosted
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
