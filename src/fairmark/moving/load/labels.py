"""What people said of the rows of runs, out of an archive and into one: after the runs that it is about.

A row is named by its number, because ids change where a run is copied. A label whose id another has already gets one of
its own, the same at every load.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fairmark import jsontext
from fairmark.errors import LabelTaken
from fairmark.moving.archive import part_name
from fairmark.moving.load.loading import Loading
from fairmark.store import BatchRow, Label, LabelBatch, NewLabel, Run, ids
from fairmark.store.evals.label_batches import PREFIX as BATCH
from fairmark.store.evals.labels import PREFIX as LABEL

KIND = "labels"
FOLDER = "labels"
_LABEL_FIELDS = tuple(name for name in NewLabel.__struct_fields__ if name != "other_seq")


class ArchivedLabel(msgspec.Struct, omit_defaults=True):
    """A line of either kind."""

    object: str
    id: str
    rater: str
    kind: str
    criterion: str = ""
    other_run_id: str | None = None
    created_at: int = 0
    idx: int = 0
    value: str | float | None = None
    labelled_at: float = 0.0
    turn: int = 0
    note: str | None = None
    seconds: float | None = None
    picked: str | None = None
    chance: float | None = None
    weight: float | None = None
    side: str | None = None
    rows: list[BatchRow] = msgspec.field(default_factory=list)


def bodies(batches: Sequence[LabelBatch], labels: Sequence[Label]) -> Iterator[bytes]:
    for batch in batches:
        yield jsontext.encode(
            {
                "object": "label.batch",
                "id": batch.id,
                "rater": batch.rater,
                "criterion": batch.criterion,
                "kind": batch.kind,
                "other_run_id": batch.other_run_id,
                "rows": msgspec.to_builtins(batch.rows),
                "created_at": batch.created_at,
            }
        )
    for label in labels:
        told: dict[str, Any] = {name: getattr(label, name) for name in _LABEL_FIELDS}
        told = {name: value for name, value in told.items() if value is not None}
        yield jsontext.encode({"object": "label", **told, "other_run_id": label.other_run_id})


async def load_labels(loading: Loading) -> None:
    for id_ in await asyncio.to_thread(loading.archive.ids, FOLDER, ".jsonl"):
        target = loading.copies.get("runs", id_) or id_
        run = await loading.store.runs.find(loading.project, target)
        if run is not None:
            await _load(loading, run, id_, await asyncio.to_thread(_lines, loading, id_))
        elif not loading.dry_run:
            loading.report.problem(KIND, id_, "its run is neither in the archive nor here.")


def _lines(loading: Loading, id_: str) -> list[bytes]:
    return list(loading.archive.lines(part_name(FOLDER, id_, ".jsonl")))


async def _load(loading: Loading, run: Run, archived_as: str, lines: Sequence[bytes]) -> None:
    labels: list[NewLabel] = []
    for number, line in enumerate(lines, 1):
        try:
            read = msgspec.convert(jsontext.decode(line), ArchivedLabel)
        except (jsontext.NotJson, msgspec.ValidationError) as error:
            loading.report.problem(KIND, f"{archived_as}, line {number}", f"no label: {error}.")
            continue
        other = await _other(loading, read)
        if read.other_run_id is not None and other is None:
            loading.report.problem(KIND, read.id, f"the run {read.other_run_id} that it compares with is not here.")
        elif read.object == "label":
            values = {name: getattr(read, name) for name in _LABEL_FIELDS}
            labels.append(NewLabel(**values, other_seq=None if other is None else other.seq))
        elif not loading.dry_run:
            await _put_batch(loading, run, read, other)
    if labels and not loading.dry_run:
        await _put(loading, run, labels)


async def _other(loading: Loading, read: ArchivedLabel) -> Run | None:
    if read.other_run_id is None:
        return None
    target = loading.copies.get("runs", read.other_run_id) or read.other_run_id
    return await loading.store.runs.find(loading.project, target)


async def _put_batch(loading: Loading, run: Run, read: ArchivedLabel, other: Run | None) -> None:
    batches = loading.store.label_batches
    for id_ in (read.id, ids.made_by(run.id, BATCH, read.id)):
        if await batches.get(run, id_) is not None:
            return
        kind: Any = read.kind
        made = await batches.create(
            run, read.rater, read.criterion, kind, other, read.rows, batch_id=id_, created_at=read.created_at
        )
        if made is not None:
            return


async def _put(loading: Loading, run: Run, labels: Sequence[NewLabel]) -> None:
    tally = loading.report.of(KIND)
    there = {label.id for label in await loading.store.labels.of_run(run)}
    try:
        put = await loading.store.labels.put(run, labels, bring_back=True)
    except LabelTaken:  # a copy beside what was copied
        labels = [msgspec.structs.replace(label, id=ids.made_by(run.id, LABEL, label.id)) for label in labels]
        put = await loading.store.labels.put(run, labels, bring_back=True)
    for label, done in zip(labels, put or [], strict=False):
        if done.became != "kept":
            tally.skipped += 1
        elif label.id in there:
            tally.unchanged += 1
        else:
            tally.new += 1
    loading.progress(KIND, len(put or []))
