"""How labelling stands: who said how much, how far raters agree with each other, with themselves and with the judge,
and what of the judge's rate is left when people are asked."""

import asyncio
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairmark.data import agreement
from fairmark.data.corrected import FEWEST_LABELS
from fairmark.data.resampling import (
    FEWEST_GROUPS,
    FORMULA_FROM,
    bootstrap,
    kappa_interval,
    spearman_interval,
    table_interval,
)
from fairmark.errors import ApiError, InvalidData
from fairmark.evals.criteria import load_criteria
from fairmark.labelling import answers, rows
from fairmark.labelling.answers import JudgedRow
from fairmark.labelling.question import LabelQuestion, criteria_of
from fairmark.labelling.rows import RunLabels
from fairmark.store import Eval, Label, PushedScore, Run, Store
from fairmark.trust.labelled import Labelled, LabelledRow, Rating
from fairmark.trust.rate import RunRate, rate_of
from fairmark.trust.statistics import Statistic

if TYPE_CHECKING:
    from fairmark.data.agreement import Table
    from fairmark.data.intervals import Interval

_SEED = 0
"""The same figures for the same labels."""
Cell = tuple[Any, Any]
MOST_REDRAWN = 3_000
"""Ratings that are drawn again for an interval: of more, it would take seconds and tell little."""


class RaterCount(NamedTuple):
    rater: str
    labels: int
    median_s: float | None


class SplitRow(NamedTuple):
    """A row on which raters disagree."""

    idx: int
    said: list[tuple[str, str | float]]
    """Each rater and what they said."""


class LabelStanding(NamedTuple):
    """Of one subject."""

    ours: RunLabels
    rows: int
    raters: list[RaterCount]
    median_s: float | None
    between: Statistic | None
    """Of raters among themselves; None where no row has two of them."""
    themselves: Statistic | None
    """Of raters with themselves, on rows that came twice."""
    with_judge: Statistic
    split: list[SplitRow]
    rate: RunRate | None
    why_no_rate: str

    def dump(self) -> dict[str, Any]:
        return {
            "criterion": self.ours.question.name,
            "kind": self.ours.subject.kind,
            "rows": self.rows,
            "raters": [rater._asdict() for rater in self.raters],
            "median_s": self.median_s,
            "between_raters": None if self.between is None else self.between.dump(),
            "within_raters": None if self.themselves is None else self.themselves.dump(),
            "with_judge": self.with_judge.dump(),
            "disagreements": len(self.split),
        }


async def standing(store: Store, eval_: Eval, run: Run, ours: RunLabels) -> LabelStanding:
    judged = await answers.judged(store, run, ours.question)
    indexes = sorted({label.idx for label in ours.labels})
    said = await _verdicts(store, eval_, run, ours, judged, indexes)
    return await asyncio.to_thread(_standing, ours, judged, said)


async def _verdicts(
    store: Store, eval_: Eval, run: Run, ours: RunLabels, judged: dict[int, JudgedRow], indexes: Sequence[int]
) -> dict[int, Any]:
    """What the judge said of labelled rows, in the words of the labels."""
    question = ours.question
    if ours.subject.kind == "score":
        return {idx: judged[idx].reward for idx in indexes if idx in judged}
    if ours.subject.other is not None:
        return await _preferred(store, run, ours, judged, indexes)
    if question.kind == "preferred" or question.labels != ("pass", "fail"):
        labels = await answers.verdicts(store, run, criteria_of(eval_, run), question, indexes)
        if question.kind == "preferred" and _is_share(criteria_of(eval_, run), question):
            return {idx: _winner(judged[idx].reward, 0.5) for idx in indexes if idx in judged}
        if question.kind == "preferred":
            return {idx: label.strip().casefold() for idx, label in labels.items() if idx in judged}
        said = {label.value for label in ours.labels}
        if said <= set(question.labels):
            return {idx: label for idx, label in labels.items() if idx in judged}
    return {idx: "pass" if judged[idx].passed else "fail" for idx in indexes if idx in judged}


async def _preferred(
    store: Store, run: Run, ours: RunLabels, judged: dict[int, JudgedRow], indexes: Sequence[int]
) -> dict[int, Any]:
    """Which of two runs' answers the judge gives more."""
    other = await store.runs.find(run.project, ours.subject.other or "")
    if other is None:
        return {}
    partner = await store.comparison.partners(run, other)
    theirs = await answers.judged(store, other, ours.question)
    preferred = {}
    for idx in indexes:
        if idx in judged and partner.get(idx) in theirs:
            preferred[idx] = _winner(judged[idx].reward, theirs[partner[idx]].reward)
    return preferred


def _winner(here: float, there: float) -> str:
    return "tie" if here == there else "a" if here > there else "b"


def _is_share(criteria: Sequence[dict[str, Any]], question: LabelQuestion) -> bool:
    """Whether the reward says how often the first answer won."""
    return question.place is not None and load_criteria(criteria)[question.place].type == "preference"


def _standing(ours: RunLabels, judged: dict[int, JudgedRow], said: dict[int, Any]) -> LabelStanding:
    labelled = rows.light_rows(ours)
    is_score = ours.subject.kind == "score"
    pairs = [(row.human, said[row.sample]) for row in labelled.rows if row.human is not None and row.sample in said]
    rate, why = _rate(ours, labelled, judged)
    return LabelStanding(
        ours,
        len(labelled.rows),
        _raters(ours.labels),
        _median(ours.labels),
        _between(labelled, is_score),
        _themselves(ours),
        agreement_of(pairs, is_score, "judge and people"),
        [
            SplitRow(row.sample, [(rating.rater, rating.value) for rating in row.ratings])
            for row in labelled.rows
            if _is_split(row, is_score, ours.question)
        ],
        rate,
        why,
    )


def live(labels: Sequence[Label], rater: str) -> dict[str, Any]:
    """How many labels there are, how quickly a rater gives them, how far raters agree: at each key, so without
    intervals."""
    said: dict[int, dict[str, Any]] = {}
    for label in labels:
        said.setdefault(label.idx, {})[label.rater] = label.value
    mine = [label for label in labels if label.rater == rater]
    shared = [list(values.values()) for values in said.values() if len(values) > 1]
    is_score = any(label.kind == "score" for label in labels)
    names = {name for values in said.values() if len(values) > 1 for name in values}
    value = None
    if len(names) == 2:
        first, second = sorted(names)
        pairs = Counter((values[first], values[second]) for values in said.values() if len(values) > 1)
        value = agreement.spearman(pairs) if is_score else agreement.cohen_kappa(pairs)
    elif shared:
        value = agreement.krippendorff_alpha(shared, "interval" if is_score else "nominal")
    return {
        "labels": len(labels),
        "rows": len(said),
        "raters": len({label.rater for label in labels}),
        "median_s": _median(mine),
        "agreement": value,
        "sign": "α" if len(names) > 2 else "ρ" if is_score else "κ",
        "shared": len(shared),
    }


def _raters(labels: Sequence[Label]) -> list[RaterCount]:
    by_rater: dict[str, list[Label]] = {}
    for label in labels:
        by_rater.setdefault(label.rater, []).append(label)
    return [RaterCount(rater, len(theirs), _median(theirs)) for rater, theirs in sorted(by_rater.items())]


def _median(labels: Sequence[Label]) -> float | None:
    seconds = [label.seconds for label in labels if label.seconds is not None]
    return statistics.median(seconds) if seconds else None


def agreement_of(pairs: Sequence[Cell], is_score: bool, who: str) -> Statistic:
    """Kappa of words, Spearman's rho of scores, with an interval."""
    statistic: Callable[[Table], float | None] = agreement.spearman if is_score else agreement.cohen_kappa
    name = "Spearman's rho" if is_score else "Cohen's kappa"
    table = Counter(pairs)
    value = statistic(table)
    if value is None:
        why = f"{who} gave one and the same value only" if pairs else f"there is no row that both {who} have graded"
        return Statistic(name, None, None, len(pairs), why)
    interval: Interval | None = None
    if len(pairs) > FORMULA_FROM:
        interval = spearman_interval(value, len(pairs)) if is_score else kappa_interval(table, value)
    elif len(pairs) >= FEWEST_GROUPS:
        interval = table_interval([[pair] for pair in pairs], statistic, _SEED)
    return Statistic(name, value, interval, len(pairs))


def _between(labelled: Labelled, is_score: bool) -> Statistic | None:
    """Of two raters kappa or rho; of more Krippendorff's alpha, which takes rows that some have not seen."""
    several = [row.ratings for row in labelled.rows if len(row.ratings) > 1]
    if not several:
        return None
    raters = sorted({rating.rater for ratings in several for rating in ratings})
    if len(raters) == 2:
        by_name = [{rating.rater: rating.value for rating in ratings} for ratings in several]
        return agreement_of([(said[raters[0]], said[raters[1]]) for said in by_name], is_score, "raters")
    units = [[rating.value for rating in ratings] for ratings in several]
    scale: agreement.Scale = "interval" if is_score else "nominal"
    value = agreement.krippendorff_alpha(units, scale)
    interval = None
    if value is not None and sum(map(len, units)) <= MOST_REDRAWN:
        interval = bootstrap(units, lambda drawn: agreement.krippendorff_alpha(drawn, scale), _SEED)
    why = "" if value is not None else "raters gave one and the same value only"
    return Statistic("Krippendorff's alpha", value, interval, len(units), why)


def _themselves(ours: RunLabels) -> Statistic | None:
    first = {(label.rater, label.idx): label.value for label in ours.labels}
    pairs = [(first[label.rater, label.idx], label.value) for label in ours.again if (label.rater, label.idx) in first]
    if not pairs:
        return None
    return Statistic("same again", agreement.share_equal(Counter(pairs)), None, len(pairs))


def _is_split(row: LabelledRow, is_score: bool, question: LabelQuestion) -> bool:
    values = [rating.value for rating in row.ratings]
    if is_score:  # a step apart is no quarrel
        return len(values) > 1 and max(values) - min(values) > (question.high - question.low) / 4
    return len(set(values)) > 1


def split_rows(labels: Sequence[Label], question: LabelQuestion, other: Run | None) -> list[int]:
    """Rows whose raters disagree, and no majority settles it."""
    other_id = None if other is None else other.id
    subject = rows.LabelSubject(question.criterion, question.kind, other_id)  # type: ignore[arg-type]  # no skip is asked
    ours = [
        label
        for label in labels
        if not label.turn and (label.criterion, label.kind, label.other_run_id) == tuple(subject)
    ]
    light = rows.light_rows(RunLabels(question, subject, ours, [], []))
    is_score = question.kind == "score"
    return [
        row.sample
        for row in light.rows
        if _is_split(row, is_score, question) and (row.human is None or (is_score and len(row.ratings) == 2))
    ]


def _rate(ours: RunLabels, labelled: Labelled, judged: dict[int, JudgedRow]) -> tuple[RunRate | None, str]:
    try:
        return rate(ours, labelled, judged), ""
    except InvalidData as error:
        return None, str(error)


def rate(ours: RunLabels, labelled: Labelled, judged: dict[int, JudgedRow]) -> RunRate:
    """Raises InvalidData where the labels do not allow it."""
    if ours.subject.kind == "preferred":
        raise InvalidData("preferences between two answers correct no rate.")
    low, high = ours.question.low, ours.question.high
    if ours.subject.kind == "score" and (low, high) != (0.0, 1.0):
        labelled = _to_units(labelled, low, high)
        judged = {idx: JudgedRow((row.reward - low) / (high - low), row.passed) for idx, row in judged.items()}
    known = [row for row in labelled.rows if row.human is not None and row.sample in judged]
    weighed = [row for row in known if row.weight is not None]
    bare = [row for row in known if row.weight is None]
    # Two ways of drawing rows cannot be told in one figure: the one that more rows were drawn by counts.
    counting, others = (weighed, bare) if len(weighed) >= len(bare) else (bare, weighed)
    if len(counting) < FEWEST_LABELS:
        noun = "row is" if len(counting) == 1 else "rows are"
        more = f" {len(others)} others were drawn in another way." if others else ""
        raise InvalidData(f"{len(counting)} graded {noun} labelled; a corrected rate takes {FEWEST_LABELS}.{more}")
    ours_alone = Labelled(tuple(counting), labelled.kind, labelled.name)
    try:
        return rate_of(answers.graded_run("this run", judged), ours_alone, ours.question.passing)
    except InvalidData as error:
        raise InvalidData(re.sub(r"^labels, line ", "row ", str(error))) from None


def _to_units(labelled: Labelled, low: float, high: float) -> Labelled:
    def unit(row: LabelledRow) -> LabelledRow:
        ratings = tuple(Rating(one.rater, (one.value - low) / (high - low), one.line) for one in row.ratings)
        return LabelledRow(
            row.number, row.item, row.sample, None, ratings, row.group, row.model, row.weight, row.picked
        )

    return Labelled(tuple(map(unit, labelled.rows)), labelled.kind, labelled.name)


async def corrected(
    store: Store, eval_: Eval, run: Run, criterion: str | None = None, kind: str | None = None, rater: str | None = None
) -> RunRate:
    """The corrected rate of a run by its labels. Raises ApiError, 409, where they do not allow one."""
    labelled = await rows.run_labels(store, eval_, run, criterion, kind, rater)
    ours = rows.only(labelled, run)
    judged = await answers.judged(store, run, ours.question)
    return await asyncio.to_thread(_refusing, lambda: rate(ours, rows.light_rows(ours), judged))


async def corrected_by(
    store: Store, run: Run, question: LabelQuestion, scores: dict[int, PushedScore], name: str
) -> RunRate:
    """The same by the scores of a custom grader, from 0 to 1, of which nobody knows how their rows were picked."""
    judged = await answers.judged(store, run, question)
    labelled = Labelled(
        tuple(
            LabelledRow(at, {"row": idx}, idx, None, (Rating(name, score.value, at),), str(idx), None, None)
            for at, (idx, score) in enumerate(sorted(scores.items()), 1)
        ),
        "score",
        name,
    )
    return await asyncio.to_thread(_refusing, lambda: rate_of(answers.graded_run(run.id, judged), labelled))


def _refusing(work: Callable[[], RunRate]) -> RunRate:
    try:
        return work()
    except InvalidData as error:
        raise ApiError(409, str(error), code="labels_not_enough") from None


def with_pushed(judged: dict[int, JudgedRow], scores: dict[int, PushedScore]) -> Statistic:
    """How far a custom grader's scores and the judge's go together."""
    pairs = [(score.value, judged[idx].reward) for idx, score in scores.items() if idx in judged]
    return agreement_of(pairs, True, "judge and pushed scores")
