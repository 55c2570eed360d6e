"""What the probes of a check work on: the rows, which of them they ask about, and what is known of each."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fairmark.trust.asking import Ask
from fairmark.trust.labelled import Labelled, LabelledRow
from fairmark.trust.places import Places
from fairmark.trust.subject import PASS, Opinion, Subject, Variant

PROBE_ROWS = 100
FEW_ROWS = 20
"""What is so clear a case that it needs no more: nonsense, references, orders to the judge."""


@dataclass(frozen=True)
class Sheet:
    """Rows are named by their place. `answers` grows while the check goes on."""

    subject: Subject
    labelled: Labelled
    places: Places
    answers: Mapping[str, Opinion]
    seed: int = 0
    most_rows: int = PROBE_ROWS
    asked: dict[str, list[Ask]] = field(default_factory=dict)
    """What each probe wants to know."""

    @property
    def rows(self) -> Sequence[LabelledRow]:
        return self.labelled.rows

    def ask(self, probe: str, case: str, row: int, **changed: Any) -> Ask:
        """About a row as it is, but for what is changed."""
        item, sample = self.parts(row)
        return Ask(probe, case, row, changed.get("item", item), changed.get("sample", sample), **_rest(changed))

    def parts(self, row: int) -> tuple[Mapping[str, Any], Any]:
        """Item and sample as the grader gets them."""
        labelled = self.rows[row]
        if labelled.samples is not None:
            return self.places.with_pair(labelled.item, labelled.samples), labelled.sample
        return labelled.item, labelled.sample

    def with_answer(self, probe: str, case: str, row: int, text: str, variant: Variant = "") -> Ask:
        item, sample = self.places.with_answer(*self.parts(row), text)
        return Ask(probe, case, row, item, sample, variant)

    @cached_property
    def texts(self) -> list[str | None]:
        """The answer under judgement of each row."""
        return [self.places.answer_of(*self.parts(row)) for row in range(len(self.rows))]

    @cached_property
    def references(self) -> list[str | None]:
        return [self.places.reference_of(row.item) for row in self.rows]

    @cached_property
    def probed(self) -> list[int]:
        """The rows that probes ask about: over the whole span of what people said, the same ones every time."""
        return self.spread(range(len(self.rows)), self.most_rows)

    def spread(self, rows: Sequence[int], most: int) -> list[int]:
        """So many of the rows, evenly over what people said about them; the order of equals is shuffled."""
        order = list(rows)
        random.Random(self.seed).shuffle(order)
        if len(order) <= most:
            return sorted(order)
        order.sort(key=lambda row: _or(self.human_unit(row), 0.5))
        return sorted(order[math.floor((place + 0.5) * len(order) / most)] for place in range(most))

    def human_unit(self, row: int) -> float | None:
        """What people said as a share of the range; of labels, 1 or 0."""
        human = self.rows[row].human
        if human is None or self.subject.mode == "preference":
            return None
        if self.subject.mode == "score":
            return self.subject.unit(human)
        if self.subject.mode == "label":
            passing = getattr(self.subject.spec, "passing_labels", self.subject.labels)
            return float(human in passing)
        return float(human == PASS)

    def base(self, row: int) -> Opinion | None:
        """What the grader says of the row as it is; None where it said nothing."""
        return self.known(self.ask("base", "", row))

    def known(self, ask: Ask) -> Opinion | None:
        answer = self.answers.get(ask.key)
        return answer if answer is not None and answer.ok else None

    def unit(self, ask: Ask) -> float | None:
        """The reward as a share of the range; None where there is none."""
        answer = self.known(ask)
        return None if answer is None or answer.reward is None else self.subject.unit(answer.reward)

    def base_unit(self, row: int) -> float | None:
        return self.unit(self.ask("base", "", row))

    @cached_property
    def line_unit(self) -> float:
        return self.subject.unit(self.subject.line)

    def low_rows(self) -> list[int]:
        """The rows that were judged badly, the worst first: by people, else by the grader itself."""
        known = [(unit, row) for row in self.probed if (unit := self.human_unit(row)) is not None]
        if not known:
            known = [(unit, row) for row in self.probed if (unit := self.base_unit(row)) is not None]
        random.Random(self.seed).shuffle(known)
        low = sorted((pair for pair in known if pair[0] < self.line_unit), key=lambda pair: pair[0])
        return [row for _, row in low]


def _rest(changed: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changed.items() if name in ("variant", "repeat")}


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
