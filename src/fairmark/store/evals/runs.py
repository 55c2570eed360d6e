"""Runs of an eval: created queued, claimed by one server, started, finished; or canceled at any time before."""

import time
from collections.abc import Collection
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, and_, bindparam, false, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.errors import UnknownEval
from fairmark.store.base import ids, positions
from fairmark.store.base.claims import RUNS, Waiting
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Order, Page, bounded_page, read_span
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import (
    error_rows,
    evals,
    facets,
    item_ids,
    items,
    label_batches,
    labels,
    received,
    run_criteria,
    run_notes,
    runs,
    samples,
    scores,
    sources,
)
from fairmark.store.evals.rowfiles import RowFiles

Status = Literal["queued", "in_progress", "completed", "canceled", "failed"]
_ACTIVE = ("queued", "in_progress")


class Run(msgspec.Struct, frozen=True):
    seq: int
    id: str
    eval_id: str
    eval_seq: int
    project: str
    name: str
    metadata: dict[str, Any]
    data_source: bytes
    """JSON as it was sent: it may hold all rows."""
    model: str | None
    status: Status
    error: dict[str, Any] | None
    created_at: int
    options: dict[str, Any]
    """`budget`, `deadline_s`."""
    total: int | None
    """None until it is known how many rows there are."""
    passed: int
    failed: int
    errored: int
    skipped: int
    criteria_counts: dict[str, list[int]]
    """A criterion's id -> passed, failed, errored, skipped."""
    usage: dict[str, list[int]]
    """A model -> invocations, prompt, completion, total and cached tokens."""
    cost: float | None
    """Dollars; None where no model has a price."""
    criteria: list[dict[str, Any]] | None
    """What its eval's criteria were when it was created, where some were references; None where the eval tells."""
    reasons: dict[str, int] | None = None
    """Why rows could not be graded -> how many; "" stands for reasons beyond the most that are told apart."""
    warnings: dict[str, int] | None = None
    """What there is to be warned of, in the same way."""
    regraded_from: str | None = None
    """The run whose answers it grades again."""
    rows_file: str | None = None
    """A file of its own that holds its rows, in place of what its data source names."""
    imported: dict[str, Any] | None = None
    """Where it came from and when, of one that was made elsewhere: `source`, `at`. Nobody works on such a run."""
    started_at: float | None = None
    """When somebody first worked on it; None where that is not known."""
    ended_at: float | None = None
    created_by: str | None = None
    """The id of the key that it was asked for with; None without one."""
    costs: dict[str, float] = msgspec.field(default_factory=dict)
    """Dollars by model, of those that have a price; runs of old versions know their sum only."""
    received: bytes | None = None
    """Such a one byte for byte as it came, data source and all; then `data_source` is empty."""


_ELSEWHERE = {
    "data_source": sources.c.body.label("data_source"),
    "criteria": run_criteria.c.criteria,
    "reasons": run_notes.c.reasons,
    "warnings": run_notes.c.warnings,
    "received": received.c.body.label("received"),
}
_OWN = runs.c.imported.is_(None)
_WAITING = and_(runs.c.status.in_(_ACTIVE), _OWN)
_COLUMNS = [_ELSEWHERE[name] if name in _ELSEWHERE else runs.c[name] for name in Run.__struct_fields__]
_WITHOUT_SOURCE = [
    literal(b"" if name == "data_source" else None).label(name) if name in ("data_source", "received") else column
    for name, column in zip(Run.__struct_fields__, _COLUMNS, strict=True)
]


class Runs:
    def __init__(self, database: Database, row_files: RowFiles) -> None:
        self._database = database
        self._row_files = row_files
        self._waiting = Waiting(database, RUNS, runs, _one)
        self.owner = self._waiting.owner

    @uninterrupted
    async def create(
        self,
        project: str,
        eval_id: str,
        name: str | None,
        metadata: dict[str, Any] | None,
        data_source: dict[str, Any] | bytes,
        model: str | None,
        total: int | None,
        options: dict[str, Any],
        criteria: list[dict[str, Any]] | None = None,
        rows_file: str | None = None,
        regraded_from: str | None = None,
        warnings: dict[str, int] | None = None,
        run_id: str | None = None,
        created_by: str | None = None,
    ) -> Run:
        """Raises UnknownEval. A `data_source` in bytes is kept as it is.

        `rows_file` is one that `RowFiles.write` has named; from now on it is the run's. `warnings`: what there is to be
        warned of before a row is graded. `run_id` is one that is known beforehand, for whoever may have to do this
        again.
        """
        body = data_source if isinstance(data_source, bytes) else msgspec.json.encode(data_source)
        values: dict[str, Any] = {
            "id": run_id or ids.new("evalrun_"),
            "eval_id": eval_id,
            "project": project,
            "name": name or "",
            "metadata": metadata or {},
            "model": model,
            "status": "queued",
            "error": None,
            "created_at": int(time.time()),
            "options": options,
            "total": total,
            "passed": 0,
            "failed": 0,
            "errored": 0,
            "skipped": 0,
            "criteria_counts": {},
            "usage": {},
            "cost": None,
            "regraded_from": regraded_from,
            "rows_file": rows_file,
            "created_by": created_by,
            "costs": {},
        }
        async with self._database.write_in_order() as connection:
            query = select(evals.c.seq).where(evals.c.id == eval_id, evals.c.project == project)
            # Held until the run is there: who deletes the eval meanwhile waits, and finds the run.
            eval_seq = await connection.scalar(query.with_for_update(read=True)) if ids.plausible(eval_id) else None
            if eval_seq is None:
                raise UnknownEval(f"eval {eval_id}: there is no such eval.")
            values["eval_seq"] = eval_seq
            done = await connection.execute(runs.insert().values(values))
            seq = new_seq(done)
            await connection.execute(sources.insert().values(run_seq=seq, body=body))
            if criteria is not None:
                await connection.execute(run_criteria.insert().values(run_seq=seq, criteria=criteria))
            if warnings:
                await connection.execute(run_notes.insert().values(run_seq=seq, reasons={}, warnings=warnings))
        return Run(seq=seq, data_source=body, criteria=criteria, warnings=warnings or None, **values)

    @uninterrupted
    async def get(self, project: str, eval_id: str, run_id: str, *, with_source: bool = True) -> Run | None:
        """Without its source, which may be megabytes, `data_source` is empty."""
        query = _select() if with_source else select_without_source()
        async with self._database.read() as connection:
            row = (await connection.execute(query.where(_named(project, eval_id, run_id)))).one_or_none()
        return None if row is None else Run(*row)

    @uninterrupted
    async def find(self, project: str, run_id: str) -> Run | None:
        """Whichever eval it belongs to; without its source."""
        if not ids.plausible(run_id):
            return None
        named = and_(runs.c.id == run_id, runs.c.project == project)
        async with self._database.read() as connection:
            row = (await connection.execute(select_without_source().where(named))).one_or_none()
        return None if row is None else Run(*row)

    @uninterrupted
    async def list(
        self,
        project: str,
        eval_id: str,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        status: Status | None = None,
        before: str | None = None,
    ) -> Page[Run]:
        if not ids.plausible(eval_id):
            return Page([], False)
        async with self._database.read() as connection:
            of_eval = select(evals.c.seq).where(evals.c.id == eval_id, evals.c.project == project)
            eval_seq = await connection.scalar(of_eval)

            async def find(id_: str) -> int | None:
                # Whatever its status is now: the place of a run that has gone on stays.
                there = select(runs.c.seq).where(runs.c.id == id_, runs.c.eval_seq == eval_seq)
                return await positions.find(connection, id_, there, "run", eval_seq or 0)

            span = await read_span(after, before, find)
            query = _select().where(runs.c.eval_seq == eval_seq)
            if status is not None:
                query = query.where(runs.c.status == status)
            return await bounded_page(connection, query, runs.c.seq, _BYTES, span, limit, order, Run)

    @uninterrupted
    async def delete(self, project: str, eval_id: str, run_id: str) -> bool:
        """With all that belongs to it, also while it is worked on. False where there is no such run."""
        async with self._database.write() as connection:
            gone = await delete_runs(connection, _named(project, eval_id, run_id))
            await positions.leave(connection, "run", gone.places)
        await self._row_files.delete(gone.rows_files)
        return bool(gone.places)

    @uninterrupted
    async def cancel(self, project: str, eval_id: str, run_id: str) -> Run | None:
        """A run that has ended, or was made elsewhere, stays as it is. Once this has returned, nothing more is written
        to the run."""
        named = _named(project, eval_id, run_id)
        async with self._database.write() as connection:
            active = and_(named, _WAITING)
            await connection.execute(runs.update().where(active).values(status="canceled", ended_at=time.time()))
            return await _one(connection, named)

    @uninterrupted
    async def count_by_status(self) -> dict[str, int]:
        """How many runs there are of each status, all projects together, but for those that were made elsewhere."""
        query = select(runs.c.status, func.count()).where(_OWN).group_by(runs.c.status)
        async with self._database.read() as connection:
            return {row.status: row[1] for row in await connection.execute(query)}

    # For the engine.

    async def claim(self, but_not: Collection[str] = ()) -> Run | None:
        """The oldest run that is to be worked on and that nobody works on, but for these projects'. It is ours until it
        is released."""
        return await self._waiting.claim(_WAITING, but_not)

    async def release(self, run: Run) -> None:
        """Never fails: a claim that cannot be given back has ended."""
        await self._waiting.release(run)

    @uninterrupted
    async def start(self, run: Run, total: int | None = None) -> bool:
        """Puts a queued run in progress, and notes how many rows it has. False where it has ended or is another's."""
        values: dict[str, Any] = {"status": "in_progress", "owner": self.owner}
        values["started_at"] = func.coalesce(runs.c.started_at, time.time())
        if total is not None:
            values["total"] = total
        ours = or_(
            and_(runs.c.status == "queued", or_(runs.c.owner.is_(None), runs.c.owner == self.owner)),
            and_(runs.c.status == "in_progress", runs.c.owner == self.owner),
        )
        async with self._database.write() as connection:
            done = await connection.execute(runs.update().where(runs.c.seq == run.seq, _OWN, ours).values(values))
        return bool(done.rowcount)

    @uninterrupted
    async def finish(self, run: Run, status: Status, error: dict[str, Any] | None = None) -> bool:
        """Ends a run that is in progress and ours. False, and nothing changes, where it is not."""
        ended = runs.update().where(self.working_on(run)).values(status=status, error=error, ended_at=time.time())
        async with self._database.write() as connection:
            done = await connection.execute(ended)
        return bool(done.rowcount)

    def working_on(self, run: Run) -> ColumnElement[bool]:
        """Whether the run is in progress and ours, so that we may write to it."""
        return and_(runs.c.seq == run.seq, runs.c.status == "in_progress", runs.c.owner == self.owner)

    async def close(self) -> None:
        await self._waiting.close()


class GoneRuns(NamedTuple):
    places: list[Deleted]
    rows_files: list[str]
    """To be deleted once the transaction is committed."""


async def delete_runs(connection: AsyncConnection, which: ColumnElement[bool]) -> GoneRuns:
    """Within a transaction. The runs' rows first: who adds items to one holds its row and is waited for."""
    query = select(runs.c.id, runs.c.eval_seq, runs.c.seq, runs.c.rows_file).where(which).with_for_update()
    gone = (await connection.execute(query)).all()
    if gone:
        these = [{"gone": run.seq} for run in gone]
        await connection.execute(runs.delete().where(runs.c.seq == bindparam("gone")), these)
        for table in (items, item_ids, scores, error_rows, facets, samples, sources, run_criteria, run_notes):
            await connection.execute(table.delete().where(table.c.run_seq == bindparam("gone")), these)
        for table in (labels, label_batches):  # also those that compare its answers with another's
            about = or_(table.c.run_seq == bindparam("gone"), table.c.other_seq == bindparam("gone"))
            await connection.execute(table.delete().where(about), these)
        of_runs = received.delete().where(received.c.kind == "runs", received.c.seq == bindparam("gone"))
        await connection.execute(of_runs, these)
    return GoneRuns(
        [Deleted(run.id, run.eval_seq, run.seq) for run in gone], [run.rows_file for run in gone if run.rows_file]
    )


def _named(project: str, eval_id: str, run_id: str) -> ColumnElement[bool]:
    if not (ids.plausible(eval_id) and ids.plausible(run_id)):
        return false()
    return and_(runs.c.id == run_id, runs.c.eval_id == eval_id, runs.c.project == project)


# Of what may be long: the rows in a request, and all that came from elsewhere.
_BYTES = func.length(sources.c.body) + func.coalesce(func.length(received.c.body), 0)


def _select() -> Select[Any]:
    query = select(*_COLUMNS).join_from(runs, sources, sources.c.run_seq == runs.c.seq)
    return _with_more(query.outerjoin(received, and_(received.c.kind == "runs", received.c.seq == runs.c.seq)))


def select_without_source() -> Select[Any]:
    """Runs whose `data_source` is left empty."""
    return _with_more(select(*_WITHOUT_SOURCE).select_from(runs))


def _with_more(query: Select[Any]) -> Select[Any]:
    query = query.outerjoin(run_criteria, run_criteria.c.run_seq == runs.c.seq)
    return query.outerjoin(run_notes, run_notes.c.run_seq == runs.c.seq)


async def _one(connection: AsyncConnection, which: ColumnElement[bool]) -> Run | None:
    row = (await connection.execute(_select().where(which))).one_or_none()
    return None if row is None else Run(*row)
