"""A stream that has ended, folded into the object that it was the telling of."""

from collections.abc import Iterator
from typing import Any

from fairmark import jsontext

_FINAL = ("response.completed", "response.incomplete")


class BrokenStream(ValueError):
    """The stream did not come to its end, or tells of a failure."""


def events(stream: bytes) -> Iterator[dict[str, Any]]:
    """The objects that server-sent events carry. Raises BrokenStream for what is none."""
    for part in stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        data = b"\n".join(line[5:].removeprefix(b" ") for line in part.split(b"\n") if line.startswith(b"data:"))
        if not data.strip():
            continue  # a comment, by which servers keep a connection open
        if data.strip() == b"[DONE]":
            return
        try:
            event = jsontext.decode(data)
        except jsontext.NotJson as error:
            raise BrokenStream(f"an event is not JSON: {error}") from None
        if not isinstance(event, dict):
            raise BrokenStream("an event is not an object")
        yield event


def fold_response(stream: bytes) -> dict[str, Any]:
    """The response of a stream of the responses API, which its last event holds. Raises BrokenStream."""
    for event in events(stream):
        if event.get("type") in _FINAL and isinstance(event.get("response"), dict):
            response: dict[str, Any] = event["response"]
            return response
    raise BrokenStream("no event says that the response is complete")


def fold_chat(stream: bytes) -> dict[str, Any]:
    """The chat completion of a stream of chunks. Raises BrokenStream where not every choice has come to its end."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in events(stream):
        if chunk.get("error"):
            raise BrokenStream("the stream tells of an error")
        for name, value in chunk.items():
            if name not in _OF_CHUNKS and (value or name not in whole):
                whole[name] = value
        for choice in chunk.get("choices") or []:
            if isinstance(choice, dict):
                index = choice.get("index")
                _add(choices.setdefault(index if isinstance(index, int) else 0, {}), choice)
    if not choices or not all(choice.get("finish_reason") for choice in choices.values()):
        raise BrokenStream("a choice did not come to its end")
    folded = [_choice(index, choices[index]) for index in sorted(choices)]
    return {**whole, "object": "chat.completion", "choices": folded}


def _choice(index: int, choice: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, **_listed(choice.pop("delta", {}))}
    return {"finish_reason": None, "logprobs": None, **choice, "index": index, "message": message}


def _add(whole: dict[str, Any], more: dict[str, Any], goes_on: bool = False) -> None:
    """One choice's chunk to what came before: what goes on goes on, and what has an index goes to its like. All else is
    said again: what a filter found, say."""
    for name, value in more.items():
        before = whole.get(name)
        if value is None and name in whole:
            continue
        if name in _NUMBERED and isinstance(value, list):
            _add_numbered(whole, name, value)
        elif isinstance(value, dict):
            if not isinstance(before, dict):
                whole[name] = {}
            _add(whole[name], value, goes_on or name in _GO_ON)
        elif goes_on and isinstance(value, str) and isinstance(before, str) and name not in _ONCE:
            whole[name] = before + value
        elif goes_on and isinstance(value, list) and isinstance(before, list):
            before.extend(value)
        else:
            whole[name] = list(value) if isinstance(value, list) else value


_NUMBERED = ("tool_calls",)
_GO_ON = ("delta", "logprobs")
# What a chunk has that its completion has otherwise, or not at all: padding against who counts bytes on the way.
_OF_CHUNKS = ("choices", "obfuscation")
# Texts that servers say again with every chunk, where others go on.
_ONCE = frozenset({"role", "id", "type", "finish_reason", "object", "model"})


def _add_numbered(whole: dict[str, Any], name: str, parts: list[Any]) -> None:
    known = whole.get(name)
    if not isinstance(known, _NumberedParts):
        known = whole[name] = _NumberedParts()
    for part in parts:
        if isinstance(part, dict):
            index = part.get("index")
            place = known.setdefault(index if isinstance(index, int) else len(known), {})
            _add(place, {key: value for key, value in part.items() if key != "index"}, goes_on=True)


class _NumberedParts(dict[int, dict[str, Any]]):
    """Parts by their index, a list in the end."""


def _listed(delta: Any) -> dict[str, Any]:
    if not isinstance(delta, dict):
        return {}
    return {
        name: [value[index] for index in sorted(value)] if isinstance(value, _NumberedParts) else value
        for name, value in delta.items()
    }
