"""What is kept of an exchange: what was asked and what was answered, in the form in which it is given back."""

import secrets
import time
import zlib
from typing import Any, Literal, NamedTuple

from fairmark import jsontext, longjson
from fairmark.completions.folding import BrokenStream, fold_chat, fold_response
from fairmark.store import NewCompletion
from fairmark.store.completions import Kind

Unkept = Literal["too_large", "broken", "unreadable", "busy", "project_full", "store_unavailable"]
"""Why an exchange that was to be kept is not."""

# What of the question a stored chat completion tells, beside its answer.
_ECHOED = (
    "tool_choice", "seed", "top_p", "temperature", "presence_penalty", "frequency_penalty", "tools", "response_format",
)  # fmt: skip
_FINISHED = ("completed", "incomplete", "failed", "cancelled")


class Exchange(NamedTuple):
    """A question and its whole answer, as they went over the wire."""

    project: str
    kind: Kind
    model: str
    """As it was asked for."""
    question: bytes
    answer: bytes
    is_stream: bool
    encoding: str
    request_id: str

    @property
    def size(self) -> int:
        return len(self.question) + len(self.answer)


class NotKept(Exception):  # a message to the keeper, not an error
    def __init__(self, why: Unkept) -> None:
        super().__init__(why)
        self.why = why


def read(exchange: Exchange, most_bytes: int) -> NewCompletion:
    """What is to be kept. Raises NotKept. It may take a while: to be called in a thread."""
    try:
        question = longjson.decode(exchange.question)
        answer = _answer(exchange, most_bytes)
    except (jsontext.NotJson, BrokenStream):
        raise NotKept("broken" if exchange.is_stream else "unreadable") from None
    if not isinstance(question, dict) or not isinstance(answer, dict) or answer.get("error"):
        raise NotKept("unreadable")
    made = (_chat if exchange.kind == "chat" else _response)(exchange, question, answer)
    if made.size > most_bytes:
        raise NotKept("too_large")
    return made


def _answer(exchange: Exchange, most_bytes: int) -> Any:
    body = exchange.answer
    if exchange.encoding:
        body = unpacked(body, exchange.encoding, most_bytes)
    if not exchange.is_stream:
        return longjson.decode(body)
    return (fold_chat if exchange.kind == "chat" else fold_response)(body)


def unpacked(body: bytes, encoding: str, most_bytes: int) -> bytes:
    if encoding not in ("gzip", "deflate"):
        raise NotKept("unreadable")
    unpacking = zlib.decompressobj(47 if encoding == "gzip" else zlib.MAX_WBITS)
    try:
        plain = unpacking.decompress(body, most_bytes)
    except zlib.error:
        raise NotKept("unreadable") from None
    if unpacking.unconsumed_tail:
        raise NotKept("too_large")
    return plain


def _chat(exchange: Exchange, question: dict[str, Any], answer: dict[str, Any]) -> NewCompletion:
    if not isinstance(answer.get("choices"), list):
        raise NotKept("unreadable")
    metadata = read_metadata(question.get("metadata"))
    id_ = answer["id"] if isinstance(answer.get("id"), str) else ""
    echoed = {name: question.get(name) for name in _ECHOED if name not in answer}
    body = {
        **answer,
        **echoed,
        "request_id": exchange.request_id or None,
        "input_user": question.get("user"),
        "metadata": metadata,
    }
    input_ = chat_messages(question.get("messages"), id_ or "chatcmpl")
    return _made(exchange, question, answer, id_, "created", metadata, input_, body, "messages")


def _response(exchange: Exchange, question: dict[str, Any], answer: dict[str, Any]) -> NewCompletion:
    if answer.get("object") != "response" or answer.get("status", "completed") not in _FINISHED:
        raise NotKept("unreadable")
    pairs = answer["metadata"] if isinstance(answer.get("metadata"), dict) else question.get("metadata")
    metadata = read_metadata(pairs)
    id_ = answer["id"] if isinstance(answer.get("id"), str) else ""
    body = {**answer, "metadata": metadata}
    return _made(exchange, question, answer, id_, "created_at", metadata, input_items(question), body, "input")


def _made(
    exchange: Exchange,
    question: dict[str, Any],
    answer: dict[str, Any],
    id_: str,
    time_name: str,
    metadata: dict[str, str],
    input_: list[Any],
    body: dict[str, Any],
    input_name: str,
) -> NewCompletion:
    model = answer.get("model")
    return NewCompletion(
        project=exchange.project,
        kind=exchange.kind,
        id=id_,
        model=model if isinstance(model, str) and model else exchange.model,
        asked_model=exchange.model,
        created_at=_time(answer.get(time_name)),
        metadata=metadata,
        input=jsontext.encode(input_),
        body=jsontext.encode(body),
        request=jsontext.encode({name: value for name, value in question.items() if name not in (input_name, "store")}),
    )


def _time(value: Any) -> int:
    """When it was made, as the answer tells, or now."""
    is_time = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 2**40
    return int(value) if is_time else int(time.time())


def read_metadata(given: Any) -> dict[str, str]:
    """The pairs of texts in it; what else a provider lets pass is not metadata."""
    if not isinstance(given, dict):
        return {}
    return {key: value for key, value in given.items() if isinstance(value, str)}


def chat_messages(given: Any, id_: str) -> list[dict[str, Any]]:
    """The messages that were sent, each with an id. An array of parts stands in `content_parts`."""
    messages = [message for message in given if isinstance(message, dict)] if isinstance(given, list) else []
    stored = []
    for number, message in enumerate(messages):
        parts = message.get("content")
        in_parts = isinstance(parts, list)
        stored.append(
            {
                **message,
                "id": f"{id_}-{number}",
                "content": None if in_parts else parts,
                "content_parts": parts if in_parts else None,
            }
        )
    return stored


def input_items(question: dict[str, Any]) -> list[dict[str, Any]]:
    """The input of a response as items: a text is a message of the user's."""
    asked = question.get("input")
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    items = [item for item in asked if isinstance(item, dict)] if isinstance(asked, list) else []
    return [_item(item) for item in items]


def _item(item: dict[str, Any]) -> dict[str, Any]:
    id_ = item.get("id")
    if "role" not in item:
        return {**item, "id": id_ if isinstance(id_, str) else f"item_{secrets.token_hex(16)}"}
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item["role"] == "assistant" else "input_text"
        content = [{"type": kind, "text": content, **({"annotations": []} if kind == "output_text" else {})}]
    id_ = id_ if isinstance(id_, str) else f"msg_{secrets.token_hex(16)}"
    return {"type": "message", "status": "completed", **item, "id": id_, "content": content}
