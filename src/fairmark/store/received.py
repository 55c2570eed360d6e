"""What was made elsewhere, taken in under its own ids: evals, runs with their items, files, each as it was received.

Whoever takes something in does so in transactions that leave the store in order: a run that is being taken in says so
until all its items are there, and is taken in from the start by whoever finds it like that.
"""

import secrets
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base import ids, positions
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.tables import (
    error_rows,
    evals,
    facets,
    files,
    item_ids,
    items,
    received,
    run_criteria,
    run_notes,
    runs,
    samples,
    scores,
    sources,
)
from fairmark.store.evals.counts import Counts
from fairmark.store.evals.evals import next_turn
from fairmark.store.evals.items import NewItem, insert_items
from fairmark.store.evals.notes import Notes

Kind = Literal["evals", "runs", "files"]
_TABLES = {"evals": evals, "runs": runs, "files": files}
UNFINISHED = "its rows were not all taken in: load the archive again"
"""What a run says of itself while, or because, it is not all there."""
TAKING_IN = "its rows are not all taken in yet"
"""The same of one that this machine brings in by itself."""


_UNFINISHED = (UNFINISHED, TAKING_IN)


class Present(msgspec.Struct, frozen=True):
    """What has an id already, in whichever project."""

    seq: int
    project: str
    imported: dict[str, Any] | None
    received: bytes | None


class ReceivedEval(msgspec.Struct, frozen=True):
    id: str
    name: str
    metadata: dict[str, Any]
    data_source_config: dict[str, Any]
    criteria: list[dict[str, Any]]
    created_at: int
    body: bytes


class ReceivedRun(msgspec.Struct, frozen=True):
    id: str
    eval_id: str
    name: str
    metadata: dict[str, Any]
    model: str | None
    status: str
    error: dict[str, Any] | None
    created_at: int
    criteria: list[dict[str, Any]] | None
    """Where they are others than its eval's."""
    regraded_from: str | None
    body: bytes | None
    """As it was received; None of one that `fairmark eval` made, which has our own form."""
    unfinished: str = UNFINISHED
    data_source: bytes = b""
    started_at: float | None = None
    ended_at: float | None = None


class ReceivedItem(msgspec.Struct, frozen=True):
    id: str | None
    """None where it has none that could be kept."""
    item: NewItem


class Begun(msgspec.Struct, frozen=True):
    """A run that is being taken in, by us."""

    seq: int
    token: str


class ReceivedFile(msgspec.Struct, frozen=True):
    id: str
    filename: str
    purpose: str
    bytes: int
    created_at: int
    body: Any


class Received:
    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def place(self) -> str:
        """A name of the database, without secrets."""
        return self._database.name

    @uninterrupted
    async def find(self, kind: Kind, id_: str) -> Present | None:
        """What has this id: ids are unique in a server, whatever the project."""
        if not ids.plausible(id_):
            return None
        table = _TABLES[kind]
        body = (received.c.kind == kind) & (received.c.seq == table.c.seq)
        query = select(table.c.seq, table.c.project, table.c.imported, received.c.body)
        query = query.select_from(table.outerjoin(received, body)).where(table.c.id == id_)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else Present(*row)

    @uninterrupted
    async def put_eval(self, project: str, new: ReceivedEval, imported: dict[str, Any]) -> None:
        """A new one, or in the place of the project's own of this id. What runs it has keep the criteria they had."""
        values = {
            **{name: getattr(new, name) for name in ("name", "metadata", "data_source_config", "criteria")},
            "created_at": new.created_at,
            "updated_at": new.created_at,
            "imported": imported,
        }
        async with self._database.write_in_order() as connection:
            values["updated_seq"] = await next_turn(connection, project)
            there = select(evals.c.seq, evals.c.criteria, evals.c.imported)
            there = there.where(evals.c.id == new.id, evals.c.project == project)
            row = (await connection.execute(there.with_for_update())).one_or_none()
            if row is None:
                done = await connection.execute(evals.insert().values(id=new.id, project=project, **values))
                seq = new_seq(done)
                await positions.come_back(connection, new.id)
            else:
                seq = row.seq
                if row.criteria != new.criteria and not _are_defined(row.imported, row.criteria, new.criteria):
                    await _pin(connection, seq, row.criteria)
                await connection.execute(evals.update().where(evals.c.seq == seq).values(values))
            await _keep(connection, "evals", seq, new.body)

    @uninterrupted
    async def have_eval(
        self, project: str, eval_id: str, name: str, data_source_config: dict[str, Any], criteria: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The criteria of an eval of our own, which is there now, whoever made it first."""
        now = int(time.time())
        async with self._database.write_in_order() as connection:
            there = select(evals.c.criteria).where(evals.c.id == eval_id, evals.c.project == project)
            row = (await connection.execute(there)).one_or_none()
            if row is not None:
                theirs: list[dict[str, Any]] = row.criteria
                return theirs
            values = {
                "id": eval_id,
                "project": project,
                "name": name,
                "metadata": {},
                "data_source_config": data_source_config,
                "criteria": criteria,
                "created_at": now,
                "updated_at": now,
                "updated_seq": await next_turn(connection, project),
            }
            await connection.execute(evals.insert().values(values))
            await positions.come_back(connection, eval_id)
        return criteria

    @uninterrupted
    async def begin_run(self, project: str, new: ReceivedRun, imported: dict[str, Any]) -> Begun | None:
        """The run, which is there now and has no items; what it had before is gone. None where its eval is not there.

        Whoever begins it again takes it from us.
        """
        token = secrets.token_hex(8)
        values = {
            **{name: getattr(new, name) for name in ("eval_id", "name", "metadata", "model", "status", "error")},
            **Counts().dump(),
            "created_at": new.created_at,
            "regraded_from": new.regraded_from,
            "options": {},
            "total": 0,
            "rows_file": None,
            "imported": {**imported, "items": None},
            "started_at": new.started_at,
            "ended_at": new.ended_at,
            "owner": token,
        }
        async with self._database.write_in_order() as connection:
            of_eval = select(evals.c.seq).where(evals.c.id == new.eval_id, evals.c.project == project)
            eval_seq = await connection.scalar(of_eval.with_for_update(read=True))
            if eval_seq is None:
                return None
            values["eval_seq"] = eval_seq
            there = select(runs.c.seq).where(runs.c.id == new.id, runs.c.project == project)
            seq = await connection.scalar(there.with_for_update())
            if seq is None:
                seq = new_seq(await connection.execute(runs.insert().values(id=new.id, project=project, **values)))
                await positions.come_back(connection, new.id)
            else:
                await connection.execute(runs.update().where(runs.c.seq == seq).values(values))
                for table in (items, item_ids, scores, error_rows, facets, samples, sources, run_criteria, run_notes):
                    await connection.execute(table.delete().where(table.c.run_seq == seq))
            await connection.execute(sources.insert().values(run_seq=seq, body=new.data_source))
            if new.criteria is not None:
                await connection.execute(run_criteria.insert().values(run_seq=seq, criteria=new.criteria))
            await connection.execute(run_notes.insert().values(run_seq=seq, reasons={}, warnings={new.unfinished: 1}))
            if new.body is not None:
                await _keep(connection, "runs", seq, new.body)
            return Begun(seq, token)

    @uninterrupted
    async def add_items(self, run: Begun, new: Sequence[ReceivedItem]) -> bool:
        """False where the run was deleted, or begun by somebody else, meanwhile."""
        seq = run.seq
        async with self._database.write() as connection:
            if not await _hold(connection, run):
                return False
            await insert_items(connection, self._database.is_sqlite, seq, [arrived.item for arrived in new])
            named = [
                {"run_seq": seq, "idx": arrived.item.idx, "id": arrived.id} for arrived in new if arrived.id is not None
            ]
            if named:
                await connection.execute(item_ids.insert(), named)
            return True

    @uninterrupted
    async def end_run(
        self, run: Begun, imported: dict[str, Any], counts: Counts, total: int, warnings: Sequence[str]
    ) -> bool:
        """All its items are there. `imported` says so, and by what they are known when they come again.

        False as for `add_items`.
        """
        seq = run.seq
        async with self._database.write() as connection:
            if not await _hold(connection, run):
                return False
            query = select(run_notes.c.reasons, run_notes.c.warnings).where(run_notes.c.run_seq == seq)
            row = (await connection.execute(query)).one()
            notes = Notes(row.reasons, {text: count for text, count in row.warnings.items() if text not in _UNFINISHED})
            told = Notes({}, dict.fromkeys(warnings, 1)).plus(notes)
            await connection.execute(
                run_notes.update().where(run_notes.c.run_seq == seq).values(msgspec.structs.asdict(told))
            )
            values = {**counts.dump(), "total": total, "imported": imported, "owner": None}
            await connection.execute(runs.update().where(runs.c.seq == seq).values(values))
            return True

    @uninterrupted
    async def put_file(self, project: str, new: ReceivedFile, imported: dict[str, Any]) -> None:
        """Its content lies where it belongs already. It never expires: it was fetched to be kept."""
        values = {
            **{name: getattr(new, name) for name in ("filename", "purpose", "bytes", "created_at")},
            "expires_at": None,
            "imported": imported,
        }
        async with self._database.write_in_order() as connection:
            there = select(files.c.seq).where(files.c.id == new.id, files.c.project == project)
            seq = await connection.scalar(there.with_for_update())
            if seq is None:
                seq = new_seq(await connection.execute(files.insert().values(id=new.id, project=project, **values)))
                await positions.come_back(connection, new.id)
            else:
                await connection.execute(files.update().where(files.c.seq == seq).values(values))
            await _keep(connection, "files", seq, new.body)


async def _hold(connection: AsyncConnection, run: Begun) -> bool:
    query = select(runs.c.seq).where(runs.c.seq == run.seq, runs.c.owner == run.token).with_for_update()
    return await connection.scalar(query) is not None


async def _keep(connection: AsyncConnection, kind: Kind, seq: int, body: bytes) -> None:
    await connection.execute(received.delete().where(received.c.kind == kind, received.c.seq == seq))
    await connection.execute(received.insert().values(kind=kind, seq=seq, body=body))


def _are_defined(imported: dict[str, Any] | None, before: list[dict[str, Any]], now: list[dict[str, Any]]) -> bool:
    """Whether the eval only named its criteria so far, and what they are has come now, each in its place."""
    is_made_up = imported is not None and imported.get("made_up") is True
    return is_made_up and [one["id"] for one in before] == [one["id"] for one in now[: len(before)]]


async def _pin(connection: AsyncConnection, eval_seq: int, criteria: list[dict[str, Any]]) -> None:
    """Its runs were graded by these: their scores know criteria by their place."""
    bare = select(runs.c.seq).outerjoin(run_criteria, run_criteria.c.run_seq == runs.c.seq)
    unpinned = await connection.scalars(bare.where(runs.c.eval_seq == eval_seq, run_criteria.c.run_seq.is_(None)))
    rows = [{"run": seq, "kept": criteria} for seq in unpinned]
    if rows:
        values = {"run_seq": bindparam("run"), "criteria": bindparam("kept", type_=run_criteria.c.criteria.type)}
        await connection.execute(run_criteria.insert().values(values), rows)
