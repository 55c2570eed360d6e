"""Runs of `fairmark eval`, taken from this machine's journals into a store: there they are runs like all others.

An eval is known by its name and the labels of its graders, so that runs over the same data are runs of one eval, also
after a grader was changed: a run whose graders are not the eval's has its own. Nobody works on such a run, as on one
that was imported, and it is taken in the same way: until all its rows are there it says that they are not.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from fairmark import jsontext
from fairmark.data import journal
from fairmark.data.journal import JournalledRun
from fairmark.evals.batch import Batch
from fairmark.evals.criteria import Criterion, load_criteria
from fairmark.evals.eval_calls import read_config
from fairmark.evals.item import given_sample
from fairmark.evals.local import SOURCE
from fairmark.evals.source import SourceRow
from fairmark.judgement import load_judgement
from fairmark.result import Grade, Result
from fairmark.spec import GraderSpec
from fairmark.store import Counts, Store, ids
from fairmark.store.received import TAKING_IN, ReceivedItem, ReceivedRun

log = logging.getLogger("fairmark.runs")

ROWS_A_BATCH = 1_000
BYTES_A_BATCH = 4_000_000
CONFIG = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
_Progress = Callable[[str, int], None]


class TakenRun(NamedTuple):
    id: str
    eval_id: str


def eval_id_of(project: str, name: str, labels: Sequence[str]) -> str:
    return ids.made_by(project, "eval_", jsontext.write([name, *labels]))


async def take_in(
    store: Store, home: Path, db: str, progress: _Progress = lambda run_id, rows: None, only: str | None = None
) -> list[str]:
    """The ids of what is in the store now and was not. `db`: the URL that the store was opened by; `only`: one run.

    Raises StoreUnavailable; what was not taken in stays where it is.
    """
    done = []
    mark = journal.store_mark(db)
    for kept in await asyncio.to_thread(journal.pending, home):
        if kept.is_taken or kept.store != mark or only not in (None, kept.id):
            continue
        with journal.opened(home, kept) as rows:
            if rows is None:
                continue
            try:
                is_in = await _take_in(store, kept, rows, progress)
            except (jsontext.NotJson, LookupError, TypeError, ValueError) as error:
                where = await asyncio.to_thread(journal.set_aside, home, kept)
                log.warning("%s cannot be taken in, and is set aside as %s: %r", kept.id, where, error)
                continue
            if is_in:
                await asyncio.to_thread(journal.taken, home, kept)
                done.append(kept.id)
    return done


async def _take_in(store: Store, kept: JournalledRun, rows: IO[bytes], progress: _Progress) -> bool:
    """False where its eval was deleted just now: whoever looks next makes it again."""
    eval_id = eval_id_of(kept.project, kept.eval_name, list(kept.graders))
    criteria = [
        {**grader, "name": label, "id": f"{label}-{hashlib.sha256(f'{eval_id} {label}'.encode()).hexdigest()[:32]}"}
        for label, grader in kept.graders.items()
    ]
    of_eval = await store.received.have_eval(kept.project, eval_id, kept.eval_name, read_config(CONFIG), criteria)
    imported = {"source": SOURCE, "at": int(kept.started_at), **({"by": kept.by} if kept.by else {})}
    begun = await store.received.begin_run(
        kept.project, _received(kept, eval_id, None if criteria == of_eval else criteria), imported
    )
    if begun is None:
        return False
    loaded = await asyncio.to_thread(load_criteria, criteria)
    counts = Counts()
    total = 0
    batches = _batches(rows, TakenRun(kept.id, eval_id), list(kept.graders), loaded)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        items = [ReceivedItem(None, item) for item in batch.items]
        if not await store.received.add_items(begun, items):
            return True  # it was deleted meanwhile
        counts = counts.plus(batch.counts)
        total += len(items)
        progress(kept.id, total)
    warnings = [f"{label}: {text}" for label, text in _about_graders(loaded)]
    if kept.ended_at is None:
        warnings.append(f"fairmark eval was killed after {total:,} rows: --resume goes on")
    await store.received.end_run(begun, {**imported, "items": str(total)}, counts, total, warnings)
    return True


def _about_graders(criteria: Sequence[Criterion]) -> Iterator[tuple[str, str]]:
    for criterion in criteria:
        for text in criterion.spec.all_warnings if criterion.spec is not None else ():
            yield criterion.name, text


def _received(kept: JournalledRun, eval_id: str, criteria: list[dict[str, Any]] | None) -> ReceivedRun:
    was_killed = kept.ended_at is None
    error = {"code": "killed", "message": "fairmark eval was killed."} if was_killed else None
    data = kept.data
    known = {"path": data.path, "bytes": data.bytes, "sha256": data.sha256, "sql": data.sql}
    source = {"type": "local_file", "name": data.name, **{name: value for name, value in known.items() if value}}
    return ReceivedRun(
        id=kept.id,
        eval_id=eval_id,
        name=kept.name,
        metadata={"graders": kept.mark},
        model=None,
        status="completed" if kept.is_whole else "failed" if was_killed else "canceled",
        error=error,
        created_at=int(kept.started_at),
        criteria=criteria,
        regraded_from=None,
        body=None,
        unfinished=TAKING_IN,
        data_source=jsontext.encode({"type": "jsonl", "source": source}),
        started_at=kept.started_at,
        ended_at=kept.ended_at,
    )


def _batches(rows: IO[bytes], run: TakenRun, labels: Sequence[str], criteria: Sequence[Criterion]) -> Iterator[Batch]:
    batch, size = Batch(run, criteria), 0
    for line in rows:
        if not line.endswith(b"\n"):  # it was cut off
            break
        _add(batch, jsontext.decode(line), labels, criteria)
        size += len(line)
        if len(batch.items) >= ROWS_A_BATCH or size >= BYTES_A_BATCH:
            yield batch
            batch, size = Batch(run, criteria), 0
    if batch.items:
        yield batch


def _add(batch: Batch, line: Mapping[str, Any], labels: Sequence[str], criteria: Sequence[Criterion]) -> None:
    results = line["results"]
    graded = [
        _result(criterion, results[label]) if label in results else None
        for label, criterion in zip(labels, criteria, strict=True)
    ]
    sample = line.get("sample")
    batch.add(SourceRow(line["row"] - 1, line["item"], sample), graded, given_sample(sample))


def _result(criterion: Criterion, stored: Mapping[str, Any]) -> Result:
    """The result that a line tells of."""
    grade = Grade(
        reward=stored["reward"],
        sub_rewards=stored.get("sub_rewards") or {},
        error=stored.get("error"),
        flags=stored.get("errors") or {},
        printed=stored.get("printed"),
        skipped=stored.get("skipped"),
        judgements=tuple(map(load_judgement, stored.get("judgements") or ())),
        spread=stored.get("spread"),
    )
    spec = criterion.spec or _unknown(criterion, stored)
    return Result(spec, grade, stored.get("execution_time") or 0.0, tuple(stored.get("warnings") or ()))


def _unknown(criterion: Criterion, stored: Mapping[str, Any]) -> GraderSpec:
    """Of a grader that can no longer be read here, as one of a plugin that is gone: it passes what it passed."""
    passed = stored.get("passed")
    threshold = None if passed is None else stored["reward"] if passed else stored["reward"] + 1
    return GraderSpec(type=criterion.type, name=criterion.name, pass_threshold=threshold)
