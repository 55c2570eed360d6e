"""preference: a judge says which of two answers is better. The reward is the share of preferences that the first wins.

Judges like what stands first, or second: each is asked in both orders, and what differs between them is half a win.
A grader that names no two answers compares the sample with each of `item.rivals`, as trainers bring them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, NotAnAnswer, Problem
from fairmark.graders.judging import (
    PanelGrader,
    Reading,
    answer_schema,
    grade_by_questions,
    questions_of,
    result_of,
    steps_of,
)
from fairmark.judges.base import Question
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.text.messages import Fence
from fairmark.text.template import Template

A, B = "{{ item.a }}", "{{ item.b }}"
MOST_RIVALS = 62
WON = {"a": 1.0, "tie": 0.5, "b": 0.0}
CLEARLY = 0.75
"""What passes where nobody says: a win in one order, and at least a tie in the other."""
_PLACES = ("first", "second", "tie")
_SYSTEM = (
    "You compare two answers by a criterion. Judge the answers alone: neither the place where one stands nor its "
    "length nor its markup is a merit. Say tie only where neither is better."
)


@dataclass(frozen=True, slots=True)
class SideShape:
    """Which place won, read as which answer did: `exchanged`, the second answer stands first."""

    exchanged: bool
    schema: Mapping[str, Any]
    name: str = "preference"

    def read(self, value: Any) -> dict[str, Any]:
        result = result_of(value)
        place = _place(result)
        if place is None and result in WON:
            # Read before, and kept: the same question may have been asked for the other answer's sake, whose side is
            # the other one. The place is what was said.
            place = _place(value.get("place"))
        if place is None:
            shown = jsontext.quote(result) if isinstance(result, str) else jsontext.describe(result)
            raise NotAnAnswer(f"the result is {shown}, not one of: {', '.join(_PLACES)}")
        return self._value(steps_of(value), place)

    def read_bare(self, text: str) -> dict[str, Any] | None:
        place = _place(text)
        return None if place is None else self._value([], place)

    def _value(self, steps: list[dict[str, str]], place: str) -> dict[str, Any]:
        side = "tie" if place == "tie" else "a" if (place == "first") is not self.exchanged else "b"
        return {"steps": steps, "result": side, "place": place}


def _place(word: Any) -> str | None:
    place = word.strip().casefold() if isinstance(word, str) else ""
    return place if place in _PLACES else None


_SCHEMA = answer_schema({"type": "string", "enum": list(_PLACES)})
SHAPES = {exchanged: SideShape(exchanged, _SCHEMA) for exchanged in (False, True)}


def _read_criteria(criteria: Any) -> str:
    if not isinstance(criteria, str) or not criteria.strip():
        code = "invalid_value" if isinstance(criteria, str) else "invalid_type"
        shown = jsontext.describe(criteria)
        raise InvalidGrader.at("", f"found {shown}. It takes a string: what makes an answer the better one.", code)
    return criteria


def _read_most_rivals(count: Any) -> int:
    is_number = isinstance(count, int) and not isinstance(count, bool)
    if not is_number or not 2 <= count <= MOST_RIVALS or count % 2:
        shown = jsontext.describe(count)
        raise InvalidGrader.at("", f"found {shown}. It takes an even number from 2 to {MOST_RIVALS}.")
    return int(count)


class Preference(PanelGrader):
    """Ask a judge model which of two answers is better; the reward is the share that the first wins."""

    type: Literal["preference"]
    criteria: Annotated[str, PlainValidator(_read_criteria)]
    a: Template = Template(A)
    b: Template = Template(B)
    question: Template | None = None
    swap: Annotated[bool, Strict()] = True
    combine: Literal["mean", "median", "majority"] | None = "mean"
    most_rivals: Annotated[int, PlainValidator(_read_most_rivals)] = 4

    @property
    def is_relative(self) -> bool:
        """Whether it names no two answers of its own, and compares those that a row brings."""
        return (self.a.source, self.b.source) == (A, B)

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        yield from super().cross_check(fields)
        if fields.get("logprobs"):
            yield Problem(".logprobs", "this kind does not weigh its verdicts. Leave it out.")

    @property
    def answers(self) -> int:
        return super().answers * (2 if self.swap else 1)

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        return CLEARLY if self.pass_threshold is None else self.pass_threshold

    @property
    def labels(self) -> tuple[str, ...]:
        """What its verdicts are."""
        return tuple(WON)

    @property
    def sampling(self) -> dict[str, Any]:
        return {"temperature": 0, **super().sampling}

    def asked(self, row: Row, fence: Fence | None, *, exchanged: bool) -> list[dict[str, Any]]:
        """The messages in one of the two orders. Raises GradingFailed."""

        def filled(template: Template) -> str:
            return template.render(row) if fence is None else fence.render(template, row)

        first, second = (self.b, self.a) if exchanged else (self.a, self.b)
        parts = [f"Criterion: {self.criteria}"]
        if self.question is not None:
            parts.append(f"Question:\n{filled(self.question)}")
        parts += [f"First answer:\n{filled(first)}", f"Second answer:\n{filled(second)}", "Which is better?"]
        messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": "\n\n".join(parts)}]
        return messages if fence is None else [fence.notice(), *messages]

    def messages(self, row: Row, fence: Fence | None = None) -> list[dict[str, Any]]:
        return self.asked(row, fence, exchanged=False)

    def quoted(self, row: Row) -> list[str]:
        return [self.a.render(row), self.b.render(row)]


def _read(value: Mapping[str, Any]) -> Reading:
    return Reading(WON[value["result"]], value["result"])


async def grade_many(spec: Preference, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    def ask(row: Row) -> list[Question]:
        orders = (False, True) if spec.swap else (False,)
        return [
            question
            for pair in _pairs(spec, row)
            for exchanged in orders
            for question in questions_of(spec, SHAPES[exchanged], pair, partial(spec.asked, exchanged=exchanged))
        ]

    grades = await grade_by_questions(spec, ask, _read, rows, ctx, shared=spec.is_relative)
    return [_with_equals(spec, row, grade) for row, grade in zip(rows, grades, strict=True)]


def _pairs(spec: Preference, row: Row) -> list[Row]:
    """The row itself; of one with rivals a row for each of them that says something else. Raises GradingFailed."""
    rivals = _rivals(spec, row)
    if rivals is None:
        return [row]
    own = row.sample.text
    return [Row({**row.item, "a": own, "b": rival}, row.sample) for rival in rivals if rival != own]


def _rivals(spec: Preference, row: Row) -> list[str] | None:
    """The answers that the sample is held against; None where the row brings two of its own."""
    if not spec.is_relative or "rivals" not in row.item:
        return None
    rivals = row.item["rivals"]
    if not isinstance(rivals, list) or not all(isinstance(rival, str) for rival in rivals):
        raise GradingFailed(f"item.rivals: found {jsontext.describe(rivals)}. It takes a list of texts.")
    if not rivals:
        raise GradingFailed("item.rivals: there is no other answer to compare with.")
    if len(rivals) > MOST_RIVALS:
        raise GradingFailed(f"item.rivals: found {len(rivals)}. It takes at most {MOST_RIVALS}.")
    if row.sample.is_absent:
        raise GradingFailed("there is no sample to compare with item.rivals.")
    return rivals


def _with_equals(spec: Preference, row: Row, grade: Grade) -> Grade:
    """Rivals that say the same are ties, of which nobody is asked. How far preferences against several rivals lie apart
    tells nothing about judges."""
    if grade.error is not None or grade.skipped is not None:
        return grade
    rivals = _rivals(spec, row)
    if rivals is None:
        return grade
    equal = rivals.count(row.sample.text)
    won = grade.reward * (len(rivals) - equal) + WON["tie"] * equal
    return grade._replace(reward=won / len(rivals), spread=None)
