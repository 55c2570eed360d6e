"""The responses API and the chat completions API, each in the words of the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairmark.row import content_text

# Texts, pictures and sound, as the two call them.
_LISTED_ONLY = frozenset({"mcp_list_tools", "mcp_approval_request"})


def as_chat(response: Mapping[str, Any]) -> dict[str, Any]:
    """A response as the chat completion that says the same. What only a response has stays beside: `output`, and
    `output_tools`, the calls of tools in their order, also of those that the provider has run itself."""
    output = [item for item in response.get("output") or [] if isinstance(item, Mapping)]
    tools = [_call(item) for item in output if _is_call(item)]
    functions = [_call(item) for item in output if item.get("type") == "function_call"]
    parts = [part for item in output if item.get("type") == "message" for part in _parts(item)]
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    refusal = "".join(part["refusal"] for part in parts if isinstance(part.get("refusal"), str))
    message: dict[str, Any] = {"role": "assistant", "content": text if parts else None, "refusal": refusal or None}
    if functions:
        message["tool_calls"] = functions
    return {
        "id": response.get("id"),
        "model": response.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(response, bool(functions))}]
        if output
        else [],
        "usage": _usage(response.get("usage")),
        "output": output,
        "output_text": text,
        "output_tools": tools,
    }


def _is_call(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith("_call") and kind not in _LISTED_ONLY


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    if item.get("type") != "function_call":
        return dict(item)
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = item.get("content")
    if isinstance(content, str):
        return [{"text": content}]
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _finish_reason(response: Mapping[str, Any], calls: bool) -> str:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if reason is not None:
        return "length" if reason == "max_output_tokens" else str(reason)
    return "tool_calls" if calls else "stop"


def _usage(given: Any) -> dict[str, Any] | None:
    if not isinstance(given, Mapping):
        return None
    details = given.get("input_tokens_details")
    return {
        "prompt_tokens": given.get("input_tokens", 0),
        "completion_tokens": given.get("output_tokens", 0),
        "total_tokens": given.get("total_tokens", 0),
        "prompt_tokens_details": dict(details) if isinstance(details, Mapping) else None,
    }


def as_items(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Chat messages as the input of a response."""
    items: list[dict[str, Any]] = []
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            text = content_text(content)
            output = {"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": text}
            items.append(output)
            continue
        if content:
            items.append({"role": role, "content": _blocks(content, role == "assistant")})
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            named = {"name": function.get("name"), "arguments": function.get("arguments")}
            items.append({"type": "function_call", "call_id": call.get("id"), **named})
    return items


def _blocks(content: Any, is_answer: bool) -> Any:
    if not isinstance(content, list):
        return content
    return [_block(part, is_answer) for part in content]


def _block(part: Any, is_answer: bool) -> Any:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "output_text" if is_answer else "input_text", "text": text}
        case {"type": "image_url", "image_url": {"url": str() as url} as image}:
            return {"type": "input_image", "image_url": url, "detail": image.get("detail") or "auto"}
        case {"type": "file", "file": dict() as file}:
            return {"type": "input_file", **file}
        case _:
            return part


def as_messages(items: Sequence[Any]) -> list[dict[str, Any]]:
    """The input of a response, or its output, as chat messages. What a model thought, and what its provider did for it,
    are none."""
    messages: list[dict[str, Any]] = []
    for item in items:
        match item:
            case {"role": str() as role}:
                messages.append({"role": role, "content": _plain(item.get("content"))})
            case {"type": "function_call"}:
                messages.append({"role": "assistant", "content": None, "tool_calls": [_call(item)]})
            case {"type": "function_call_output"}:
                call = {"role": "tool", "tool_call_id": item.get("call_id")}
                messages.append({**call, "content": _plain(item.get("output"))})
    return messages


def _plain(content: Any) -> Any:
    """A list of texts alone as one text, as people write it."""
    match content:
        case [{"text": str() as text}]:
            return text
        case list() if all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in content):
            return "\n".join(part["text"] for part in content)
        case list():
            return [_chat_block(part) for part in content]
        case _:
            return content


def _chat_block(part: Any) -> Any:
    match part:
        case {"type": "input_text" | "output_text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str() as url}:
            return {"type": "image_url", "image_url": {"url": url, "detail": part.get("detail") or "auto"}}
        case _:
            return part
