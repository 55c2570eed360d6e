"""What a reward is held against: what people said of the answers of a series of runs, or what another judge says."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.judges.base import Budget, Judge
from fairmark.spec import GraderSpec
from fairmark.trust.asking import Answers, Ask, ask_all
from fairmark.trust.labelled import Labelled, LabelledRow, answer_key
from fairmark.trust.picking import shared_items
from fairmark.trust.results import GradedRow, GradedRun
from fairmark.trust.subject import FAIL, PASS, Subject

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


def gold_of_people(
    labelled: Labelled, low: float, high: float, passing: Collection[str] = (), failing: Collection[str] | None = None
) -> dict[bytes, float]:
    """By the key of the answer, as a share of the range. `passing`: the labels that pass, beside `pass`; `failing`:
    those that fail, beside `fail`; without it, all others, where some are said to pass.

    Raises InvalidData, with the line, of a label that says neither and of a score outside the range; of preferences.
    """
    if labelled.kind == "preferred":
        raise InvalidData(f"{labelled.name}: preferences are no gold for single answers.")
    golds = {}
    for row in labelled.rows:
        human = row.human
        if human is None:
            continue
        if labelled.kind == "score":
            unit = _share(labelled, row, human, low, high)
        elif human == PASS or human in passing:
            unit = 1.0
        elif human == FAIL or (bool(passing) if failing is None else human in failing):
            unit = 0.0
        else:
            own = ", ".join([*passing, *(failing or ())])
            hint = f" It takes those, or the grader's own: {own}." if own else ""
            hint = " Say which labels pass: --passing." if failing is None else hint
            raise InvalidData(
                f"{labelled.name}, line {row.number}: label: {jsontext.quote(human)} is neither pass nor fail.{hint}",
                row.number,
            )
        golds[answer_key(row.item, row.sample)] = unit
    return golds


def _share(labelled: Labelled, row: LabelledRow, human: float, low: float, high: float) -> float:
    if not low <= human <= high:
        raise InvalidData(
            f"{labelled.name}, line {row.number}: score: {human:g} is outside the range of the reward, {low:g} to "
            f"{high:g}.",
            row.number,
        )
    return (human - low) / (high - low)


def labels_of(spec: GraderSpec | None) -> tuple[Collection[str], Collection[str]]:
    """The labels of a grader that pass, and those that fail; none where it has none of its own."""
    labels = getattr(spec, "labels", None)
    passing = getattr(spec, "passing_labels", None)
    if not isinstance(labels, (list, tuple)) or not isinstance(passing, (list, tuple)):
        return (), ()
    return passing, [label for label in labels if label not in passing]


def check_comparable(steps: Sequence[GradedRun], gold: Mapping[bytes, float], name: str) -> None:
    """Raises InvalidData where labels say nothing of these runs: no alarm would then be no good news."""
    labelled = [{answer_key(row.item, None) for row in step.graded if row.key in gold} for step in steps]
    if not any(labelled):
        raise InvalidData(
            f"{name}: none of its labels belongs to a graded answer of these runs. item and sample have to be as they "
            "are there."
        )
    if not any(len(labelled[0] & later) > 1 for later in labelled[1:]):
        counts = ", ".join(f"{step.name} {len(items)}" for step, items in zip(steps, labelled, strict=True))
        raise InvalidData(
            f"{name}: the same items have to be labelled at the first step and at a later one, two of them or more. "
            f"Labelled items: {counts}."
        )


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
