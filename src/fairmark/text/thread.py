"""Threads: a conversation and its metadata, as function graders and the judges of conversations see a row."""

from typing import Any, NamedTuple

from fairmark.row import Row, content_text

QUESTIONS = ("prompt", "question", "input")


class Thread(NamedTuple):
    """Turns as (role, content) pairs. The last one, if it is the assistant's, is the completion under test."""

    turns: list[tuple[str, str]]
    metadata: dict[str, Any]

    @property
    def completion(self) -> str | None:
        """The text of the last turn if the assistant spoke it."""
        return self.turns[-1][1] if self.turns and self.turns[-1][0] == "assistant" else None

    @property
    def history(self) -> list[tuple[str, str]]:
        """All turns but the completion."""
        return self.turns if self.completion is None else self.turns[:-1]

    @property
    def last_user(self) -> int | None:
        """Where the user's last turn stands."""
        return next((index for index in reversed(range(len(self.turns))) if self.turns[index][0] == "user"), None)

    @property
    def question(self) -> str | None:
        """What the user said last."""
        return None if self.last_user is None else self.turns[self.last_user][1]


def thread_of(row: Row) -> Thread:
    """A row as a thread.

    The conversation is `item.messages` or `item.turns` (objects with role and content, or pairs); without them a user
    turn from `item.prompt`, `item.question` or `item.input`. The sample, if there is one, is the completion. The
    metadata is `item.metadata` where that is an object, else the item without its conversation.
    """
    item = row.item
    messages = item.get("messages") or item.get("turns")
    turns = [turn for turn in map(_turn, messages) if turn] if isinstance(messages, list) else []
    if not turns:
        question = next((item[name] for name in QUESTIONS if isinstance(item.get(name), str)), None)
        turns = [("user", question)] if question is not None else []
    if not row.sample.is_absent:
        turns.append(("assistant", row.sample.text))
    metadata = item.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {key: value for key, value in item.items() if key not in {"messages", "turns"}}
    return Thread(turns, metadata)


def _turn(turn: Any) -> tuple[str, str] | None:
    match turn:
        case {"role": str() as role, **rest}:
            content = content_text(rest.get("content"))
        case [str() as role, content]:
            pass
        case _:
            return None
    return (role, content if isinstance(content, str) else str(content))
