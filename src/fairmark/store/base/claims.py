"""Who works on which run, job, import or check: at most one server on each, and a dead server's are free at once."""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement, Table, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.errors import StoreUnavailable
from fairmark.store.base.database import Database, uninterrupted

RUNS, JOBS, IMPORTS, CHECKS = 0x46414953, 0x46414954, 0x46414955, 0x46414956
"""The first numbers of the advisory locks; the second one is the run's, the job's, the import's or the check's."""
_CANDIDATES = 100


class Numbered(Protocol):
    """As it stands in a table, in the order in which rows came in."""

    @property
    def seq(self) -> int: ...


Claimed = TypeVar("Claimed", bound=Numbered)
ReadOne = Callable[[AsyncConnection, ColumnElement[bool]], Awaitable[Claimed | None]]


class Claims(Protocol):
    async def take(self, seq: int) -> bool:
        """Whether the run, or job, is ours now. False where somebody has it already, be it ourselves."""
        ...

    async def drop(self, seq: int) -> None: ...

    async def close(self) -> None: ...


class ClaimsInMemory:
    """For SQLite, whose file takes one server at a time."""

    def __init__(self) -> None:
        self._held: set[int] = set()

    async def take(self, seq: int) -> bool:
        if seq in self._held:
            return False
        self._held.add(seq)
        return True

    async def drop(self, seq: int) -> None:
        self._held.discard(seq)

    async def close(self) -> None:
        self._held.clear()


class ClaimsInSession:
    """For PostgreSQL: advisory locks of one connection that is kept for them. They end with it.

    A connection that was lost is opened again, and locks again what nobody took meanwhile. Whoever did take a run has
    written its name on it, so that its former holder writes nothing more.
    """

    def __init__(self, database: Database, kind: int) -> None:
        self._database = database
        self._kind = kind
        self._held: set[int] = set()
        self._connection: AsyncConnection | None = None
        self._driver: Any = None
        self._one_at_a_time = asyncio.Lock()

    async def take(self, seq: int) -> bool:
        async with self._one_at_a_time:
            connection = await self._connected()
            if seq in self._held:
                return False  # our own session would get the same lock twice
            if await self._lock(connection, seq):
                self._held.add(seq)
                return True
            return False

    async def drop(self, seq: int) -> None:
        async with self._one_at_a_time:
            self._held.discard(seq)
            if self._connection is None or self._driver.is_closed():
                return
            try:
                with self._database.translating_errors():
                    await self._connection.execute(select(func.pg_advisory_unlock(self._kind, seq)))
            except StoreUnavailable:
                pass  # then the session is gone, and the lock with it

    async def close(self) -> None:
        async with self._one_at_a_time:
            self._held.clear()
            await self._disconnect()

    async def _connected(self) -> AsyncConnection:
        if self._connection is not None and not self._driver.is_closed():
            return self._connection
        await self._disconnect()
        connection = await self._database.session()
        self._driver = (await connection.get_raw_connection()).driver_connection
        self._connection = connection
        for seq in self._held:
            await self._lock(connection, seq)
        return connection

    async def _lock(self, connection: AsyncConnection, seq: int) -> bool:
        with self._database.translating_errors():
            return bool(await connection.scalar(select(func.pg_try_advisory_lock(self._kind, seq))))

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # The pool would keep a session with its locks, and complain about a dead one.
            await connection.invalidate()
            await connection.close()


def claims_in(database: Database, kind: int) -> Claims:
    return ClaimsInMemory() if database.is_sqlite else ClaimsInSession(database, kind)


class Waiting(Generic[Claimed]):
    """What waits in a table to be worked on, the oldest first. The table has `seq`, `project` and `owner`."""

    def __init__(self, database: Database, kind: int, table: Table, read_one: "ReadOne[Claimed]") -> None:
        """`read_one` reads the one row of a condition."""
        self._database = database
        self._table = table
        self._read_one = read_one
        self._claiming = asyncio.Lock()
        self.claims = claims_in(database, kind)
        self.owner = secrets.token_hex(8)
        """This store's name on the rows that it works on."""

    async def claim(self, free: ColumnElement[bool], but_not: Collection[str]) -> Claimed | None:
        """The oldest row that is `free` and that nobody works on, but for these projects'. It is ours until it is
        released."""
        claiming = asyncio.ensure_future(self._claim(free, but_not))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # Who is cancelled never hears of the row, and so could not release it.
            with contextlib.suppress(StoreUnavailable):
                row = await claiming
                if row is not None:
                    await self.release(row)
            raise

    @uninterrupted
    async def release(self, row: Claimed) -> None:
        """Never fails: a claim that cannot be given back has ended."""
        await self.claims.drop(row.seq)

    async def close(self) -> None:
        await self.claims.close()

    @uninterrupted
    async def _claim(self, free: ColumnElement[bool], but_not: Collection[str]) -> Claimed | None:
        last = 0
        columns = self._table.c
        async with self._claiming:
            while True:
                query = select(columns.seq).where(free, columns.seq > last)
                query = query.where(columns.project.not_in(but_not)) if but_not else query
                async with self._database.read() as connection:
                    candidates = (await connection.scalars(query.order_by(columns.seq).limit(_CANDIDATES))).all()
                for seq in candidates:
                    row = await self._try(seq, free)
                    if row is not None:
                        return row
                if len(candidates) < _CANDIDATES:
                    return None
                last = candidates[-1]

    async def _try(self, seq: int, free: ColumnElement[bool]) -> Claimed | None:
        if not await self.claims.take(seq):
            return None
        claimed = None
        try:
            async with self._database.write() as connection:
                # Its last holder may have ended it just before letting go.
                still_free = and_(self._table.c.seq == seq, free)
                await connection.execute(self._table.update().where(still_free).values(owner=self.owner))
                row = await self._read_one(connection, still_free)
            claimed = row  # only now: a commit may fail, and nobody would hold what we keep from others
        finally:
            if claimed is None:
                await self.claims.drop(seq)
        return claimed
