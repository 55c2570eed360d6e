"""Evals: what is to be tested, and by which criteria."""

import time
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base import ids, positions
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Order, Page, bounded_page, read_span
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import evals, received, runs
from fairmark.store.evals.rowfiles import RowFiles
from fairmark.store.evals.runs import delete_runs

OrderBy = Literal["created_at", "updated_at"]


class Eval(msgspec.Struct, frozen=True):
    seq: int
    id: str
    project: str
    name: str
    metadata: dict[str, Any]
    data_source_config: dict[str, Any]
    criteria: list[dict[str, Any]]
    created_at: int
    updated_at: int
    imported: dict[str, Any] | None = None
    """Where it came from and when, of one that was made elsewhere: `source`, `at`."""
    received: bytes | None = None
    """Such a one byte for byte as it came."""


class FoundEvals(msgspec.Struct, frozen=True):
    evals: list[Eval]
    count: int
    """How many there are in all, on other pages too."""


_COLUMNS = [
    received.c.body.label("received") if name == "received" else evals.c[name] for name in Eval.__struct_fields__
]
_SELECT = select(*_COLUMNS).select_from(
    evals.outerjoin(received, and_(received.c.kind == "evals", received.c.seq == evals.c.seq))
)
_BYTES = (
    func.length(evals.c.data_source_config)
    + func.length(evals.c.criteria)
    + func.coalesce(func.length(received.c.body), 0)
)
# Seconds tie, so a list goes by numbers: an eval's own, or one that it is given anew with every change.
_POSITION = {"created_at": evals.c.seq, "updated_at": evals.c.updated_seq}


class Evals:
    def __init__(self, database: Database, row_files: RowFiles) -> None:
        self._database = database
        self._row_files = row_files

    @uninterrupted
    async def create(
        self,
        project: str,
        name: str | None,
        metadata: dict[str, Any] | None,
        data_source_config: dict[str, Any],
        criteria: list[dict[str, Any]],
        eval_id: str | None = None,
    ) -> Eval:
        """`eval_id`: one that is known beforehand, for whoever may have to do this again."""
        now = int(time.time())
        values: dict[str, Any] = {
            "id": eval_id or ids.new("eval_"),
            "project": project,
            "name": name or "",
            "metadata": metadata or {},
            "data_source_config": data_source_config,
            "criteria": criteria,
            "created_at": now,
            "updated_at": now,
        }
        async with self._database.write_in_order() as connection:
            turn = await next_turn(connection, project)
            done = await connection.execute(evals.insert().values({**values, "updated_seq": turn}))
        return Eval(seq=new_seq(done), **values)

    @uninterrupted
    async def get(self, project: str, eval_id: str) -> Eval | None:
        async with self._database.read() as connection:
            return await _get(connection, project, eval_id)

    @uninterrupted
    async def list(
        self,
        project: str,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        order_by: OrderBy = "created_at",
        before: str | None = None,
    ) -> Page[Eval]:
        """By `updated_at`, an eval that is changed while somebody pages moves to the end of the list."""
        position = _POSITION[order_by]
        query = _SELECT.where(evals.c.project == project)
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                there = select(position).where(evals.c.id == id_, evals.c.project == project)
                return await positions.find(connection, id_, there, "eval", project, position.name)

            span = await read_span(after, before, find)
            return await bounded_page(connection, query, position, _BYTES, span, limit, order, Eval)

    @uninterrupted
    async def search(self, project: str, words: str, limit: int, offset: int) -> FoundEvals:
        """Those with the words somewhere in their names, whatever the case, the newest first."""
        query = _SELECT.where(evals.c.project == project).order_by(evals.c.seq.desc())
        async with self._database.read() as connection:
            if words:
                # Names are compared here: the databases know the case of different letters.
                named = select(evals.c.seq, evals.c.name).where(evals.c.project == project).order_by(evals.c.seq.desc())
                wanted = words.casefold()
                seqs = [row.seq for row in await connection.execute(named) if wanted in row.name.casefold()]
                count = len(seqs)
                query = query.where(evals.c.seq.in_(seqs[offset : offset + limit]))
            else:
                count = await connection.scalar(select(func.count()).where(evals.c.project == project)) or 0
                query = query.limit(limit).offset(offset)
            return FoundEvals([Eval(*row) for row in await connection.execute(query)], count)

    @uninterrupted
    async def update(
        self,
        project: str,
        eval_id: str,
        name: str | UnsetType = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
    ) -> Eval | None:
        """What is not given stays as it is. None where there is no such eval."""
        fields = {"name": name, "metadata": metadata}
        values = {field: value for field, value in fields.items() if value is not UNSET}
        async with self._database.write_in_order() as connection:
            if values and ids.plausible(eval_id):
                turn = await next_turn(connection, project)
                changed = evals.update().where(evals.c.id == eval_id, evals.c.project == project)
                await connection.execute(changed.values(**values, updated_at=int(time.time()), updated_seq=turn))
            return await _get(connection, project, eval_id)

    @uninterrupted
    async def delete(self, project: str, eval_id: str) -> bool:
        """With its runs and all that belongs to them. False where there is no such eval."""
        if not ids.plausible(eval_id):
            return False
        async with self._database.write() as connection:
            # Its row first: from then on nobody can add a run to it.
            query = select(evals.c.id, evals.c.project, evals.c.seq, evals.c.updated_seq).where(
                evals.c.id == eval_id, evals.c.project == project
            )
            row = (await connection.execute(query.with_for_update())).one_or_none()
            if row is None:
                return False
            gone = Deleted(*row)
            await connection.execute(evals.delete().where(evals.c.seq == gone.seq))
            await connection.execute(received.delete().where(received.c.kind == "evals", received.c.seq == gone.seq))
            await positions.leave(connection, "eval", [gone])
            # Nobody can list its runs any more: they leave nothing behind.
            gone_runs = await delete_runs(connection, runs.c.eval_seq == gone.seq)
        await self._row_files.delete(gone_runs.rows_files)
        return True


async def _get(connection: AsyncConnection, project: str, eval_id: str) -> Eval | None:
    if not ids.plausible(eval_id):
        return None
    query = _SELECT.where(evals.c.id == eval_id, evals.c.project == project)
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else Eval(*row)


async def next_turn(connection: AsyncConnection, project: str) -> int:
    last = await connection.scalar(select(func.max(evals.c.updated_seq)).where(evals.c.project == project))
    return max(last or 0, await positions.last_update(connection, "eval", project)) + 1
