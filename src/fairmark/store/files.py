"""Uploaded files: what is known of them here, their content on disk in `<home>/files/<id>`."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, false, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base import ids, positions
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Order, Page, make_page, page_query, read_span
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import files, received

Body = bytes  # a file has a field of that name


class File(msgspec.Struct, frozen=True):
    seq: int
    id: str
    project: str
    filename: str
    purpose: str
    bytes: int
    created_at: int
    expires_at: int | None
    imported: dict[str, Any] | None = None
    """Where it came from and when, of one that was made elsewhere: `source`, `at`."""
    received: Body | None = None
    """What was said of such a one, byte for byte as it came."""


_COLUMNS = [
    received.c.body.label("received") if name == "received" else files.c[name] for name in File.__struct_fields__
]
_SELECT = select(*_COLUMNS).select_from(
    files.outerjoin(received, and_(received.c.kind == "files", received.c.seq == files.c.seq))
)


class Files:
    """A file that has expired is absent."""

    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self.folder = home / "files"

    def content(self, file_id: str) -> Path:
        """Where the content of a file lies, or is to be put before the file is created."""
        return self.folder / file_id

    @uninterrupted
    async def create(
        self,
        project: str,
        id: str,  # noqa: A002 - as in File
        filename: str,
        purpose: str,
        bytes: int,  # noqa: A002
        expires_at: int | None,
    ) -> File:
        values: dict[str, Any] = {
            "id": id,
            "project": project,
            "filename": filename,
            "purpose": purpose,
            "bytes": bytes,
            "created_at": int(time.time()),
            "expires_at": expires_at,
        }
        async with self._database.write_in_order() as connection:
            done = await connection.execute(files.insert().values(values))
        return File(seq=new_seq(done), **values)

    @uninterrupted
    async def get(self, project: str, file_id: str) -> File | None:
        if not ids.plausible(file_id):
            return None
        query = _SELECT.where(files.c.id == file_id, files.c.project == project, _unexpired())
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else File(*row)

    async def path(self, project: str, file_id: str) -> Path | None:
        """Where the content of a file lies that is there."""
        return self.content(file_id) if await self.get(project, file_id) is not None else None

    @uninterrupted
    async def list(
        self,
        project: str,
        purpose: str | None = None,
        limit: int = 10_000,
        after: str | None = None,
        order: Order = "desc",
        before: str | None = None,
    ) -> Page[File]:
        query = _SELECT.where(files.c.project == project, _unexpired())
        if purpose is not None:
            query = query.where(files.c.purpose == purpose if ids.plausible(purpose) else false())
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                # Also one that has expired since: its place in the list stays.
                there = select(files.c.seq).where(files.c.id == id_, files.c.project == project)
                return await positions.find(connection, id_, there, "file", project)

            span = await read_span(after, before, find)
            rows = (await connection.execute(page_query(query, files.c.seq, span, limit, order))).all()
        return make_page(rows, span, limit, File)

    @uninterrupted
    async def delete(self, project: str, file_id: str) -> bool:
        """With its content. False where there is no such file."""
        if not ids.plausible(file_id):
            return False
        async with self._database.write() as connection:
            named = and_(files.c.id == file_id, files.c.project == project)
            if not await _delete(connection, and_(named, _unexpired())):
                return False
        await self._unlink([file_id])
        return True

    @uninterrupted
    async def delete_expired(self) -> int:
        """Frees the disk of what has expired; how many files that were."""
        expired = files.c.expires_at <= int(time.time())
        async with self._database.write() as connection:
            gone = await _delete(connection, expired)
        await self._unlink([file.id for file in gone])
        return len(gone)

    async def _unlink(self, gone: Sequence[str]) -> None:
        for file_id in gone:
            await asyncio.to_thread(self.content(file_id).unlink, missing_ok=True)


async def _delete(connection: AsyncConnection, which: ColumnElement[bool]) -> Sequence[Deleted]:
    query = select(files.c.id, files.c.project, files.c.seq).where(which).with_for_update()
    gone = [Deleted(*row) for row in await connection.execute(query)]
    if gone:
        these = [{"gone": file.seq} for file in gone]
        await connection.execute(files.delete().where(files.c.seq == bindparam("gone")), these)
        of_files = received.delete().where(received.c.kind == "files", received.c.seq == bindparam("gone"))
        await connection.execute(of_files, these)
        await positions.leave(connection, "file", gone)
    return gone


def _unexpired() -> ColumnElement[bool]:
    return or_(files.c.expires_at.is_(None), files.c.expires_at > int(time.time()))
