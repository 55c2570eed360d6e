"""label_model: a judge picks a label. The reward is 1.0 if it is a passing one, else 0.0."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

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
from fairmark.result import Grade
from fairmark.row import Row


def _read_labels(given: Any) -> tuple[str, ...]:
    labels = read_names(given)
    if not labels:
        raise InvalidGrader.at("", "found an empty list. It takes at least one label.")
    twice = next((label for index, label in enumerate(labels) if label in labels[:index]), None)
    if twice is not None:
        raise InvalidGrader.at("", f"found {jsontext.quote(twice)} twice. Each label stands once.")
    return labels


Labels = Annotated[Sequence[str], PlainValidator(_read_labels), PlainSerializer(list)]


@dataclass(frozen=True, slots=True)
class LabelShape:
    """One of some labels: exactly, else without regard to case and blanks around it."""

    labels: tuple[str, ...]
    schema: Mapping[str, Any]
    name: str = "label"

    @classmethod
    def among(cls, labels: Sequence[str]) -> "LabelShape":
        return cls(tuple(labels), answer_schema({"type": "string", "enum": list(labels)}))

    def read(self, value: Any) -> dict[str, Any]:
        result = result_of(value)
        label = self._label(result)
        if label is None:
            found = jsontext.quote(result) if isinstance(result, str) else jsontext.describe(result)
            raise NotAnAnswer(f"the label is {found}, not one of: {', '.join(self.labels)}")
        return {"steps": steps_of(value), "result": label}

    def read_bare(self, text: str) -> dict[str, Any] | None:
        label = self._label(text)
        return None if label is None else {"steps": [], "result": label}

    def _label(self, found: Any) -> str | None:
        if not isinstance(found, str):
            return None
        if found in self.labels:
            return found
        near = found.strip().casefold()
        return next((label for label in self.labels if label.strip().casefold() == near), None)


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
        # A mean of several answers lies between 0 and 1; everything else is 0 or 1.
        return 0.5 if self.combine == "mean" else 1.0

    @cached_property
    def shape(self) -> LabelShape:
        return LabelShape.among(self.labels)

    @classmethod
    def cross_check(cls, given: dict[str, Any]) -> Iterator[Problem]:
        yield from super().cross_check(given)
        labels, passing = given.get("labels"), given.get("passing_labels")
        if isinstance(labels, (list, tuple)) and isinstance(passing, (list, tuple)):
            for index, label in enumerate(passing):
                if isinstance(label, str) and label not in labels:
                    allowed = ", ".join(str(each) for each in labels)
                    found = jsontext.quote(label)
                    yield Problem(f".passing_labels[{index}]", f"{found} is not one of the labels: {allowed}.")


async def grade_many(spec: LabelModel, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    passing = frozenset(spec.passing_labels)

    def read(value: Mapping[str, Any]) -> Reading:
        return Reading(float(value["result"] in passing), value["result"])

    return await grade_by_judges(spec, spec.shape, read, rows, ctx)
