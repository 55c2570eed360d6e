"""label_model: a judge picks a label. The reward is 1.0 if it is a passing one, else 0.0."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import PlainSerializer, PlainValidator

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import InvalidGrader, NotAnAnswer, Problem
from fairmark.graders.judging import (
    ModelGrader,
    Reading,
    answer_schema,
    grade_by_judges,
    read_names,
    result_of,
    steps_of,
)
from fairmark.judges.logprobs import one_token_each
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.text.messages import Fence


def _read_labels(value: Any) -> tuple[str, ...]:
    labels = read_names(value)
    if not labels:
        raise InvalidGrader.at("", "found an empty list. It takes at least one label.")
    twice = next((label for index, label in enumerate(labels) if label in labels[:index]), None)
    if twice is not None:
        raise InvalidGrader.at("", f"found {jsontext.quote(twice)} twice. Each label stands once.")
    return labels


Labels = Annotated[Sequence[str], PlainValidator(_read_labels), PlainSerializer(list)]


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class LabelShape:
    """One of some labels: exactly, else without regard to case and blanks around it."""

    labels: tuple[str, ...]
    words: tuple[str, ...]
    """What a judge may say."""
    schema: Mapping[str, Any]
    name: str = "label"

    @classmethod
    def among(cls, labels: Sequence[str]) -> Self:
        return cls._of(labels, labels)

    @classmethod
    def _of(cls, labels: Sequence[str], words: Sequence[str]) -> Self:
        return cls(tuple(labels), tuple(words), answer_schema({"type": "string", "enum": list(words)}))

    def read(self, value: Any) -> dict[str, Any]:
        result = result_of(value)
        label = self._label(result)
        if label is None:
            shown = jsontext.quote(result) if isinstance(result, str) else jsontext.describe(result)
            raise NotAnAnswer(f"the {self.name} is {shown}, not one of: {', '.join(self.words)}")
        return {"steps": steps_of(value), "result": label}

    def read_bare(self, text: str) -> dict[str, Any] | None:
        label = self._label(text)
        return None if label is None else {"steps": [], "result": label}

    def _label(self, word: Any) -> str | None:
        if not isinstance(word, str):
            return None
        if word in self.labels:
            return word
        near = word.strip().casefold()
        return next((label for label in self.labels if label.strip().casefold() == near), None)


@dataclass(frozen=True, slots=True)
class LetterShape(LabelShape):
    """A letter that stands for a label: one token each, whatever the labels are."""

    name: str = "letter"

    @classmethod
    def among(cls, labels: Sequence[str]) -> Self:
        return cls._of(labels, LETTERS[: len(labels)])

    def _label(self, word: Any) -> str | None:
        """By its letter; what is in the cache is the label itself."""
        if not isinstance(word, str):
            return None
        letter = word.strip().rstrip(").").upper()
        place = LETTERS.find(letter) if len(letter) == 1 else -1
        if 0 <= place < len(self.labels):
            return self.labels[place]
        return word if word in self.labels else None


class LabelModel(ModelGrader):
    """Ask a judge model for a label; the reward is 1 if it is a passing one."""

    type: Literal["label_model"]
    labels: Labels
    passing_labels: Labels

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        if self.pass_threshold is not None:
            return self.pass_threshold
        # A mean of several answers and an expectation lie between 0 and 1; everything else is 0 or 1.
        return 0.5 if self.combine == "mean" or self.logprobs else 1.0

    @cached_property
    def shape(self) -> LabelShape:
        return LetterShape.among(self.labels) if self.logprobs == "letters" else LabelShape.among(self.labels)

    @property
    def worth(self) -> Mapping[str, float]:
        texts = LETTERS if self.logprobs == "letters" else self.labels
        return {text: float(label in self.passing_labels) for text, label in zip(texts, self.labels, strict=False)}

    def messages(self, row: Row, fence: Fence | None = None) -> list[dict[str, Any]]:
        messages = super().messages(row, fence)
        if self.logprobs != "letters":
            return messages
        listed = "\n".join(f"{letter}) {label}" for letter, label in zip(LETTERS, self.labels, strict=False))
        return [*messages, {"role": "user", "content": f"Give your result as one of these letters:\n{listed}"}]

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        yield from super().cross_check(fields)
        labels, passing = fields.get("labels"), fields.get("passing_labels")
        yield from _wrong_logprobs(fields.get("logprobs"), labels)
        if isinstance(labels, (list, tuple)) and isinstance(passing, (list, tuple)):
            for index, label in enumerate(passing):
                if isinstance(label, str) and label not in labels:
                    allowed = ", ".join(str(known) for known in labels)
                    shown = jsontext.quote(label)
                    yield Problem(f".passing_labels[{index}]", f"{shown} is not one of the labels: {allowed}.")


def _wrong_logprobs(logprobs: Any, labels: Any) -> Iterator[Problem]:
    if not isinstance(labels, (list, tuple)) or not all(isinstance(label, str) for label in labels):
        return
    if logprobs is True:
        begins = one_token_each(labels)
        if begins is not None:
            shown = jsontext.quote(begins)
            yield Problem(".logprobs", f'another label begins with {shown}, and so may its token. Set "letters".')
    if logprobs == "letters" and any(label.strip().upper() in LETTERS for label in labels if len(label.strip()) == 1):
        yield Problem(".logprobs", "the labels are letters already. It takes true.")
    if logprobs == "letters" and len(labels) > len(LETTERS):
        yield Problem(".logprobs", f"there are {len(LETTERS)} letters and {len(labels)} labels.")


async def grade_many(spec: LabelModel, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    passing = frozenset(spec.passing_labels)

    def read(value: Mapping[str, Any]) -> Reading:
        return Reading(float(value["result"] in passing), value["result"])

    return await grade_by_judges(spec, spec.shape, read, rows, ctx)
