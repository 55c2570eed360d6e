"""A judge that answers at once, or after a fixed time: an OpenAI-compatible server for benchmarks, on loopback.

    python -m bench.judge_server --port 0 --latency-ms 50     prints its address
    with JudgeServer(latency_ms=50) as url: …                 the same in a process of its own, ended at the end

It reads no more of a request than it must, so that what is measured is whoever asks. What a request wants shows in
its body: a tool call, a label out of a schema, the answer to deepeval's or inspect-ai's prompt, or else to our own.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import os
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, cast

ROOT = Path(__file__).parents[1]
DIMENSION = 64
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
STEPS = [{"description": "Compare the answer with the reference.", "conclusion": "It is right for the most part."}]
SCORE = {"steps": STEPS, "result": 0.75}


class Server:
    """What the connections share: the latency and the counts."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.served = 0
        self.open = 0
        self.most_open = 0
        self.connections = 0
        self.asked_at: list[float] = []
        self.loop = asyncio.get_running_loop()

    def stats(self) -> dict[str, int]:
        return {
            "requests": self.served,
            "asked": len(self.asked_at),
            "most_at_once": self.most_open,
            "busiest_minute": _busiest(self.asked_at, 60.0),
            "busiest_second": _busiest(self.asked_at, 1.0),
            "connections": self.connections,
        }


def _busiest(moments: list[float], seconds: float) -> int:
    """The most of them within any so many seconds."""
    most = first = 0
    for last, moment in enumerate(moments):
        while moment - moments[first] >= seconds:
            first += 1
        most = max(most, last + 1 - first)
    return most


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length, one request at a time."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transport: asyncio.Transport | None = None
        self.buffer = b""
        self.waits_for = 0
        self.head_end = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self.server.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None

    def data_received(self, data: bytes) -> None:
        self.buffer = buffer = self.buffer + data if self.buffer else data
        if not self.waits_for:
            self.head_end = buffer.find(b"\r\n\r\n") + 4
            if self.head_end < 4:
                return
            self.waits_for = self.head_end + _content_length(buffer[: self.head_end])
        if len(buffer) < self.waits_for:
            return
        head, body, self.buffer = buffer[: self.head_end], buffer[self.head_end : self.waits_for], b""
        self.waits_for = 0
        self.take(head, body)

    def take(self, head: bytes, body: bytes) -> None:
        server = self.server
        path = head[: head.find(b"\r\n")].split(b" ")[1]
        if path.endswith(b"/chat/completions"):
            answer = completion(body)
        elif path.endswith(b"/embeddings"):
            answer = embeddings(body)
        elif path == b"/stats":
            return self.write(json_response(server.stats()))
        else:
            return self.write(json_response({"error": {"message": "no such path"}}, b"404 Not Found"))
        server.asked_at.append(server.loop.time())
        server.open += 1
        server.most_open = max(server.most_open, server.open)
        if server.latency_s:
            server.loop.call_later(server.latency_s, self.answer, answer)
        else:
            self.answer(answer)
        return None

    def answer(self, response: bytes) -> None:
        self.server.open -= 1
        self.server.served += 1
        self.write(response)

    def write(self, response: bytes) -> None:
        if self.transport is not None:  # who asked may be gone
            self.transport.write(response)


def _content_length(head: bytes) -> int:
    start = head.lower().find(b"\r\ncontent-length:")
    return int(head[start + 17 : head.find(b"\r\n", start + 2)]) if start >= 0 else 0


def response(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def json_response(content: Any, status: bytes = b"200 OK") -> bytes:
    return response(json.dumps(content, separators=(",", ":")).encode(), status)


def completion(body: bytes) -> bytes:
    """The response to a chat completion. The most frequent ones are ready but for the model's name."""
    if b'"tools"' in body or b'"functions"' in body:
        return json_response(_completion(_tool_call(json.loads(body)), _model(body), finish_reason="tool_calls"))
    if b'"enum"' in body:
        request = json.loads(body)
        schema = request.get("response_format", {}).get("json_schema", {}).get("schema")
        if schema:
            return json_response(_completion(_text(json.dumps(example(schema))), _model(body)))
    if b'"result"' in body:
        return RESULT(body)
    if b"GRADE:" in body:  # inspect-ai's model_graded_qa
        return GRADE(body)
    if b'"logprobs"' in body:  # deepeval's G-Eval weighs the score by the probabilities of its tokens
        return WEIGHED(body)
    if b"score" in body and b"reason" in body:  # the same without probabilities
        return REASON(body)
    return RESULT(body)


def _text(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "refusal": None}


def _completion(
    message: dict[str, Any], model: str, finish_reason: str = "stop", logprobs: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1767225600,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish_reason}],
        "usage": USAGE,
    }


def _canned(message: dict[str, Any], logprobs: dict[str, Any] | None = None) -> Callable[[bytes], bytes]:
    """A function of the request's body: the completion, with the model that was asked for."""
    before, after = (
        part.encode()
        for part in json.dumps(_completion(message, "MODEL", logprobs=logprobs), separators=(",", ":")).split("MODEL")
    )
    length = len(before) + len(after)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b%b%b"

    def answer(body: bytes) -> bytes:
        model = _model(body).encode()
        return head % (length + len(model), before, model, after)

    return answer


def _model(body: bytes) -> str:
    """The model's name as it stands in the body, which need not be parsed for it."""
    start = body.find(b'"model":')
    if start < 0:
        return "none"
    start = body.find(b'"', start + 8) + 1
    return body[start : body.find(b'"', start)].decode(errors="replace")


def _tool_call(request: dict[str, Any]) -> dict[str, Any]:
    """A call of the first function on offer, with arguments that fit its schema."""
    function = request["tools"][0]["function"] if "tools" in request else request["functions"][0]
    call = {"name": function["name"], "arguments": json.dumps(example(function.get("parameters", {})))}
    message = {"role": "assistant", "content": None, "refusal": None}
    if "tools" not in request:
        return {**message, "function_call": call}
    return {**message, "tool_calls": [{"id": "call_bench", "type": "function", "function": call}]}


def example(schema: dict[str, Any]) -> Any:
    """A value that fits a JSON schema: the first of an enum, one element of an array, every property of an object."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: example(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [example(schema.get("items", {}))]
    return {"number": 0.75, "integer": 1, "boolean": True, "null": None}.get(kind, "It is right for the most part.")


def embeddings(body: bytes) -> bytes:
    """A vector for each input: as long as asked for, of unit length, and the same for the same text."""
    request = json.loads(body)
    given = request["input"]
    texts = [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else given
    dimension = request.get("dimensions") or DIMENSION
    encode = _base64 if request.get("encoding_format") == "base64" else list
    data = [
        {"object": "embedding", "index": index, "embedding": encode(_vector(str(text), dimension))}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 10 * len(data), "total_tokens": 10 * len(data)}
    return json_response({"object": "list", "data": data, "model": _model(body), "usage": usage})


def _vector(text: str, dimension: int) -> list[float]:
    """The text's bytes as directions; equal texts are equal, others mostly not."""
    values = [0.0] * dimension
    for place, byte in enumerate(text.encode()):
        values[(byte * 31 + place) % dimension] += 1.0
    length = sum(value * value for value in values) ** 0.5
    if not length:
        return [1.0] + [0.0] * (dimension - 1)
    return [value / length for value in values]


def _base64(values: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def _token(token: str, *others: str) -> dict[str, Any]:
    shown = [{"token": one, "logprob": -0.1 - place, "bytes": None} for place, one in enumerate((token, *others))]
    return {**shown[0], "top_logprobs": shown}


RESULT = _canned(_text(json.dumps(SCORE, separators=(",", ":"))))
REASON = _canned(_text('{"reason":"It is right for the most part.","score":8}'))
WEIGHED = _canned(
    _text('{"reason":"It is right for the most part.","score":8}'),
    {"content": [_token('":'), _token("8", "7", "9"), _token("}")], "refusal": None},
)
GRADE = _canned(_text("It is right for the most part.\n\nGRADE: C"))


async def serve(port: int, latency_ms: float, leash: bool) -> None:
    """Serve until ended; on a leash, also until standard input closes, so that nothing outlives who started it."""
    loop = asyncio.get_running_loop()
    shared = Server(latency_ms / 1000)
    server = await loop.create_server(lambda: Connection(shared), "127.0.0.1", port, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    if not leash:
        await server.serve_forever()
    closed = asyncio.Event()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            closed.set()

    loop.add_reader(sys.stdin.fileno(), look)
    await closed.wait()


class JudgeServer:
    """The server in a process of its own, for as long as the `with` lasts. The value is its address."""

    def __init__(self, latency_ms: float = 50) -> None:
        self.latency_ms = latency_ms
        self.url = ""

    def __enter__(self) -> str:
        command = [sys.executable, "-m", "bench.judge_server", "--latency-ms", str(self.latency_ms), "--leash"]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self.__exit__(None, None, None)
            raise RuntimeError("the judge server did not start")
        return self.url

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        with contextlib.suppress(OSError):
            self.process.communicate(timeout=10)


def stats(url: str) -> dict[str, int]:
    """What the server at this address has seen so far."""
    with urllib.request.urlopen(f"{url}/stats", timeout=10) as answer:  # noqa: S310  # our own server's address
        content: dict[str, int] = json.load(answer)
    return content


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.judge_server", description="A judge for benchmarks.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--latency-ms", type=float, default=50, help="how long an answer takes")
    parser.add_argument("--leash", action="store_true", help="end when standard input closes")
    given = parser.parse_args()
    with contextlib.suppress(ImportError):
        import uvloop  # not everywhere; without it the server is slower

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(given.port, given.latency_ms, given.leash))


if __name__ == "__main__":
    main()
