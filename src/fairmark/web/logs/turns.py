"""A stored exchange as the turns of a conversation: who said what, and which tools were called."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.judges.responses import as_chat, as_messages
from fairmark.row import content_text
from fairmark.store import StoredCompletion

LONGEST = 20_000
"""Characters of a turn that are shown."""
MOST = 200


class LogTurn(NamedTuple):
    role: str
    text: str
    missing: int
    """How many more characters there are."""
    calls: Sequence[Any]
    is_answer: bool = False


def turns(completion: StoredCompletion, inputs: Sequence[Any]) -> list[LogTurn]:
    """What was asked and what was answered; the last ones where there are very many."""
    said = jsontext.decode(completion.body)
    asked: Sequence[Any] = inputs
    if completion.kind == "response":
        request = jsontext.decode(completion.request)
        instructions = (request.get("instructions") if isinstance(request, dict) else None) or said.get("instructions")
        first = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
        asked, said = [*first, *as_messages(inputs)], as_chat(said)
    shown = [_turn(message) for message in asked if isinstance(message, dict)]
    shown += [_turn(message, is_answer=True) for message in _answers(said)]
    return shown[-MOST:]


def opening(completion: StoredCompletion, inputs: Sequence[Any]) -> str:
    """What was asked last, for a list."""
    asked = [turn for turn in turns(completion, inputs) if not turn.is_answer]
    users = [turn for turn in asked if turn.role == "user" and turn.text]
    return (users or asked or [LogTurn("", "", 0, ())])[-1].text


def _answers(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = [choice for choice in said.get("choices") or [] if isinstance(choice, dict)]
    messages = [choice["message"] for choice in choices if isinstance(choice.get("message"), dict)]
    hosted = said.get("output_tools")
    if hosted and messages:
        messages[0] = {**messages[0], "tool_calls": hosted}
    return messages


def _turn(message: Mapping[str, Any], is_answer: bool = False) -> LogTurn:
    content = message.get("content_parts") or message.get("content")
    text = content_text(content) or message.get("refusal") or ""
    if not isinstance(text, str):
        text = jsontext.write(text)
    role, calls = message.get("role"), message.get("tool_calls")
    return LogTurn(
        role if isinstance(role, str) else "other",
        text[:LONGEST],
        max(0, len(text) - LONGEST),
        calls if isinstance(calls, list) else (),
        is_answer,
    )
