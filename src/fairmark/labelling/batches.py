"""Which rows a rater gets: the mix of `trust.picking`, a fifth of them shared with others, some of them twice."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fairmark.errors import ApiError, InvalidData
from fairmark.labelling import answers
from fairmark.labelling.question import LabelQuestion
from fairmark.labelling.standing import split_rows
from fairmark.refusals import not_found
from fairmark.store import BatchRow, Label, LabelBatch, Run, Store
from fairmark.trust.labelled import Labelled, LabelledRow, Rating
from fairmark.trust.picking import pick
from fairmark.trust.results import range_of

OVERLAP = 0.2
"""The share of rows that another rater labels too."""
TWICE = 0.05
"""The share of rows that come a second time."""
MOST_ROWS = 500
LOOKED_AT = 2_000
"""Of a longer run so many rows are drawn first, and those to be labelled out of them."""
_TRIES = 20


class WantedBatch(NamedTuple):
    rater: str
    question: LabelQuestion
    number: int
    other: Run | None = None
    """Of pairs: the run whose answers are b."""
    only_split: bool = False
    """Only rows on which others disagree: a third voice."""

    def is_of(self, batch: LabelBatch) -> bool:
        other = None if self.other is None else self.other.seq
        return batch.subject == (self.question.criterion, self.question.kind == "preferred", other)


async def begin(store: Store, run: Run, wanted: WantedBatch) -> LabelBatch:
    """The rater's batch that is not finished yet, or a new one. Raises ApiError where there is nothing to label."""
    for _ in range(_TRIES):
        batches = await store.label_batches.of_run(run)
        labels = await store.labels.of_run(run)
        before = [batch for batch in batches if wanted.is_of(batch)]
        own = [batch for batch in before if batch.rater == wanted.rater and batch.kind == wanted.question.kind]
        if not wanted.only_split and own and left(own[-1], labels):
            return own[-1]
        rows = await _rows(store, run, wanted, before, labels)
        made = await store.label_batches.create(
            run, wanted.rater, wanted.question.criterion, wanted.question.kind, wanted.other, rows, len(batches)
        )
        if made is not None:
            return made
        if await store.runs.find(run.project, run.id) is None:
            raise not_found("run", run.id)
    raise ApiError(503, "Others begin to label this run just now. Try again.", code="busy")


def left(batch: LabelBatch, labels: Sequence[Label]) -> int:
    """How many of its rows have neither a label nor a skip of its rater."""
    other = batch.other_seq
    done = {
        (label.idx, label.turn)
        for label in labels
        if label.rater == batch.rater
        and label.criterion == batch.criterion
        and label.other_seq == other
        and label.kind in (batch.kind, "skip")
    }
    return sum((row.idx, row.turn) not in done for row in batch.rows)


async def _rows(
    store: Store, run: Run, wanted: WantedBatch, before: Sequence[LabelBatch], labels: Sequence[Label]
) -> list[BatchRow]:
    source = random.Random(f"{run.id} {wanted.rater} {wanted.question.key} {len(before)}")  # no secret
    handed_out = {row.idx: row for batch in before for row in batch.rows if row.is_new}
    mine = {row.idx for batch in before if batch.rater == wanted.rater for row in batch.rows}
    mine |= {label.idx for label in labels if label.rater == wanted.rater and _is_about(label, wanted)}
    if wanted.only_split:
        split = [idx for idx in split_rows(labels, wanted.question, wanted.other) if idx not in mine]
        if not split:
            raise ApiError(409, "There is no row on which others disagree and you have said nothing.", code="no_rows")
        rows = [handed_out.get(idx, BatchRow(idx, 0, "split", 1.0)) for idx in split[: wanted.number]]
        return _in_order(source, [_shared(row) for row in rows], 0)
    raters = Counter(row.idx for batch in before for row in batch.rows if not row.turn)
    others = sorted((idx for idx in handed_out if idx not in mine), key=lambda idx: (raters[idx], source.random()))
    shared = others[: round(OVERLAP * wanted.number)]
    fresh = await _fresh(store, run, wanted, wanted.number - len(shared), {*handed_out, *mine}, source)
    if len(fresh) + len(shared) < wanted.number - 1:  # few are left: more of them are labelled by several
        shared = others[: wanted.number - len(fresh)]
    rows = fresh + [_shared(handed_out[idx]) for idx in shared]
    if not rows:
        raise ApiError(409, "You have labelled every row of this run that could be graded.", code="no_rows")
    return _in_order(source, rows, round(TWICE * len(rows)))


def _is_about(label: Label, wanted: WantedBatch) -> bool:
    other = None if wanted.other is None else wanted.other.seq
    return (label.criterion, label.other_seq) == (wanted.question.criterion, other)


def _shared(row: BatchRow) -> BatchRow:
    return BatchRow(row.idx, 0, row.picked, row.chance, False)


async def _fresh(
    store: Store, run: Run, wanted: WantedBatch, count: int, known: set[int], source: random.Random
) -> list[BatchRow]:
    """Rows that nobody was given yet."""
    rows = await answers.judged(store, run, wanted.question)
    if wanted.other is not None:
        partners = await store.comparison.partners(run, wanted.other)
        rows = {idx: row for idx, row in rows.items() if idx in partners}
    free = [idx for idx in rows if idx not in known]
    looked_at = source.sample(free, min(LOOKED_AT, len(free)))
    seen = sorted(known & rows.keys())[:200]
    texts = await answers.answers(store, run, [*looked_at, *seen])
    looked_at = [idx for idx in looked_at if idx in texts]
    if not looked_at or count < 1:
        return []
    run_rows = answers.graded_run("run", {idx: rows[idx] for idx in looked_at}, texts)
    labelled = None
    if seen:
        done = [texts[idx] for idx in seen if idx in texts]
        rated = (Rating("", "pass", 0),)
        labelled = Labelled(
            tuple(LabelledRow(0, {"row": answer.idx}, answer.text, None, rated, "", None, None) for answer in done),
            "label",
        )
    low, high = range_of([run_rows])
    try:
        picks = await asyncio.to_thread(pick, run_rows, count, labelled, source.randrange(2**32), low, high)
    except InvalidData:  # nothing is left
        return []
    share = len(looked_at) / len(free)
    return [BatchRow(int(picked.row.item["row"]), 0, picked.why, picked.chance * share) for picked in picks]


def _in_order(source: random.Random, rows: Sequence[BatchRow], twice: int) -> list[BatchRow]:
    """Shuffled, each pair with a side of its own; rows of the first half come again in the second."""
    order = [_with_side(row, source) for row in source.sample(rows, len(rows))]
    half = len(order) // 2
    for row in source.sample(order[:half], min(twice, half)):
        again = BatchRow(row.idx, 1, row.picked, row.chance, False, source.choice("ab"))
        order.insert(source.randint(half + 1, len(order)), again)
    return order


def _with_side(row: BatchRow, source: random.Random) -> BatchRow:
    return BatchRow(row.idx, row.turn, row.picked, row.chance, row.is_new, source.choice("ab"))
