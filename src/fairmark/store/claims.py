"""Who works on which run: at most one server on each, and a dead server's runs are free at once."""

import asyncio
from typing import Any, Protocol

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.errors import StoreUnavailable
from fairmark.store.database import Database

_CLAIMS = 0x46414953
"""The first number of the advisory locks of runs; the second one is the run's."""


class Claims(Protocol):
    async def take(self, seq: int) -> bool:
        """Whether the run is ours now. False where somebody has it already, be it ourselves."""
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

    def __init__(self, database: Database) -> None:
        self._database = database
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
                    await self._connection.execute(select(func.pg_advisory_unlock(_CLAIMS, seq)))
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
            return bool(await connection.scalar(select(func.pg_try_advisory_lock(_CLAIMS, seq))))

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # The pool would keep a session with its locks, and complain about a dead one.
            await connection.invalidate()
            await connection.close()
