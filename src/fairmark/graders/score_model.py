"""score_model: a judge gives a number. The reward is that number, clamped to the range."""

import builtins
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import InvalidGrader, NotAnAnswer, Problem
from fairmark.graders.judging import ModelGrader, Reading, answer_schema, grade_by_judges, result_of, steps_of
from fairmark.result import Grade
from fairmark.row import Row

DEFAULT_RANGE = (0.0, 1.0)


def _read_range(bounds: Any) -> tuple[float, float]:
    if bounds is None:
        return DEFAULT_RANGE
    match bounds:
        case [low, high] if (first := _bound(low)) is not None and (second := _bound(high)) is not None:
            if first < second:
                return first, second
    shown = jsontext.shorten(jsontext.write(bounds), 60)
    raise InvalidGrader.at("", f"found {shown}. It takes two ascending numbers: [0, 1].")


def _bound(value: Any) -> float | None:
    return None if isinstance(value, str) else _number(value)


@dataclass(frozen=True, slots=True)
class ScoreShape:
    """A number, with bounds for models that respect them."""

    low: float
    high: float
    schema: Mapping[str, Any]
    name: str = "score"

    @classmethod
    def between(cls, low: float, high: float) -> "ScoreShape":
        return cls(low, high, answer_schema({"type": "number", "minimum": low, "maximum": high}))

    def read(self, value: Any) -> dict[str, Any]:
        result = result_of(value)
        number = _number(result)
        if number is None:
            raise NotAnAnswer(f"the result is {jsontext.describe(result)}, not a number")
        return {"steps": steps_of(value), "result": number}

    def read_bare(self, text: str) -> dict[str, Any] | None:
        number = _number(text)
        return None if number is None else {"steps": [], "result": number}


def _number(value: Any) -> float | None:
    """A finite number, also written as a string; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*", value):
        value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    return None


class ScoreModel(ModelGrader):
    """Ask a judge model for a number in a range."""

    type: Literal["score_model"]
    range: Annotated[tuple[float, float], PlainValidator(_read_range), PlainSerializer(list)] = DEFAULT_RANGE

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.range

    @property
    def threshold(self) -> float:
        return sum(self.range) / 2 if self.pass_threshold is None else self.pass_threshold

    @property
    def worth(self) -> Mapping[str, float]:
        low, high = (int(bound) for bound in self.range)
        return {str(value): float(value) for value in builtins.range(low, high + 1)}

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        yield from super().cross_check(fields)
        if not fields.get("logprobs"):
            return
        if fields["logprobs"] == "letters":
            yield Problem(".logprobs", "letters are for labels. It takes true or false.")
            return
        match fields.get("range"):
            case [int() | float() as low, int() | float() as high] if low == int(low) and high == int(high):
                if low >= 0 and high <= 9:
                    return
        yield Problem(
            ".logprobs",
            "it takes a range of whole numbers with one digit each, such as [0, 9] or [1, 5]: with others several "
            "numbers begin with the same token. For those set n and take the mean.",
        )

    @cached_property
    def shape(self) -> ScoreShape:
        return ScoreShape.between(*self.range)

    def warnings(self) -> Iterator[str]:
        yield from super().warnings()
        low, high = self.range
        if self.range is DEFAULT_RANGE:  # nobody set it; [0, 1] in the JSON is another tuple
            for least, most in (scale for template in self.input.templates for scale in _scales(template.source)):
                if most > high or least < low:
                    yield (
                        "$.range: not set, so the judge's number is clamped to 0 to 1; but the prompt names a scale "
                        f'of {least:g} to {most:g}. Set "range": [{least:g}, {most:g}].'
                    )
                    break


# "1 to 5", "1-5", "1 (bad) to 5 (good)": with a word beside it that makes it a scale, and not as a length or a time.
_WORDS = r"(?:scale|scores?|rate|ratings?|ranges?|ranging|grades?|marks?|number|integer|points?|values?|stars?)"
_TWO = (
    r"(?<![\d.])(-?\d+(?:\.\d+)?)(?:\s*\([^()\n]{1,40}\))?\s*(?:-|–|—|to|and|\.\.\.?|through|…)\s*(\d+(?:\.\d+)?)\b"
    r"(?!\s+(?:\w+\s+)?(?:words?|sentences?|paragraphs?|lines?|pages?|characters?|tokens?|bullets?|steps?|examples?"
    r"|items?|times|people|seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b)"
)
_SCALES = (
    rf"\b{_WORDS}\b[^.\n\d]{{0,60}}?{_TWO}",
    rf"{_TWO}[\s-]{{1,3}}(?:point\s+)?{_WORDS}\b",
    rf"\b{_WORDS}\b[^.\n]{{0,60}}?\bout of ()(\d+)\b",
)


def _scales(text: str) -> Iterator[tuple[float, float]]:
    for pattern in _SCALES:
        for match in re.finditer(pattern, text, re.IGNORECASE):  # compiled here: only validation needs it
            low, high = float(match[1] or 0), float(match[2])
            if low < high <= 1000:
                yield low, high


async def grade_many(spec: ScoreModel, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    low, high = spec.range

    def read(value: Mapping[str, Any]) -> Reading:
        number: float = value["result"]
        reward = min(max(number, low), high)
        warning = None
        if reward != number:
            warning = (
                f"the judge's number {number:g} is outside the range {low:g} to {high:g} and was taken as {reward:g}."
            )
        return Reading(reward, number, warning)

    return await grade_by_judges(spec, spec.shape, read, rows, ctx)
