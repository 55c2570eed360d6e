"""Where what was deleted stood in its list: who pages through a list and deletes what it shows goes on from there.

An id tells nothing of its place, and ids that are out stay as they are. So whoever deletes something leaves its id and
its number behind, in the same transaction. Nobody pages for days: after one, or behind a hundred thousand later ones, a
place is forgotten, and its id is as unknown as any other.
"""

import time
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store import ids
from fairmark.store.database import Database, uninterrupted
from fairmark.store.tables import deleted

Kind = Literal["eval", "run", "file", "grader"]

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
    rows = [{**each._asdict(), "scope": str(each.scope), "kind": kind, "deleted_at": now} for each in gone]
    if rows:
        await connection.execute(deleted.insert(), rows)


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
    found: int | None = await connection.scalar(there.union_all(left))
    return found


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
