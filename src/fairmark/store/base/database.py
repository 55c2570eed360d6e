"""The database: opened, brought up to date, locked; reads, write transactions, and errors that mean "not now"."""

import asyncio
import contextlib
import errno
import fcntl
import functools
import os
import secrets
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TextIO, TypeVar

import asyncpg
from sqlalchemy import CursorResult, create_engine, event, exc, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from fairmark import jsontext
from fairmark.errors import DiskFull, InvalidDatabase, StoreUnavailable
from fairmark.store.base import revisions
from fairmark.store.base.tables import deleted
from fairmark.store.base.turns import Turns
from fairmark.work import counts

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

CONNECT_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 120.0
POOL_TIMEOUT_S = 30.0
"""How long a call waits for one of the connections to PostgreSQL."""
BUSY_TIMEOUT_MS = 5_000
"""How long another process, such as `fairmark keys`, may keep us from writing to a SQLite file."""
SQLITE_READERS = 5
POSTGRES_READERS, POSTGRES_WRITERS = 12, 8

# Advisory locks of PostgreSQL are named by two numbers. The second ones of this first one:
_LOCKS = 0x46414952
_UPGRADING = 0
_IN_ORDER = 1

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    # What is committed survives the end of the process; the last moments before a power cut may be lost.
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}",
    "PRAGMA cache_size=-16000",
    "PRAGMA temp_store=MEMORY",
)
# Transactions are ours to begin; the driver's own would come too late and too weak.
_SQLITE_ARGUMENTS = {"isolation_level": None}
# busy, locked, out of memory, read-only, I/O error, corrupt, full, cannot open, not a database
_SQLITE_UNAVAILABLE = {5, 6, 7, 8, 10, 11, 13, 14, 26}
# Classes of SQLSTATE: connection, authorisation, database name, deadlock, resources, intervention, system.
_POSTGRES_UNAVAILABLE = ("08", "28", "3D", "40", "53", "57", "58", "25006", "55P03")
NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
"""What the system says where a disk, or somebody's share of it, is full."""
TRIAL_ROWS = 1000
"""So many rows, of some 300 bytes, are tried where there was no room."""
_POSTGRES_OPTIONS = {"host", "port", "ssl"}

SECONDS = counts.histogram(
    "fairmark_store_seconds",
    "What reads and transactions of the store took, with their wait for a turn.",
    "operation",
)


class Database:
    """One database, SQLite or PostgreSQL. Belongs to the event loop that opened it."""

    def __init__(self, url: URL) -> None:
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.name = str(url.database) if self.is_sqlite else url.render_as_string(hide_password=True)
        # Who writes has connections of its own: however many read, no write queues behind them.
        make = _sqlite_engine if self.is_sqlite else _postgres_engine
        self._readers = make(url, SQLITE_READERS if self.is_sqlite else POSTGRES_READERS)
        self._writers = make(url, 1 if self.is_sqlite else POSTGRES_WRITERS)
        # PostgreSQL needs no transaction around a single SELECT; SQLite has none until we begin one.
        self._reading = (
            self._readers if self.is_sqlite else self._readers.execution_options(isolation_level="AUTOCOMMIT")
        )
        self._turns = Turns(SQLITE_READERS) if self.is_sqlite else None
        self._was_full = False
        self._lock: TextIO | None = None
        self._under_way: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(cls, url: str | None, home: Path, exclusive: bool, makes: bool = True) -> "Database":
        """Raises InvalidDatabase or StoreUnavailable. With `exclusive` no second server may use the SQLite file;
        without `makes` a file that a URL names must be there."""
        database = cls(parse_url(url, home))
        try:
            if database.is_sqlite:
                if url:
                    _check_place(Path(str(make_url(url).database)).expanduser(), makes)
                _make_folder(Path(database.name).parent)
                _keep_private(Path(database.name))
                if exclusive:
                    database.lock()
            if not await database._is_up_to_date():
                await database._upgrade()
        except BaseException:
            await database.close()
            raise
        return database

    async def close(self) -> None:
        """Once all that is under way has ended."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._readers.dispose()
        await self._writers.dispose()
        self._unlock()

    async def finish(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Its result. Whoever is cancelled while waiting for it leaves it to end by itself."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection for SELECTs, each of which sees what is committed when it begins."""
        began = time.perf_counter()
        async with self._turns.read() if self._turns else contextlib.nullcontext():
            with self.translating_errors():
                async with self._reading.connect() as connection:
                    yield connection
        SECONDS.add(time.perf_counter() - began, "read")

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction, committed at the end. On SQLite there is one at a time, which waits for no reader."""
        began = time.perf_counter()
        async with self._turns.write() if self._turns else contextlib.nullcontext():
            try:
                with self.translating_errors():
                    async with self._writers.connect() as connection:
                        if self.is_sqlite:
                            # From the start: a transaction that reads first cannot always become one that writes.
                            await connection.exec_driver_sql("BEGIN IMMEDIATE")
                        yield connection
                        await _commit(connection)
            except DiskFull:
                self._was_full = True
                raise
        SECONDS.add(time.perf_counter() - began, "write")

    async def check_room(self) -> None:
        """Raises DiskFull where a transaction found no room, and one of some size finds none since.

        A small one proves nothing: it fits into what is left of a page, and runs still wait.
        """
        if self._was_full:
            await self.finish(self._try_to_write())
            self._was_full = False

    async def _try_to_write(self) -> None:
        name = f"trial_{secrets.token_hex(100)}"
        trial = {"kind": "trial", "scope": "", "seq": 0, "deleted_at": 0}
        async with self.write() as connection:
            await connection.execute(deleted.insert(), [{**trial, "id": f"{name}{row}"} for row in range(TRIAL_ROWS)])
            await connection.execute(deleted.delete().where(deleted.c.kind == "trial"))

    @contextlib.asynccontextmanager
    async def write_in_order(self) -> AsyncIterator[AsyncConnection]:
        """The same for rows that lists show: they become visible in the order of their numbers.

        Otherwise who pages through a list may have passed a number before it is committed, and never see it.
        """
        async with self.write() as connection:
            if not self.is_sqlite:
                await connection.execute(select(func.pg_advisory_xact_lock(_LOCKS, _IN_ORDER)))
            yield connection

    @contextlib.contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turns those that mean "not now" into StoreUnavailable."""
        try:
            yield
        except (exc.SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            reason = _why_unavailable(error)
            if reason is None:
                raise
            kind = DiskFull if _is_full(error) else StoreUnavailable
            raise kind(f"the database {self.name} cannot be used now: {reason}.") from error

    async def session(self) -> AsyncConnection:
        """A connection to keep, outside of any transaction."""
        with self.translating_errors():
            return await self._reading.connect()

    def lock(self) -> None:
        """Keeps other servers away from a SQLite file, until the store is closed or the process ends."""
        path = Path(f"{self.name}.lock")
        try:
            self._lock = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "a")
        except OSError as error:
            raise InvalidDatabase(f"{path}: {(error.strerror or str(error)).lower()}.") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._unlock()
            raise InvalidDatabase(
                f"{self.name}: another Fairmark server uses this database. A SQLite file takes one at a time; "
                "stop that one, name another file, or use PostgreSQL."
            ) from None

    def keep_lock(self) -> int | None:
        """The file that is locked, open once more."""
        return None if self._lock is None else os.dup(self._lock.fileno())

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def _is_up_to_date(self) -> bool:
        async with self.read() as connection:
            revision = await connection.run_sync(revisions.applied)
        if revision is not None and revision not in revisions.known():
            raise InvalidDatabase(
                f"{self.name}: its tables are those of a newer Fairmark (revision {revision}). "
                "Upgrade this one, or name another database."
            )
        return revision == revisions.known()[-1]

    async def _upgrade(self) -> None:
        """To the newest tables, in one transaction. Servers that start together do it one after the other."""
        own = self.is_sqlite and self._lock is None
        if own:
            self.lock()  # not below a server that runs
        try:
            if self.is_sqlite:
                with self.translating_errors():
                    await self.finish(asyncio.to_thread(_upgrade_file, self.name))
            else:
                async with self.write() as connection:
                    await connection.execute(select(func.pg_advisory_xact_lock(_LOCKS, _UPGRADING)))
                    await connection.run_sync(revisions.make_or_migrate)
        except exc.DBAPIError as error:
            raise InvalidDatabase(
                f"{self.name}: its tables cannot be made or brought up to date: {_words(_cause(error))}."
            ) from error
        finally:
            if own:
                self._unlock()


async def _commit(connection: AsyncConnection) -> None:
    try:
        await connection.commit()
    except BaseException:
        # Its transaction may still be open: the next to write would find itself inside.
        await connection.invalidate()
        raise


class _Part(Protocol):
    _database: Database


Part = TypeVar("Part", bound=_Part)


def uninterrupted(
    method: Callable[Concatenate[Part, Arguments], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Part, Arguments], Coroutine[Any, Any, Result]]:
    """For what asks the database: it is never stopped half-way when its caller is cancelled.

    A connection that is left in the middle of a transaction keeps its locks until somebody finds it.
    """

    @functools.wraps(method)
    async def whole(self: Part, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return await self._database.finish(method(self, *args, **kwargs))

    return whole


def new_seq(done: CursorResult[Any]) -> int:
    """The number that a row was given when it was inserted."""
    assert done.inserted_primary_key is not None  # noqa: S101  # a single row was
    seq: int = done.inserted_primary_key[0]
    return seq


def parse_url(url: str | None, home: Path) -> URL:
    """The database that a URL names; without one, the file `fairmark.db` below `home`. Raises InvalidDatabase."""
    if not url:
        return URL.create("sqlite+aiosqlite", database=str(home.absolute() / "fairmark.db"))
    try:
        parts = make_url(url)
        kind = parts.drivername
    except (exc.ArgumentError, ValueError):
        kind = ""
    if kind in ("sqlite", "sqlite+aiosqlite"):
        if parts.database in (None, "", ":memory:") or parts.query or parts.host:
            raise InvalidDatabase(
                f"the database URL {jsontext.quote(url)} names no file. Use sqlite:///relative/path.db or "
                "sqlite:////absolute/path.db."
            )
        return URL.create("sqlite+aiosqlite", database=str(Path(str(parts.database)).expanduser().absolute()))
    if kind in ("postgres", "postgresql", "postgresql+asyncpg"):
        query = dict(parts.query)
        if "sslmode" in query:  # as libpq calls it
            query["ssl"] = query.pop("sslmode")
        if unknown := sorted(query.keys() - _POSTGRES_OPTIONS):
            raise InvalidDatabase(
                f"the database URL has an unknown option {jsontext.quote(unknown[0])}. Use: host, port, sslmode."
            )
        return parts.set(drivername="postgresql+asyncpg", query=query)
    # The URL may hold a password where nobody looks for one: what cannot be read is not shown.
    known = f" {jsontext.quote(kind)}" if kind else ""
    raise InvalidDatabase(f"the database URL is of an unknown kind{known}. Use sqlite:///… or postgresql://….")


def _sqlite_engine(url: URL, connections: int) -> AsyncEngine:
    engine = create_async_engine(
        url,
        connect_args=_SQLITE_ARGUMENTS,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=COMMAND_TIMEOUT_S,
    )
    event.listen(engine.sync_engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _upgrade_file(name: str) -> None:
    """In a thread of its own: for each of many small statements, a connection of an event loop would wait for one."""
    engine = create_engine(URL.create("sqlite", database=name), connect_args=_SQLITE_ARGUMENTS, poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        revisions.make_or_migrate(connection)
        connection.commit()


def _postgres_engine(url: URL, connections: int) -> AsyncEngine:
    return create_async_engine(
        url,
        connect_args={"timeout": CONNECT_TIMEOUT_S, "command_timeout": COMMAND_TIMEOUT_S},
        # A server that was away is noticed before a query is sent to it in vain.
        pool_pre_ping=True,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=POOL_TIMEOUT_S,
    )


def _check_place(named: Path, makes: bool) -> None:
    """Raises InvalidDatabase where a new file would most likely be a mistake: whoever only looks would find nothing in
    it, and a path that lacks its first slash would lie in a folder that nobody made."""
    file, rooted = named.absolute(), Path("/") / named
    if file.exists():
        return
    lacks_slash = not named.is_absolute() and rooted.parent != Path("/") and rooted.parent.is_dir()
    meant = f" A path from the root has four slashes: sqlite:///{rooted}." if lacks_slash else ""
    if not makes:
        raise InvalidDatabase(f"there is no database {file}.{meant}")
    if lacks_slash and not file.parent.exists():
        raise InvalidDatabase(f"{file.parent}: there is no such folder.{meant}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidDatabase(f"{folder}: {(error.strerror or str(error)).lower()}.") from None


def _keep_private(path: Path) -> None:
    """The file holds users' data: nobody else may read it, be it new or of a Fairmark that let others."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".lock"))):
            with contextlib.suppress(FileNotFoundError):
                if file.stat().st_mode & 0o077 and file.stat().st_uid == os.geteuid():
                    file.chmod(0o600)
    except OSError as error:
        raise InvalidDatabase(f"{path}: {(error.strerror or str(error)).lower()}.") from None


def _why_unavailable(error: BaseException) -> str | None:
    """What is wrong with the database; None where it is the query that is wrong."""
    if isinstance(error, exc.DBAPIError):
        cause = _cause(error)
        if error.connection_invalidated or _why_unavailable(cause) is not None:
            return _words(cause)
        return None
    match error:
        case sqlite3.Error():
            # Python's own errors, such as a closed connection, have no code.
            code = getattr(error, "sqlite_errorcode", None)
            unavailable = code is not None and code & 0xFF in _SQLITE_UNAVAILABLE
        case asyncpg.PostgresError():
            unavailable = str(error.sqlstate).startswith(_POSTGRES_UNAVAILABLE)
        case OSError() | asyncpg.InterfaceError() | exc.TimeoutError():  # TimeoutError is an OSError
            unavailable = True
        case _:
            unavailable = False
    return _words(error) if unavailable else None


def _is_full(error: BaseException) -> bool:
    match error:
        case exc.DBAPIError():
            return _is_full(_cause(error))
        case sqlite3.Error():
            return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        case asyncpg.PostgresError():
            return isinstance(error, asyncpg.DiskFullError)
        case OSError():
            return error.errno in NO_ROOM
        case _:
            return False


def unavailable(where: str, error: OSError) -> StoreUnavailable:
    """What a folder of the store refuses, in words."""
    return (DiskFull if _is_full(error) else StoreUnavailable)(f"{where}: {_words(error)}.")


def _cause(error: exc.DBAPIError) -> BaseException:
    """What the driver itself said."""
    return error if error.orig is None else error.orig.__cause__ or error.orig


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    text = str(error).splitlines()[0].rstrip(".") if str(error) else ""
    return text or ("it did not answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
