"""The labels of a run as labelled rows: what checks of judges, rates and files of labels are made of."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.labelling import pushed
from fairmark.labelling.answers import RunAnswer, answers, sides_of
from fairmark.labelling.question import LabelQuestion, criteria_of, question_for
from fairmark.store import Eval, Label, LabelBatch, Run, Store
from fairmark.trust.labelled import Labelled, LabelledRow, Rating, ValueKind, collect


class LabelSubject(NamedTuple):
    """What labels are about: labels of one subject may stand in one file."""

    criterion: str
    kind: ValueKind
    other: str | None
    """Of pairs: the id of the run whose answers are b."""


class RunLabels(NamedTuple):
    """The labels of one subject."""

    question: LabelQuestion
    subject: LabelSubject
    labels: list[Label]
    """Without skips and without those of rows that came a second time."""
    batches: list[LabelBatch]
    again: list[Label]
    """Those of rows that came a second time."""

    @property
    def weights(self) -> dict[int, float]:
        return weights(self.batches, {label.idx for label in self.labels})


def subjects_of(labels: Sequence[Label]) -> list[LabelSubject]:
    """The most frequent first."""
    counts: dict[LabelSubject, int] = {}
    for label in labels:
        if label.kind != "skip":
            subject = LabelSubject(label.criterion, label.kind, label.other_run_id)
            counts[subject] = counts.get(subject, 0) + 1
    return sorted(counts, key=lambda subject: -counts[subject])


async def run_labels(
    store: Store, eval_: Eval, run: Run, criterion: str | None = None, kind: str | None = None, rater: str | None = None
) -> list[RunLabels]:
    """Of each subject its labels, the most frequent first. `criterion`, by id or name, `kind` and `rater` choose among
    them. Raises ApiError for a criterion that the run does not have."""
    criteria = criteria_of(eval_, run)
    labels = await store.labels.of_run(run)
    wanted = question_for(criteria, criterion, "label").criterion if criterion else None
    batches = await store.label_batches.of_run(run) if labels else []
    known = {str(entry.get("id")) for entry in criteria}
    by_subject = []
    for subject in subjects_of(labels):
        if (wanted is not None and subject.criterion != wanted) or (kind and subject.kind != kind):
            continue
        if subject.criterion and subject.criterion not in known:  # another run's, before it was loaded again
            continue
        question = _question(criteria, subject)
        ours = [label for label in labels if LabelSubject(label.criterion, label.kind, label.other_run_id) == subject]  # type: ignore[arg-type]  # skips are none
        ours = [label for label in ours if rater is None or label.rater == rater]
        about = [
            batch
            for batch in batches
            if (batch.criterion, batch.other_run_id) == (subject.criterion, subject.other)
            and (batch.kind == "preferred") == (subject.kind == "preferred")
        ]
        if ours:
            by_subject.append(
                RunLabels(
                    question,
                    subject,
                    [label for label in ours if not label.turn],
                    about,
                    [label for label in ours if label.turn],
                )
            )
    return by_subject


def _question(criteria: Sequence[dict[str, Any]], subject: LabelSubject) -> LabelQuestion:
    if subject.criterion or subject.kind != "score":
        return question_for(criteria, subject.criterion or None, subject.kind)
    return question_for(criteria, criteria[0]["id"], "score")


def only(labelled: Sequence[RunLabels], run: Run) -> RunLabels:
    """The one subject that there are labels of. Raises ApiError of none, and of several."""
    if not labelled:
        raise ApiError(409, f"The run {run.id} has no labels of this kind.", code="no_labels")
    if len(labelled) > 1:
        about = "; ".join(
            f"{labels.question.name} ({labels.subject.kind}, {len(labels.labels)})" for labels in labelled
        )
        raise ApiError(
            409,
            f"The labels of the run {run.id} are about several things: {about}. Choose by criterion, and by kind.",
            code="several_subjects",
        )
    return labelled[0]


def weights(batches: Sequence[LabelBatch], labelled: set[int]) -> dict[int, float]:
    """Of each labelled row that was drawn for a batch, for how many rows of the run it stands.

    Each batch is drawn out of what earlier ones left. So the rows of all earlier batches, and those of this one each
    over its chance, are together an estimate of the whole run, and the mean of all these estimates is one too, each
    counted by its rows. Of a batch that is not finished, the rows that are stand for the others.
    """
    waves = [[row for row in batch.rows if row.is_new and not row.turn] for batch in batches]
    waves = [wave for wave in waves if wave]
    done = [sum(row.idx in labelled for row in wave) for wave in waves]
    total = sum(done)
    weight: dict[int, float] = {}
    for number, (wave, count) in enumerate(zip(waves, done, strict=True)):
        later = sum(done[number + 1 :]) / total if total else 0.0
        for row in wave:
            if row.idx in labelled:
                weight[row.idx] = len(wave) / count * (count / total / row.chance + later)
    return weight


async def labelled_rows(
    store: Store,
    eval_: Eval,
    run: Run,
    criterion: str | None = None,
    kind: str | None = None,
    grader: str | None = None,
) -> Labelled:
    """A run's labels in the shape that `trust` takes, item and answer in each row.

    `criterion`, by id or name, and `kind` choose where the labels are about several things. `grader`: the key of a
    custom grader whose pushed scores are taken instead. Raises ApiError where there are none.
    """
    lines = await label_lines(store, eval_, run, criterion, kind, grader=grader)
    return await asyncio.to_thread(lambda: collect(enumerate(lines, 1), f"labels of {run.id}"))


async def label_lines(
    store: Store,
    eval_: Eval,
    run: Run,
    criterion: str | None = None,
    kind: str | None = None,
    rater: str | None = None,
    grader: str | None = None,
) -> list[dict[str, Any]]:
    """The same as lines of a file of labels."""
    if grader is not None:
        scores = await pushed.scores_of(store, run, grader)
        texts = await answers(store, run, sorted(scores))
        return [
            {**_answer(texts[idx]), "score": score.value, "rater": grader, "note": score.reasoning}
            for idx, score in sorted(scores.items())
            if idx in texts
        ]
    ours = only(await run_labels(store, eval_, run, criterion, kind, rater), run)
    texts = await answers(store, run, sorted({label.idx for label in ours.labels}))
    partners: dict[int, RunAnswer] = {}
    if ours.subject.other is not None:
        partners = await other_answers(store, run, ours.subject.other, list(texts))
    weight = ours.weights
    criteria = criteria_of(eval_, run)

    def samples(idx: int) -> dict[str, Any] | None:
        if ours.subject.kind != "preferred":
            return None
        if ours.subject.other is not None:
            return {"a": texts[idx].sample, "b": partners[idx].sample}
        return sides_of(criteria, ours.question, texts[idx].item, texts[idx].sample)

    return [
        _line(label, texts[label.idx], samples(label.idx), weight.get(label.idx, label.weight))
        for label in ours.labels
        if label.idx in texts and (ours.subject.other is None or label.idx in partners)
    ]


async def other_answers(store: Store, run: Run, other_id: str, indexes: Sequence[int]) -> dict[int, RunAnswer]:
    """Of rows of a run, what the other run answers to the same items."""
    other = await store.runs.find(run.project, other_id)
    if other is None:
        return {}
    partner = await store.comparison.partners(run, other)
    theirs = await answers(store, other, sorted({partner[idx] for idx in indexes if idx in partner}))
    return {idx: theirs[partner[idx]] for idx in indexes if idx in partner and partner[idx] in theirs}


def _answer(answer: RunAnswer) -> dict[str, Any]:
    return {
        "item": answer.item,
        "sample": answer.sample,
        **({"model": answer.model} if answer.model else {}),
    }


def _line(label: Label, answer: RunAnswer, samples: dict[str, Any] | None, weight: float | None) -> dict[str, Any]:
    shown = _answer(answer)
    if samples is not None:
        shown = {"item": answer.item, "samples": samples}
    more: Mapping[str, Any] = {
        "weight": None if weight is None else round(weight, 9),
        "picked": label.picked,
        "chance": label.chance,
        "note": label.note,
        "seconds": label.seconds,
        "side": label.side,
    }
    return {
        **shown,
        label.kind: label.value,
        "rater": label.rater,
        **{name: value for name, value in more.items() if value is not None},
        "id": label.id,
        "run_id": label.run_id,
        "item_id": label.item_id,
        "time": label.labelled_at,
    }


def light_rows(ours: RunLabels) -> Labelled:
    """The same without item and answer: an index stands for both, as in `answers.graded_run`."""
    weight = ours.weights
    rows: dict[int, LabelledRow] = {}
    for label in ours.labels:
        known = rows.get(label.idx)
        rating = Rating(label.rater, label.value, label.idx)
        rows[label.idx] = LabelledRow(
            label.idx,
            {"row": label.idx},
            label.idx,
            None,
            (rating,) if known is None else (*known.ratings, rating),
            str(label.idx),
            None,
            weight.get(label.idx, label.weight),
            label.picked or (known.picked if known is not None else None),
        )
    return Labelled(tuple(rows.values()), ours.subject.kind, "labels")


def encode_lines(lines: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(jsontext.encode(line) + b"\n" for line in lines)
