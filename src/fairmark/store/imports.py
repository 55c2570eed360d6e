"""Imports: asked for, queued, running, and how they ended. At most one of a project is under way.

Who works on an import has claimed it, and a claim ends with the process that holds it: what is still called running and
nobody has is `interrupted`, and may be continued.
"""

import time
from collections.abc import Sequence
from typing import Any, Literal, get_args

import msgspec
from sqlalchemy import null, select, update

from fairmark.store.base import ids
from fairmark.store.base.claims import IMPORTS, claims_in
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Page, make_page, page_query, read_span
from fairmark.store.base.tables import imports

ImportStatus = Literal["queued", "running", "completed", "failed", "cancelled", "interrupted"]
IMPORT_STATUSES: tuple[ImportStatus, ...] = get_args(ImportStatus)
UNDER_WAY = ("queued", "running")
_ONE_LOST = "The server ended before the import did. What was read is kept: continue it."


class Import(msgspec.Struct, frozen=True):
    seq: int
    id: str
    project: str
    status: ImportStatus
    request: dict[str, Any]
    """What was asked for. There is no key in it."""
    progress: dict[str, Any]
    report: dict[str, Any] | None
    error: str | None
    created_at: int
    updated_at: int

    @property
    def is_active(self) -> bool:
        return self.status in UNDER_WAY


_COLUMNS = [imports.c[name] for name in Import.__struct_fields__]
_LISTED = [null().label("report") if column.name == "report" else column for column in _COLUMNS]


class Imports:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._claims = claims_in(database, IMPORTS)

    @uninterrupted
    async def create(self, project: str, request: dict[str, Any], import_id: str | None = None) -> Import | None:
        """Queued and ours; None where one of the project is under way."""
        values: dict[str, Any] = {
            "id": import_id or ids.new("import_"),
            "project": project,
            "status": "queued",
            "request": request,
            "progress": {},
            "report": None,
            "error": None,
            "created_at": (now := int(time.time())),
            "updated_at": now,
        }
        async with self._database.write_in_order() as connection:
            if await connection.scalar(_active_of(project)) is not None:
                return None
            made = Import(seq=new_seq(await connection.execute(imports.insert().values(values))), **values)
            await self._claims.take(made.seq)  # before others can see it, who might take it for a lost one
        return made

    @uninterrupted
    async def restart(self, import_: Import) -> Import | None:
        """The same, queued and ours again; None where it or another of the project is under way."""
        if not await self._claims.take(import_.seq):
            return None
        async with self._database.write_in_order() as connection:
            if await connection.scalar(_active_of(import_.project)) is not None:
                started = None
            else:
                changes: dict[str, Any] = {
                    "status": "queued",
                    "progress": {},
                    "report": None,
                    "error": None,
                    "updated_at": int(time.time()),
                }
                await connection.execute(update(imports).where(imports.c.seq == import_.seq).values(changes))
                started = msgspec.structs.replace(import_, **changes)
        if started is None:
            await self._claims.drop(import_.seq)
        return started

    @uninterrupted
    async def get(self, project: str, import_id: str) -> Import | None:
        if not ids.plausible(import_id):
            return None
        query = select(*_COLUMNS).where(imports.c.project == project, imports.c.id == import_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else Import(*row)

    @uninterrupted
    async def list(self, project: str, limit: int = 20, after: str | None = None) -> Page[Import]:
        """The newest first, without their reports."""
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                if not ids.plausible(id_):
                    return None
                there = select(imports.c.seq).where(imports.c.id == id_, imports.c.project == project)
                position: int | None = await connection.scalar(there)
                return position

            span = await read_span(after, None, find)
            query = select(*_LISTED).where(imports.c.project == project)
            rows = (await connection.execute(page_query(query, imports.c.seq, span, limit, "desc"))).all()
        return make_page(rows, span, limit, Import)

    @uninterrupted
    async def note(self, import_: Import, progress: dict[str, Any]) -> bool:
        """How far it is. False where it is no longer under way."""
        values = {"status": "running", "progress": progress, "updated_at": int(time.time())}
        async with self._database.write() as connection:
            done = await connection.execute(_still(import_).values(values))
        return bool(done.rowcount)

    @uninterrupted
    async def cancel(self, import_: Import) -> None:
        """Whoever works on it is told by `note`."""
        values = {"status": "cancelled", "updated_at": int(time.time())}
        async with self._database.write() as connection:
            await connection.execute(_still(import_).values(values))

    @uninterrupted
    async def end(
        self,
        import_: Import,
        status: ImportStatus,
        progress: dict[str, Any],
        report: dict[str, Any] | None = None,
        error: str | None = None,
    ) -> None:
        """How it ended, unless that is known already. It is nobody's from then on."""
        values = {"status": status, "progress": progress, "report": report, "error": error}
        async with self._database.write() as connection:
            await connection.execute(_still(import_).values({**values, "updated_at": int(time.time())}))
        await self._claims.drop(import_.seq)

    async def release(self, import_: Import) -> None:
        """It is nobody's: where nobody has written how it ended, `interrupt_lost` will."""
        await self._claims.drop(import_.seq)

    @uninterrupted
    async def take_queued(self) -> Sequence[Import]:
        """Those that are queued and that nobody has: they are ours now."""
        query = select(*_COLUMNS).where(imports.c.status == "queued").order_by(imports.c.seq)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        return [Import(*row) for row in rows if await self._claims.take(row.seq)]

    @uninterrupted
    async def interrupt_lost(self) -> None:
        """Says of those that are called running and belong to nobody that they were interrupted."""
        async with self._database.read() as connection:
            rows = (await connection.execute(select(*_COLUMNS).where(imports.c.status.in_(UNDER_WAY)))).all()
        for lost in [Import(*row) for row in rows]:
            if await self._claims.take(lost.seq):
                values = {"status": "interrupted", "error": _ONE_LOST, "updated_at": int(time.time())}
                async with self._database.write() as connection:
                    await connection.execute(_still(lost).values(values))
                await self._claims.drop(lost.seq)

    async def close(self) -> None:
        await self._claims.close()


def _active_of(project: str) -> Any:
    return select(imports.c.seq).where(imports.c.project == project, imports.c.status.in_(UNDER_WAY)).limit(1)


def _still(import_: Import) -> Any:
    return update(imports).where(imports.c.seq == import_.seq, imports.c.status.in_(UNDER_WAY))
