"""Conversations of trainers: what was asked in them, and what the model answered last."""

from collections.abc import Mapping, Sequence
from typing import Any

Messages = list[dict[str, Any]]


def plain(message: Any) -> dict[str, Any]:
    """A message as an object; from a class of pydantic's, too, without what it does not tell."""
    if hasattr(message, "model_dump"):
        message = message.model_dump(exclude_none=True)
    if not isinstance(message, Mapping):
        return {"role": "", "content": str(message)}
    calls = message.get("tool_calls")
    return {**message, "tool_calls": [_call(call) for call in calls]} if calls else dict(message)


def divide(messages: Sequence[Any]) -> tuple[Messages, Messages]:
    """The turns before the assistant's last, and that as a sample; an empty chat where the assistant said nothing,
    which cannot be graded."""
    turns = [plain(message) for message in messages]
    for index in range(len(turns) - 1, -1, -1):
        if turns[index].get("role") == "assistant":
            return turns[:index], [turns[index]]
    return turns, []


def _call(call: Any) -> dict[str, Any]:
    """A tool call as OpenAI writes it; some have name and arguments without an object around them."""
    fields = plain(call) if not isinstance(call, Mapping) else dict(call)
    if "function" in fields or "name" not in fields:
        return fields
    function = {"name": fields.pop("name"), "arguments": fields.pop("arguments", "")}
    return {"type": "function", **fields, "function": function}
