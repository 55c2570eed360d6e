"""The part of `adaptive_harmony` that function graders know: a conversation and its metadata."""

import json
from typing import Any, NamedTuple

__all__ = ["StringThread", "StringTurn"]


class StringTurn(NamedTuple):
    """One turn of a conversation; unpacks as a pair."""

    role: str
    content: str


class StringThread:
    """A conversation. The last turn, if it is the assistant's, is the completion under test."""

    def __init__(self, turns: Any = None, metadata: Any = None) -> None:
        self._turns = [StringTurn(str(role), str(content)) for role, content in turns or []]
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._uuid: str | None = None

    @classmethod
    def with_metadata(cls, turns: Any, metadata: Any) -> "StringThread":
        return cls(turns, metadata)

    def completion(self) -> str | None:
        """The text of the last turn if the assistant spoke it, else None."""
        last = self._turns[-1] if self._turns else None
        return last.content if last and last.role == "assistant" else None

    def messages(self) -> list[StringTurn]:
        """All turns but the completion."""
        return self._turns[:-1] if self.completion() is not None else list(self._turns)

    def get_turns(self) -> list[StringTurn]:
        return list(self._turns)

    def last_content(self) -> str:
        """The text of the last turn. An empty thread has none: IndexError."""
        return self._turns[-1].content

    def user(self, text: str) -> "StringThread":
        return self._and("user", text)

    def system(self, text: str) -> "StringThread":
        return self._and("system", text)

    def assistant(self, text: str) -> "StringThread":
        return self._and("assistant", text)

    def tool(self, text: str) -> "StringThread":
        return self._and("tool", text)

    def _and(self, role: str, text: str) -> "StringThread":
        return StringThread([*self._turns, (role, text)], self.metadata)

    def to_json(self) -> str:
        return json.dumps({"turns": [list(turn) for turn in self._turns], "metadata": self.metadata})

    @classmethod
    def from_json(cls, text: str) -> "StringThread":
        parts = json.loads(text)
        return cls(parts["turns"], parts["metadata"])

    def uuid(self) -> str | None:
        return self._uuid

    def __repr__(self) -> str:
        return f"StringThread({self._turns!r}, metadata={self.metadata!r})"
