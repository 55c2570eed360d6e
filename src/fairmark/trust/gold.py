"""What a reward is held against: what people said of the answers of a series of runs, or what another judge says."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairmark.errors import InvalidData
from fairmark.judges.base import Budget, Judge
from fairmark.spec import GraderSpec
from fairmark.trust.asking import Answers, Ask, ask_all
from fairmark.trust.labelled import Labelled, answer_key
from fairmark.trust.picking import shared_items
from fairmark.trust.results import GradedRow, GradedRun
from fairmark.trust.subject import PASS, Subject

ITEMS = 50
"""How many items the gold grader judges at every step, where nobody says otherwise."""
MOST_FAILED = 0.1


class GoldAsked(NamedTuple):
    """What a gold grader said, by the key of the answer, as a share of its range; and what it took."""

    gold: Mapping[bytes, float]
    asked: int
    failed: int
    failure: str | None
    """What most of those that failed say."""
    not_asked: int
    """For want of budget."""
    tokens: int
    dollars: float | None

    @property
    def is_answered(self) -> bool:
        return self.failed <= MOST_FAILED * max(1, self.asked)


def gold_of_people(labelled: Labelled, low: float, high: float) -> dict[bytes, float]:
    """By the key of the answer, as a share of the range. Raises InvalidData for preferences."""
    if labelled.kind == "preferred":
        raise InvalidData(f"{labelled.name}: preferences are no gold for single answers.")
    golds = {}
    for row in labelled.rows:
        human = row.human
        if human is not None:
            unit = (human - low) / (high - low) if labelled.kind == "score" else float(human == PASS)
            golds[answer_key(row.item, row.sample)] = unit
    return golds


def gold_asks(steps: Sequence[GradedRun], items: int) -> list[tuple[GradedRow, Ask]]:
    """The answers to the same items at every step, and the question about each. Raises InvalidData where the runs have
    no item in common."""
    rows = [row for step in shared_items(steps, items) for row in step]
    return [(row, Ask("gold", "", place, row.item, row.sample)) for place, row in enumerate(rows)]


async def gold_of_judge(
    gold: GraderSpec,
    asks: Sequence[tuple[GradedRow, Ask]],
    judge: Judge | None = None,
    budget: Budget | None = None,
    answers: Answers | None = None,
    on_answer: Callable[[int], None] | None = None,
    owner: str = "",
) -> GoldAsked:
    """The rest as in `ask_all`: what `answers` holds is not asked again."""
    known: Answers = {} if answers is None else answers
    low, high = gold.reward_range or (0.0, 1.0)
    subject = Subject(gold, "score", low, high, (low + high) / 2)
    await ask_all(subject, [ask for _, ask in asks], known, judge, budget, on_answer, owner)
    unique = {ask.key: row for row, ask in asks}
    said = {key: known[key] for key in unique if key in known}
    failures = [answer.error or answer.skipped or "no reward" for answer in said.values() if not answer.ok]
    costs = [answer.cost for answer in said.values() if answer.cost is not None]
    return GoldAsked(
        {unique[key].key: subject.unit(answer.reward) for key, answer in said.items() if answer.reward is not None},
        len(said),
        len(failures),
        max(failures, key=failures.count) if failures else None,
        len(unique) - len(said),
        sum(answer.tokens for answer in said.values()),
        sum(costs) if costs else None,
    )
