"""Where in a row the answer, the question, the reference and the two sides of a pair stand, and how to change them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairmark.errors import GradingFailed, InvalidData
from fairmark.row import is_chat, read_sample

SAMPLE = "sample"
QUESTIONS = ("question", "prompt", "query", "instruction", "problem", "task", "input", "messages")
REFERENCES = (
    "reference", "reference_answer", "correct_answer", "expected", "expected_answer", "expected_output", "ideal",
    "ground_truth", "gold", "target", "solution", "answer",
)  # fmt: skip


def read_path(option: str, text: str) -> tuple[str, ...]:
    """`item.a.b` as its steps below the item. Raises InvalidData."""
    head, *steps = text.strip().strip("{} ").split(".")
    if head != "item" or not steps or not all(steps):
        raise InvalidData(f"{option}: found {text!r}. It takes a path into the item, such as item.reference.")
    return tuple(steps)


def value_at(item: Any, path: Sequence[str]) -> Any:
    for step in path:
        if not isinstance(item, Mapping):
            return None
        item = item.get(step)
    return item


def with_value(item: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy of the item with another value there."""
    first, *rest = path
    if not rest:
        return {**item, first: value}
    inner = item.get(first)
    return {**item, first: with_value(inner if isinstance(inner, Mapping) else {}, rest, value)}


def as_text(value: Any) -> str | None:
    """A text, the first of several, or the last of the user's words; None of whatever else."""
    if isinstance(value, str):
        return value
    if is_chat(value):
        said = [message.get("content") for message in value if message.get("role") == "user"]
        return as_text(said[-1]) if said else None
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], str):
        return value[0]
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Places:
    """Paths into the item; None is where they are usually found. The answer is the sample where no path is set."""

    answer: tuple[str, ...] | None = None
    question: tuple[str, ...] | None = None
    reference: tuple[str, ...] | None = None
    pair: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def answer_of(self, item: Mapping[str, Any], sample: Any) -> str | None:
        """The answer under judgement, None where the row has none."""
        if self.answer is not None:
            return as_text(value_at(item, self.answer))
        try:
            read = read_sample(sample)
        except GradingFailed:
            return None
        return None if read.is_absent else read.text

    def with_answer(self, item: Mapping[str, Any], sample: Any, text: str) -> tuple[Mapping[str, Any], Any]:
        """The row with another answer in the place of its own."""
        if self.answer is not None:
            return with_value(item, self.answer, text), sample
        return item, text

    def question_of(self, item: Mapping[str, Any]) -> str | None:
        return _first(item, self.question, QUESTIONS)

    def reference_of(self, item: Mapping[str, Any]) -> str | None:
        reference = _first(item, self.reference, REFERENCES)
        return reference if reference and reference.strip() else None

    def exchanged(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """The item with the two sides of its pair exchanged; None where it has none."""
        first, second = self.pair or (("a",), ("b",))
        one, other = value_at(item, first), value_at(item, second)
        if one is None or other is None:
            return None
        return with_value(with_value(item, first, other), second, one)

    def with_pair(self, item: Mapping[str, Any], samples: Mapping[str, Any]) -> dict[str, Any]:
        """The item with two samples where its pair is looked for."""
        first, second = self.pair or (("a",), ("b",))
        return with_value(with_value(item, first, samples["a"]), second, samples["b"])


def _first(item: Mapping[str, Any], path: tuple[str, ...] | None, usual: Sequence[str]) -> str | None:
    if path is not None:
        return as_text(value_at(item, path))
    return next((text for name in usual if (text := as_text(item.get(name))) is not None), None)
