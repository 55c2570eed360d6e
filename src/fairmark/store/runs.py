"""Runs of an eval: created queued, claimed by one server, started, finished; or canceled at any time before."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Collection
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Select, and_, bindparam, false, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.errors import StoreUnavailable, UnknownEval
from fairmark.store import ids, positions
from fairmark.store.claims import Claims, ClaimsInMemory, ClaimsInSession
from fairmark.store.database import Database, new_seq, uninterrupted
from fairmark.store.pages import Order, Page, make_page, page_query, read_span
from fairmark.store.positions import Deleted
from fairmark.store.tables import error_rows, evals, items, run_criteria, run_notes, runs, samples, scores, sources

Status = Literal["queued", "in_progress", "completed", "canceled", "failed"]
_ACTIVE = ("queued", "in_progress")
_CANDIDATES = 100


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


_ELSEWHERE = {
    "data_source": sources.c.body.label("data_source"),
    "criteria": run_criteria.c.criteria,
    "reasons": run_notes.c.reasons,
    "warnings": run_notes.c.warnings,
}
_COLUMNS = [_ELSEWHERE[name] if name in _ELSEWHERE else runs.c[name] for name in Run.__struct_fields__]
_WITHOUT_SOURCE = [
    literal(b"").label(name) if name == "data_source" else column
    for name, column in zip(Run.__struct_fields__, _COLUMNS, strict=True)
]


class Runs:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._claims: Claims = ClaimsInMemory() if database.is_sqlite else ClaimsInSession(database)
        self._claiming = asyncio.Lock()
        self.owner = secrets.token_hex(8)
        """This store's name on the runs that it works on."""

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
    ) -> Run:
        """Raises UnknownEval. A `data_source` in bytes is kept as it is."""
        body = data_source if isinstance(data_source, bytes) else msgspec.json.encode(data_source)
        values: dict[str, Any] = {
            "id": ids.new("evalrun_"),
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
        }
        async with self._database.write_in_order() as connection:
            found = select(evals.c.seq).where(evals.c.id == eval_id, evals.c.project == project)
            # Held until the run is there: who deletes the eval meanwhile waits, and finds the run.
            eval_seq = await connection.scalar(found.with_for_update(read=True)) if ids.plausible(eval_id) else None
            if eval_seq is None:
                raise UnknownEval(f"eval {eval_id}: there is no such eval.")
            values["eval_seq"] = eval_seq
            done = await connection.execute(runs.insert().values(values))
            seq = new_seq(done)
            await connection.execute(sources.insert().values(run_seq=seq, body=body))
            if criteria is not None:
                await connection.execute(run_criteria.insert().values(run_seq=seq, criteria=criteria))
        return Run(seq=seq, data_source=body, criteria=criteria, **values)

    @uninterrupted
    async def get(self, project: str, eval_id: str, run_id: str, *, with_source: bool = True) -> Run | None:
        """Without its source, which may be megabytes, `data_source` is empty."""
        query = _select() if with_source else select_without_source()
        async with self._database.read() as connection:
            row = (await connection.execute(query.where(_named(project, eval_id, run_id)))).one_or_none()
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
            rows = (await connection.execute(page_query(query, runs.c.seq, span, limit, order))).all()
        return make_page(rows, span, limit, Run)

    @uninterrupted
    async def delete(self, project: str, eval_id: str, run_id: str) -> bool:
        """With all that belongs to it, also while it is worked on. False where there is no such run."""
        async with self._database.write() as connection:
            gone = await delete_runs(connection, _named(project, eval_id, run_id))
            await positions.leave(connection, "run", gone)
            return bool(gone)

    @uninterrupted
    async def cancel(self, project: str, eval_id: str, run_id: str) -> Run | None:
        """A run that has ended stays as it is. Once this has returned, nothing more is written to the run."""
        named = _named(project, eval_id, run_id)
        async with self._database.write() as connection:
            await connection.execute(runs.update().where(named, runs.c.status.in_(_ACTIVE)).values(status="canceled"))
            return await _one(connection, named)

    @uninterrupted
    async def count_by_status(self) -> dict[str, int]:
        """How many runs there are of each status, all projects together."""
        query = select(runs.c.status, func.count()).group_by(runs.c.status)
        async with self._database.read() as connection:
            return {row.status: row[1] for row in await connection.execute(query)}

    # For the engine.

    async def claim(self, but_not: Collection[str] = ()) -> Run | None:
        """The oldest run that is to be worked on and that nobody works on, but for these projects'. It is ours until it
        is released."""
        claiming = asyncio.ensure_future(self._claim(but_not))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # Who is cancelled never hears of the run, and so could not release it.
            with contextlib.suppress(StoreUnavailable):
                run = await claiming
                if run is not None:
                    await self.release(run)
            raise

    @uninterrupted
    async def release(self, run: Run) -> None:
        """Never fails: a claim that cannot be given back has ended."""
        await self._claims.drop(run.seq)

    @uninterrupted
    async def start(self, run: Run, total: int | None = None) -> bool:
        """Puts a queued run in progress, and notes how many rows it has. False where it has ended or is another's."""
        values = {"status": "in_progress", "owner": self.owner} | ({} if total is None else {"total": total})
        ours = or_(
            and_(runs.c.status == "queued", or_(runs.c.owner.is_(None), runs.c.owner == self.owner)),
            and_(runs.c.status == "in_progress", runs.c.owner == self.owner),
        )
        async with self._database.write() as connection:
            done = await connection.execute(runs.update().where(runs.c.seq == run.seq, ours).values(values))
        return bool(done.rowcount)

    @uninterrupted
    async def finish(self, run: Run, status: Status, error: dict[str, Any] | None = None) -> bool:
        """Ends a run that is in progress and ours. False, and nothing changes, where it is not."""
        ended = runs.update().where(self.working_on(run)).values(status=status, error=error)
        async with self._database.write() as connection:
            done = await connection.execute(ended)
        return bool(done.rowcount)

    def working_on(self, run: Run) -> ColumnElement[bool]:
        """Whether the run is in progress and ours, so that we may write to it."""
        return and_(runs.c.seq == run.seq, runs.c.status == "in_progress", runs.c.owner == self.owner)

    async def close(self) -> None:
        await self._claims.close()

    @uninterrupted
    async def _claim(self, but_not: Collection[str]) -> Run | None:
        last = 0
        async with self._claiming:
            while True:
                query = select(runs.c.seq).where(runs.c.status.in_(_ACTIVE), runs.c.seq > last)
                query = query.where(runs.c.project.not_in(but_not)) if but_not else query
                async with self._database.read() as connection:
                    found = (await connection.scalars(query.order_by(runs.c.seq).limit(_CANDIDATES))).all()
                for seq in found:
                    run = await self._try(seq)
                    if run is not None:
                        return run
                if len(found) < _CANDIDATES:
                    return None
                last = found[-1]

    async def _try(self, seq: int) -> Run | None:
        if not await self._claims.take(seq):
            return None
        claimed = None
        try:
            async with self._database.write() as connection:
                # Its last holder may have ended it just before letting go.
                active = and_(runs.c.seq == seq, runs.c.status.in_(_ACTIVE))
                await connection.execute(runs.update().where(active).values(owner=self.owner))
                run = await _one(connection, active)
            claimed = run  # only now: a commit may fail, and nobody would hold what we keep from others
        finally:
            if claimed is None:
                await self._claims.drop(seq)
        return claimed


async def delete_runs(connection: AsyncConnection, which: ColumnElement[bool]) -> list[Deleted]:
    """Within a transaction. The runs' rows first: who adds items to one holds its row and is waited for."""
    query = select(runs.c.id, runs.c.eval_seq, runs.c.seq).where(which).with_for_update()
    found = [Deleted(*row) for row in await connection.execute(query)]
    if found:
        these = [{"gone": run.seq} for run in found]
        await connection.execute(runs.delete().where(runs.c.seq == bindparam("gone")), these)
        for table in (items, scores, error_rows, samples, sources, run_criteria, run_notes):
            await connection.execute(table.delete().where(table.c.run_seq == bindparam("gone")), these)
    return found


def _named(project: str, eval_id: str, run_id: str) -> ColumnElement[bool]:
    if not (ids.plausible(eval_id) and ids.plausible(run_id)):
        return false()
    return and_(runs.c.id == run_id, runs.c.eval_id == eval_id, runs.c.project == project)


def _select() -> Select[Any]:
    return _with_more(select(*_COLUMNS).join_from(runs, sources, sources.c.run_seq == runs.c.seq))


def select_without_source() -> Select[Any]:
    """Runs whose `data_source` is left empty."""
    return _with_more(select(*_WITHOUT_SOURCE).select_from(runs))


def _with_more(query: Select[Any]) -> Select[Any]:
    query = query.outerjoin(run_criteria, run_criteria.c.run_seq == runs.c.seq)
    return query.outerjoin(run_notes, run_notes.c.run_seq == runs.c.seq)


async def _one(connection: AsyncConnection, which: ColumnElement[bool]) -> Run | None:
    row = (await connection.execute(_select().where(which))).one_or_none()
    return None if row is None else Run(*row)
