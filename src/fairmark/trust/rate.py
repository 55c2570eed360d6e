"""What people would have said of a whole run, out of what the judge said of all rows and people of some."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from fairmark.data.corrected import FEWEST_LABELS, CorrectedRate, corrected_rate
from fairmark.errors import InvalidData
from fairmark.trust.labelled import Labelled, LabelledRow, answer_key
from fairmark.trust.results import GradedRow, GradedRun
from fairmark.trust.subject import FAIL, PASS


@dataclass(frozen=True)
class RunRate:
    """The judge's rate, and what it is when corrected. `unmatched`: labels whose answers are not in the run."""

    rate: CorrectedRate
    ungraded: int
    unmatched: int

    @property
    def words(self) -> str:
        rate = self.rate
        return (
            f"judge says {rate.judged:.1%}, corrected {rate.rate:.1%} ({rate.low:.1%} to {rate.high:.1%}), "
            f"from {rate.labels} labels"
        )

    def dump(self) -> dict[str, Any]:
        told = self.rate._asdict()
        alone = told.pop("labels_only")
        names = ("rate", "low", "high")
        return {
            "schema": 1,
            "object": "corrected_rate",
            **told,
            "labels_only": dict(zip(names, alone, strict=True)),
            "ungraded": self.ungraded,
            "unmatched": self.unmatched,
        }


def rate_of(run: GradedRun, labelled: Labelled, passing: Collection[str] = ()) -> RunRate:
    """`passing`: which labels count as passed, beside `pass`. Raises InvalidData where the labels do not allow it."""
    known = {row.key: row for row in run.graded}
    by_label: list[tuple[LabelledRow, GradedRow]] = []
    unmatched = 0
    for row in labelled.rows:
        if row.human is None:
            continue
        graded = known.pop(answer_key(row.item, row.sample), None)
        if graded is None:
            unmatched += 1
        else:
            by_label.append((row, graded))
    if len(by_label) < FEWEST_LABELS:
        raise InvalidData(
            f"{labelled.name}: {len(by_label)} labels belong to graded answers of {run.name}, {unmatched} to none; it "
            f"takes {FEWEST_LABELS}."
        )
    weights = _weights([row for row, _ in by_label], labelled.name)
    human = [_human(row, labelled, passing) for row, _ in by_label]
    judge = [_judged(graded, labelled.kind) for _, graded in by_label]
    # Rows that were picked with a chance stand for all rows: what the judge says of everything is then the whole.
    others = run.graded if weights is not None else list(known.values())
    rate = corrected_rate(human, judge, [_judged(row, labelled.kind) for row in others], weights=weights)
    return RunRate(rate, len(run.rows) - len(run.graded), unmatched)


def _weights(rows: list[LabelledRow], name: str) -> list[float] | None:
    weighted = [row for row in rows if row.weight is not None]
    chosen = next((row for row in rows if row.weight is None and row.picked not in (None, "random")), None)
    if chosen is not None:
        raise InvalidData(
            f"{name}, line {chosen.number}: this row was picked for being {chosen.picked} and has no weight: such rows "
            "say nothing of the others. Take rows at random, or keep the weight that fairmark label next wrote.",
            chosen.number,
        )
    if not weighted:
        return None
    bare = next((row for row in rows if row.weight is None), None)
    if bare is not None:
        raise InvalidData(f"{name}, line {bare.number}: it has no weight, and others have.", bare.number)
    return [row.weight or 1.0 for row in rows]


def _human(row: LabelledRow, labelled: Labelled, passing: Collection[str]) -> float:
    human = row.human
    if labelled.kind == "score":
        if not 0 <= human <= 1:
            raise InvalidData(
                f"{labelled.name}, line {row.number}: score: {human:g} is no share from 0 to 1.", row.number
            )
        return float(human)
    if human == PASS or human in passing:
        return 1.0
    if human == FAIL or passing:
        return 0.0
    raise InvalidData(
        f"{labelled.name}, line {row.number}: label: {human!r} is neither pass nor fail. Say which pass: --passing.",
        row.number,
    )


def _judged(row: GradedRow, kind: str | None) -> float:
    if kind != "score" and row.passed is not None:
        return float(row.passed)
    reward = row.reward or 0.0
    if not 0 <= reward <= 1:
        raise InvalidData(f"a reward of {reward:g} is no share from 0 to 1, and its grader has no pass_threshold.")
    return reward
