"""A judge's server that misbehaves on command: real HTTP on loopback, down to single bytes.

    with FaultServer() as server:
        server.script(Status(429, retry_after=0.1), Cut("body"), Answer())
        …                          # the first request gets a 429, the second half an answer, the third a whole one
        server.requests            # what came, and when

What happens after the script is told by `always`; a proper answer, unless told otherwise. Only where something is told
for the path "/models" there is a list of models: whoever asks for one otherwise gets a 404, and is not noted.
"""

import asyncio
import gzip
import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol

SCORE = '{"steps":[{"description":"Compare.","conclusion":"Mostly right."}],"result":0.75}'


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent. Header names are in lower case; `body` is decoded where it is JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    at: float = field(default_factory=time.monotonic)
    """On the monotonic clock."""
    connection: int = 0
    """Which of the server's connections it came on, counted from 1."""
    data: bytes = b""
    """The body as it came."""


class Wire(Protocol):
    """The way to the client."""

    async def send(self, data: bytes) -> None: ...

    def cut(self) -> None:
        """Close the connection, rudely."""
        ...


class Behaviour(Protocol):
    async def play(self, wire: Wire, request: Request) -> None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A chat completion. `content` may be anything that JSON can say; `arguments` makes it a tool call."""

    content: Any = SCORE
    refusal: str | None = None
    finish_reason: str = "stop"
    arguments: str | None = None
    zipped: bool = False
    then_cut: bool = False
    """Close the connection afterwards without having said so."""

    async def play(self, wire: Wire, request: Request) -> None:
        body = self.body(request)
        if self.zipped:
            body = gzip.compress(body)
            await wire.send(_head("200 OK", len(body), {"Content-Encoding": "gzip"}) + body)
        else:
            await wire.send(_head("200 OK", len(body)) + body)
        if self.then_cut:
            wire.cut()

    def body(self, request: Request) -> bytes:
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        if self.arguments is not None:
            name = request.body["tools"][0]["function"]["name"] if "tools" in request.body else "answer"
            call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": self.arguments}}
            message["tool_calls"] = [call]
        content = {
            "id": "chatcmpl-fault",
            "object": "chat.completion",
            "created": 1767225600,
            "model": request.body.get("model") if isinstance(request.body, dict) else None,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
        return json.dumps(content).encode()


@dataclass(frozen=True, slots=True)
class Status:
    """An error as OpenAI words them, or a redirect."""

    status: int
    message: str = "as the script has it"
    code: str | None = None
    param: str | None = None
    retry_after: float | str | None = None
    retry_after_ms: float | None = None
    location: str | None = None

    async def play(self, wire: Wire, request: Request) -> None:
        given = {"Retry-After": self.retry_after, "Retry-After-Ms": self.retry_after_ms, "Location": self.location}
        error = {"message": self.message, "type": "error", "param": self.param, "code": self.code}
        body = json.dumps({"error": error}).encode()
        headers = {name: f"{value}" for name, value in given.items() if value is not None}
        await wire.send(_head(f"{self.status} Scripted", len(body), headers) + body)


NO_JSON_SCHEMA = Status(
    400,
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    param="response_format",
)


@dataclass(frozen=True, slots=True)
class Raw:
    """Status 200 with these bytes. `length` is what Content-Length claims, where that is not the truth."""

    body: bytes
    content_type: str = "application/json"
    length: int | None = None

    async def play(self, wire: Wire, request: Request) -> None:
        length = len(self.body) if self.length is None else self.length
        await wire.send(_head("200 OK", length, {"Content-Type": self.content_type}) + self.body)
        if length > len(self.body):
            wire.cut()


@dataclass(frozen=True, slots=True)
class Cut:
    """A proper answer, but the connection is closed before it, in its head, or in its body."""

    where: Literal["before", "head", "body"]

    async def play(self, wire: Wire, request: Request) -> None:
        body = Answer().body(request)
        head = _head("200 OK", len(body))
        sent = {"before": b"", "head": head[: len(head) // 2], "body": head + body[: len(body) // 2]}
        await wire.send(sent[self.where])
        wire.cut()


@dataclass(frozen=True, slots=True)
class Slow:
    """A proper answer that takes this long: all of it late, or its body byte by byte."""

    seconds: float
    where: Literal["head", "body"] = "head"

    async def play(self, wire: Wire, request: Request) -> None:
        body = Answer().body(request)
        head = _head("200 OK", len(body))
        if self.where == "head":
            await asyncio.sleep(self.seconds)
            await wire.send(head + body)
            return
        await wire.send(head)
        for byte in body:
            await asyncio.sleep(self.seconds / len(body))
            await wire.send(bytes([byte]))


@dataclass(frozen=True, slots=True)
class Endless:
    """A body in chunks that has no end: spaces, which JSON allows before a value."""

    chunk: int = 1024
    pause_s: float = 0.01

    async def play(self, wire: Wire, request: Request) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await wire.send(b"%x\r\n%b\r\n" % (self.chunk, b" " * self.chunk))
            await asyncio.sleep(self.pause_s)


@dataclass(frozen=True, slots=True)
class Huge:
    """A body of so many bytes, its length told beforehand or not: a proper answer after a lot of blank space."""

    length: int = 200_000_000
    told: bool = True

    async def play(self, wire: Wire, request: Request) -> None:
        blank = b" " * 1_000_000
        body = Answer().body(request)
        blanks = self.length // len(blank)
        if self.told:
            await wire.send(_head("200 OK", blanks * len(blank) + len(body)))
        else:  # then the end of the connection is the end of the body
            await wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        for _ in range(blanks):
            await wire.send(blank)
        await wire.send(body)
        if not self.told:
            wire.cut()


def _head(status: str, length: int, headers: Mapping[str, str] | None = None) -> bytes:
    told = {"Content-Type": "application/json", "Content-Length": f"{length}", **(headers or {})}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in told.items())]
    return "\r\n".join([*lines, "", ""]).encode()


class FaultServer:
    """The server, in a thread with an event loop of its own, for as long as the `with` lasts."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.sent = 0
        """Bytes that clients took, or that lie in buffers on the way to them."""
        self.url = ""
        self.connections = 0
        self._script: deque[tuple[str, Behaviour]] = deque()
        self._always: list[tuple[str, Behaviour]] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault-server", daemon=True)

    def script(self, *behaviours: Behaviour, path: str = "") -> None:
        """What the next requests get, one after the other; with a path, the next requests to what ends in it."""
        self._script.extend((path, behaviour) for behaviour in behaviours)

    def always(self, behaviour: Behaviour, path: str = "") -> None:
        """What every request after the script gets."""
        self._always.insert(0, (path, behaviour))

    def forget(self) -> None:
        """Drop what is left of the script, and what is always so."""
        self._script.clear()
        self._always.clear()

    def __enter__(self) -> "FaultServer":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._converse(_Connection(self, reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, connection: "_Connection") -> None:
        try:
            while not connection.is_cut:
                request = await connection.receive()
                if request.method == "GET" and request.path.endswith("/models") and not self._tells_models():
                    await Status(404).play(connection, request)
                    continue
                self.requests.append(request)
                await self._next(request.path).play(connection, request)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client had enough
        finally:
            connection.cut()

    def _tells_models(self) -> bool:
        return any(suffix.endswith("/models") for suffix, _ in [*self._script, *self._always])

    def _next(self, path: str) -> Behaviour:
        for index, (suffix, behaviour) in enumerate(self._script):
            if path.endswith(suffix):
                del self._script[index]
                return behaviour
        return next((behaviour for suffix, behaviour in self._always if path.endswith(suffix)), Answer())


class _Connection:
    def __init__(self, server: FaultServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._number = server.connections
        self._reader = reader
        self._writer = writer
        self.is_cut = False

    async def receive(self) -> Request:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        data = await self._reader.readexactly(int(headers.get("content-length", "0")))
        try:
            body = json.loads(data)
        except ValueError:
            body = data
        return Request(method, path, headers, body, connection=self._number, data=data)

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()
        self._server.sent += len(data)

    def cut(self) -> None:
        self.is_cut = True
        self._writer.close()
