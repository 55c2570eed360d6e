"""Where what was deleted stood in its list: who pages through a list and deletes what it shows goes on from there.

An id tells nothing of its place, and ids that are out stay as they are. So whoever deletes something leaves its id and
its number behind, in the same transaction. Nobody pages for days: after one, or behind a hundred thousand later ones, a
place is forgotten, and its id is as unknown as any other.
"""

import time
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base import ids
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import deleted

Kind = Literal["eval", "run", "file", "grader", "completion", "label", "judge_check", "hacking_report"]

KEPT_S = 86_400
MOST_KEPT = 100_000


class Deleted(NamedTuple):
    id: str
    scope: str | int
    """Whose list it was in: a project's, or for a run the number of its eval."""
    seq: int
    updated_seq: int | None = None


async def leave(connection: AsyncConnection, kind: Kind, gone: Iterable[Deleted]) -> None:
    """Within the transaction that deletes them."""
    now = int(time.time())
    rows = [{**row._asdict(), "scope": str(row.scope), "kind": kind, "deleted_at": now} for row in gone]
    if rows:
        await come_back(connection, *(row["id"] for row in rows))  # two projects may have had the same, in turn
        await connection.execute(deleted.insert(), rows)


async def come_back(connection: AsyncConnection, *ids_: str) -> None:
    """What was deleted is taken in again from elsewhere, under the ids that it had: it stands in another place now."""
    await connection.execute(deleted.delete().where(deleted.c.id == bindparam("back")), [{"back": id_} for id_ in ids_])


async def find(
    connection: AsyncConnection, id_: str, there: Select[Any], kind: Kind, scope: str | int, column: str = "seq"
) -> int | None:
    """The place of what has this id: `there` selects it where it is there still. None where it never was in this list.

    In one statement: between two it might be deleted, and be found by neither.
    """
    if not ids.plausible(id_):
        return None
    left = select(deleted.c[column]).where(
        deleted.c.id == id_, deleted.c.kind == kind, deleted.c.scope == str(scope), deleted.c[column].is_not(None)
    )
    seq: int | None = await connection.scalar(there.union_all(left))
    return seq


async def last_update(connection: AsyncConnection, kind: Kind, scope: str) -> int:
    """The greatest turn that something deleted had: given again, it would stand where somebody has passed already."""
    query = select(func.max(deleted.c.updated_seq)).where(deleted.c.kind == kind, deleted.c.scope == scope)
    return await connection.scalar(query) or 0


class Positions:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def forget(self, kept_s: float = KEPT_S, most: int = MOST_KEPT) -> None:
        """Those that nobody will ask for any more."""
        async with self._database.write() as connection:
            by_time = select(deleted.c.deleted_at).order_by(deleted.c.deleted_at.desc())
            oldest = await connection.scalar(by_time.offset(most - 1).limit(1))
            since = max(int(time.time() - kept_s), 0 if oldest is None else oldest)
            await connection.execute(deleted.delete().where(deleted.c.deleted_at < since))
