"""A provider of models: answers chat completions, responses and embeddings, whole or as a stream, as OpenAI's does.

It says what it was asked for: the last message again, in capitals. A tool that it is given, it calls.
"""

import asyncio
import itertools
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.judges.faults import FaultServer, Request, Status, Wire

CREATED = 1_790_000_000
HEADERS = {
    "x-request-id": "req_of_the_model",
    "openai-processing-ms": "12",
    "openai-organization": "house",
    "x-ratelimit-remaining-requests": "99",
    "set-cookie": "secret=1",
    "server": "model-server",
    "strict-transport-security": "max-age=1",
}
HOSTED = ("web_search", "web_search_preview", "mcp", "file_search", "code_interpreter")


class Provider:
    """`refuses`: hosted tools that this one does not have."""

    def __init__(self, refuses: Iterable[str] = ()) -> None:
        self._numbers = itertools.count(1)
        self._refuses = set(refuses)

    async def play(self, wire: Wire, request: Request) -> None:
        body = request.body
        if not isinstance(body, dict) or not isinstance(body.get("model"), str):
            await Status(400, "that is not what this API takes").play(wire, request)
            return
        try:
            await self._answer(wire, request, body)
        except (KeyError, TypeError, AttributeError, IndexError):
            await Status(400, "that is not what this API takes").play(wire, request)

    async def _answer(self, wire: Wire, request: Request, body: dict[str, Any]) -> None:
        number = next(self._numbers)
        if request.path.endswith("/embeddings"):
            vector = {"object": "embedding", "index": 0, "embedding": [0.25, 0.5]}
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            await whole(wire, {"object": "list", "data": [vector], "model": body["model"], "usage": usage})
            return
        if request.path.endswith("/responses"):
            refused = next((tool["type"] for tool in body.get("tools") or [] if tool["type"] in self._refuses), None)
            if refused is not None:
                await Status(400, f"Hosted tool '{refused}' is not supported with this model.", param="tools").play(
                    wire, request
                )
                return
            made = response(body, number)
            await (stream(wire, response_events(made)) if body.get("stream") else whole(wire, made))
            return
        made = completion(body, number)
        await (stream(wire, chat_chunks(made)) if body.get("stream") else whole(wire, made))


def _said(messages: Any) -> str:
    """The last message's text."""
    if isinstance(messages, str):
        return messages
    content = messages[-1].get("content") or ""
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return str(content)


def completion(body: Mapping[str, Any], number: int) -> dict[str, Any]:
    text = _said(body["messages"]).upper()
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    reason = "stop"
    if body.get("tools") and body["messages"][-1]["role"] != "tool":
        function = {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps({"city": text})}
        message |= {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}
        reason = "tool_calls"
    return {
        "id": f"chatcmpl-{number:04d}",
        "object": "chat.completion",
        "created": CREATED + number,
        "model": f"{body['model']}-2026-09-01",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }


def chat_chunks(made: Mapping[str, Any]) -> list[bytes]:
    """The events that tell a completion, one a character or part of a tool call."""
    head = {name: made[name] for name in ("id", "created", "model", "service_tier", "system_fingerprint")}
    choice = made["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "" if message["content"] else None}]
    deltas += [{"content": letter} for letter in message["content"] or ""]
    for index, call in enumerate(message.get("tool_calls", ())):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        named = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [named]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in arguments]
    chunks = [
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    ended = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks.append({**head, "object": "chat.completion.chunk", "choices": [ended]})
    chunks.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": made["usage"]})
    return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


def response(body: Mapping[str, Any], number: int) -> dict[str, Any]:
    text = _said(body["input"]).upper()
    output: list[dict[str, Any]] = []
    for tool in body.get("tools") or []:
        if tool["type"] in ("web_search", "web_search_preview"):
            action = {"type": "search", "query": text}
            output.append({"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": action})
        elif tool["type"] == "mcp":
            call = {"type": "mcp_call", "id": f"mcp_{number}", "server_label": tool["server_label"], "name": "search"}
            output.append({**call, "arguments": "{}", "output": text, "error": None, "status": "completed"})
        elif tool["type"] == "function":
            call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool["name"]}
            output.append({**call, "arguments": json.dumps({"city": text}), "status": "completed"})
    said = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    if not any(item["type"] == "function_call" for item in output):
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
        output.append({**message, "content": [said]})
    return {
        "id": f"resp_{number:04d}",
        "object": "response",
        "created_at": CREATED + number,
        "status": "completed",
        "model": f"{body['model']}-2026-09-01",
        "output": output,
        "instructions": body.get("instructions"),
        "metadata": body.get("metadata") or {},
        "parallel_tool_calls": True,
        "temperature": body.get("temperature", 1.0),
        "top_p": body.get("top_p", 1.0),
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "error": None,
        "incomplete_details": None,
        "previous_response_id": body.get("previous_response_id"),
        "usage": {
            "input_tokens": 7,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 12,
        },
    }


def response_events(made: Mapping[str, Any]) -> list[bytes]:
    begun = {**made, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(made["output"]):
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}})
        for part in item.get("content", ()):
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            events.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
            events += [
                {"type": "response.output_text.delta", **place, "delta": letter, "logprobs": []}
                for letter in part["text"]
            ]
            events.append({"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": made})
    return [
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n".encode()
        for number, event in enumerate(events)
    ]


async def whole(wire: Wire, answer: Any, status: str = "200 OK") -> None:
    # Spaces and escapes that no encoder of ours would write.
    body = b" " + json.dumps(answer, indent=1).encode() + b"\n"
    head = {"content-type": "application/json", "content-length": str(len(body)), **HEADERS}
    await wire.send(_head(status, head) + body)


async def stream(wire: Wire, chunks: Sequence[bytes], *, ended: bool = True) -> None:
    await wire.send(_head("200 OK", STREAMED))
    for chunk in chunks:
        await wire.send(chunked(chunk))
    if ended:
        await wire.send(b"0\r\n\r\n")
    else:
        wire.cut()


STREAMED = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked", **HEADERS}


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _head(status: str, headers: Mapping[str, str]) -> bytes:
    return "\r\n".join(
        [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    ).encode()


class Gated:
    """A stream of which each chunk waits until the test lets it go; knows when its client has gone."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks
        self._released = threading.Semaphore(0)
        self.begun = threading.Event()
        self.gone = threading.Event()

    def release(self, count: int = 1) -> None:
        self._released.release(count)

    async def play(self, wire: Wire, request: Request) -> None:
        await wire.send(_head("200 OK", STREAMED))
        self.begun.set()
        try:
            for chunk in self._chunks:
                while not self._released.acquire(blocking=False):
                    await asyncio.sleep(0.005)
                    reader = wire._reader  # type: ignore[attr-defined]
                    # Who goes away with something unread does not end the connection, but resets it.
                    if reader.at_eof() or reader.exception() is not None:
                        raise ConnectionError
                await wire.send(chunked(chunk))
            await wire.send(b"0\r\n\r\n")
        except ConnectionError:
            self.gone.set()
            raise


class Parts:
    """These bytes, a pause, the next ones; at the end the connection is cut, or left open for ever."""

    def __init__(self, *parts: bytes, headers: Mapping[str, str] | None = None, hangs: bool = False) -> None:
        self._parts = parts
        self._headers = headers or STREAMED
        self._hangs = hangs

    async def play(self, wire: Wire, request: Request) -> None:
        await wire.send(_head("200 OK", self._headers))
        for part in self._parts:
            await wire.send(part)
            await asyncio.sleep(0.02)
        if self._hangs:
            await asyncio.sleep(600)
        wire.cut()


class Wired:
    """These bytes, head and all, and an end."""

    def __init__(self, sent: bytes) -> None:
        self._sent = sent

    async def play(self, wire: Wire, request: Request) -> None:
        await wire.send(self._sent)


def environment(server: FaultServer) -> dict[str, str]:
    """Of a Fairmark server whose every model is here."""
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": KEY}


KEY = "sk-the-key-of-the-model-behind-0123456789"
