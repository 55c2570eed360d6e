"""Opening a database, keeping others away from it, and what happens when it cannot be used for a while."""

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select

from fairmark.store import Counts, DiskFull, InvalidDatabase, NewItem, Store, StoreUnavailable
from fairmark.store.base import tables
from fairmark.store.base.database import POSTGRES_READERS, SQLITE_READERS, parse_url
from fairmark.store.base.revisions import known
from tests import command
from tests.disk import mounted, no_room
from tests.postgres import Postgres
from tests.store.conftest import MIGRATED, Place, new_run, started_run

HOME = Path("/home/x")


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        (None, "sqlite+aiosqlite:////home/x/fairmark.db"),
        ("", "sqlite+aiosqlite:////home/x/fairmark.db"),
        ("sqlite:////var/f.db", "sqlite+aiosqlite:////var/f.db"),
        ("sqlite+aiosqlite:////var/f.db", "sqlite+aiosqlite:////var/f.db"),
        ("sqlite:///f.db", f"sqlite+aiosqlite:///{Path.cwd()}/f.db"),
        ("postgresql://u:p@h/d", "postgresql+asyncpg://u:p@h/d"),
        ("postgres://u:p@h:1/d?sslmode=require", "postgresql+asyncpg://u:p@h:1/d?ssl=require"),
        ("postgresql+asyncpg://u@/d?host=/run", "postgresql+asyncpg://u@/d?host=%2Frun"),
    ],
)
def test_a_url_names_a_file_or_a_server(url: str | None, opened: str) -> None:
    assert parse_url(url, HOME).render_as_string(hide_password=False) == opened


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://u:secret@h/d", 'of an unknown kind "mysql". Use sqlite:///… or postgresql://….'),
        ("u:secret@h/d", "of an unknown kind. Use sqlite:///… or postgresql://…."),
        ("postgresql+psycopg2://u:secret@h/d", 'of an unknown kind "postgresql+psycopg2".'),
        ("sqlite://", "names no file. Use sqlite:///relative/path.db or sqlite:////absolute/path.db."),
        ("sqlite:///:memory:", "names no file."),
        ("sqlite://f.db", "names no file."),
        ("postgresql://u:secret@h/d?passwort=secret", 'an unknown option "passwort". Use: host, port, sslmode.'),
        ("postgresql://u:secret@h:port/d", "of an unknown kind."),
    ],
)
def test_a_wrong_url_is_told_without_its_password(url: str, message: str) -> None:
    with pytest.raises(InvalidDatabase) as error:
        parse_url(url, HOME)
    assert message in str(error.value)
    assert "secret" not in str(error.value)


async def test_without_a_url_the_file_is_in_the_home_which_is_made(tmp_path: Path) -> None:
    store = await Store.open(None, tmp_path / "new" / "home")
    await store.close()
    assert (tmp_path / "new" / "home" / "fairmark.db").is_file()


async def test_sqlite_is_tuned_for_many_readers_and_a_writer(in_sqlite: Place) -> None:
    store = await in_sqlite.open()
    async with store._database.read() as connection:
        for name, value in (("journal_mode", "wal"), ("synchronous", 1), ("busy_timeout", 5000)):
            assert (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar() == value


async def test_a_second_server_on_a_sqlite_file_is_refused_and_looking_after_keys_is_not(in_sqlite: Place) -> None:
    store = await in_sqlite.open()
    with pytest.raises(InvalidDatabase) as error:
        await in_sqlite.open()
    file = in_sqlite.home / "fairmark.db"
    assert str(error.value) == (
        f"{file}: another Fairmark server uses this database. A SQLite file takes one at a time; "
        "stop that one, name another file, or use PostgreSQL."
    )
    beside = await in_sqlite.open(exclusive=False)
    key = await beside.keys.create("default", "")
    assert await store.keys.find(key)
    await store.close()
    again = await in_sqlite.open()
    assert await again.keys.find(key)


OPEN = """
import asyncio, sys
from pathlib import Path
from fairmark.store import Store
asyncio.run(Store.open(None, Path(sys.argv[1])))
"""


async def test_a_second_process_on_a_sqlite_file_is_refused_too(in_sqlite: Place) -> None:
    await in_sqlite.open()
    done = command.python(OPEN, str(in_sqlite.home), env={"PATH": "/usr/bin:/bin"})
    assert "another Fairmark server uses this database" in done.stderr


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to be told from one" * 20])
async def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fairmark.db").write_bytes(content)
    if content:
        with pytest.raises(StoreUnavailable, match=r"fairmark\.db cannot be used now: file is not a database\."):
            await Store.open(None, tmp_path)
    else:
        await (await Store.open(None, tmp_path)).close()


async def test_a_sqlite_file_is_its_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    before = os.umask(0o022)
    try:
        store = await Store.open(None, home)
        await store.keys.create("default", "")
        modes = {path.name: path.stat().st_mode & 0o777 for path in home.iterdir()}
        assert modes == dict.fromkeys(("fairmark.db", "fairmark.db-wal", "fairmark.db-shm", "fairmark.db.lock"), 0o600)
        assert home.stat().st_mode & 0o777 == 0o700
        await store.close()
        (home / "fairmark.db").chmod(0o644)  # as it was made before
        await (await Store.open(None, home)).close()
        assert (home / "fairmark.db").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidDatabase, match=r"(not a directory|file exists)\.$"):
            await Store.open(None, home)


async def test_who_looks_for_something_is_told_of_a_named_file_that_is_not_there_and_none_is_made(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mistyped.db"
    with pytest.raises(InvalidDatabase, match=f"^there is no database {file}.$"):
        await Store.open(f"sqlite:///{file}", tmp_path, exclusive=False, makes=False)
    assert list(tmp_path.iterdir()) == []
    await (await Store.open(f"sqlite:///{file}", tmp_path, exclusive=False)).close()
    await (await Store.open(f"sqlite:///{file}", tmp_path, exclusive=False, makes=False)).close()


@pytest.mark.parametrize("makes", [True, False])
async def test_a_path_that_lacks_its_first_slash_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, makes: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "fairmark.db"
    with pytest.raises(InvalidDatabase, match=f"four slashes: sqlite:///{file}.$"):
        await Store.open(f"sqlite://{file}", tmp_path / "home", makes=makes)
    assert list(tmp_path.iterdir()) == []


async def test_a_relative_path_makes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await (await Store.open("sqlite:///new/fairmark.db", tmp_path / "home")).close()
    assert (tmp_path / "new" / "fairmark.db").exists()


async def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as error:
        await Store.open("postgresql://u:secret@127.0.0.1:1/d", tmp_path)
    assert str(error.value).startswith("the database postgresql+asyncpg://u:***@127.0.0.1:1/d cannot be used now: ")
    assert "secret" not in str(error.value)


async def test_a_database_that_is_not_there_is_told(tmp_path: Path, postgres: Postgres) -> None:
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        await Store.open(postgres.url("nowhere"), tmp_path)


async def test_everything_works_again_once_postgresql_is_back(in_postgresql: Place, postgres: Postgres) -> None:
    store = await in_postgresql.open()
    run = await started_run(store)
    assert await store.runs.claim() is not None
    waiting = await new_run(store)
    key = await store.keys.create("default", "")
    calls: list[Callable[[], Any]] = [
        lambda: store.keys.find(key),
        lambda: store.keys.create("default", ""),
        lambda: store.evals.list("default"),
        lambda: store.runs.claim(),
        lambda: store.items.add(run, [NewItem(0, "pass", b"{}")], Counts(1)),
        lambda: store.samples.get(run, 0, 1),
    ]
    await asyncio.to_thread(postgres.stop)
    for call in (*calls, *calls):
        with pytest.raises(StoreUnavailable):
            await call()
    await store.runs.release(run)
    await asyncio.to_thread(postgres.start)
    assert await store.keys.find(key)
    assert len(await store.keys.list()) == 1
    assert await store.items.add(run, [NewItem(0, "pass", b"{}")], Counts(1))
    claimed = {found.id for _ in range(2) if (found := await store.runs.claim())}
    assert claimed == {run.id, waiting.id}


async def test_a_restart_of_postgresql_between_two_calls_is_not_noticed(
    in_postgresql: Place, postgres: Postgres
) -> None:
    store = await in_postgresql.open()
    key = await store.keys.create("default", "")
    await new_run(store)
    assert await store.runs.claim()
    postgres.stop()
    postgres.start()
    assert await store.keys.find(key)
    assert await store.runs.claim() is None
    assert await store.keys.create("default", "")


async def test_a_postgresql_that_goes_in_the_middle_of_a_batch_leaves_nothing_half_done(
    in_postgresql: Place, postgres: Postgres
) -> None:
    store = await in_postgresql.open()
    run = await started_run(store)
    batches = [[NewItem(idx, "pass", b"{}" * 2000) for idx in range(at, at + 500)] for at in range(0, 20_000, 500)]

    async def write() -> int:
        for number, batch in enumerate(batches):
            try:
                assert await store.items.add(run, batch, Counts(500))
            except StoreUnavailable:
                return number
        return len(batches)

    writing = asyncio.create_task(write())
    while (await store.items.list(run, 1)).data == []:
        await asyncio.sleep(0)
    await asyncio.to_thread(postgres.stop)
    reached = await writing
    assert reached < len(batches)
    await asyncio.to_thread(postgres.start)
    for batch in batches[reached : reached + 3]:
        assert await store.items.add(run, batch, Counts(500))
    found = await store.runs.get("default", run.eval_id, run.id)
    assert found is not None
    assert found.passed == sum(await store.items.done(run)) == (reached + 3) * 500


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a small disk of its own; where we may not mount one, the folder alone."""
    with mounted(tmp_path / "disk"):
        yield tmp_path / "disk"


@contextlib.contextmanager
def filled(folder: Path, store: Store) -> Iterator[None]:
    """While it lasts there is no room on the disk; where the disk is not a small one, none that SQLite may use."""
    if os.path.ismount(folder):
        with no_room(folder):
            yield
        return
    pages = [1]

    def limit(connection: Any, *_: Any) -> None:
        connection.cursor().execute(f"PRAGMA max_page_count={pages[0]}")

    event.listen(store._database._writers.sync_engine, "checkout", limit)
    yield
    pages[0] = 1_000_000


async def test_a_full_disk_is_told_and_everything_works_again_once_there_is_room(disk: Path) -> None:
    store = await Store.open(None, disk)
    try:
        run = await started_run(store)
        assert await store.items.add(run, [NewItem(0, "pass", b"{}")], Counts(1))
        batch = [NewItem(idx, "pass", b"x" * 1000) for idx in range(1, 1001)]
        with filled(disk, store):
            for _ in range(3):
                with pytest.raises(DiskFull, match="disk is full"):
                    await store.items.add(run, batch, Counts(1000))
                with pytest.raises(DiskFull):
                    await store.check_room()
            assert (await store.items.done(run)) == b"\1"
        await store.check_room()
        assert await store.items.add(run, batch, Counts(1000))
        found = await store.runs.get("default", run.eval_id, run.id)
        assert found is not None
        assert found.passed == 1001 == sum(await store.items.done(run))
    finally:
        await store.close()


async def test_a_database_that_found_no_room_is_full_until_it_takes_something(place: Place) -> None:
    store = await place.open()
    await store.check_room()
    writers = store._database._writers.sync_engine

    def refuse(_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    event.listen(writers, "commit", refuse)
    with pytest.raises(DiskFull, match="no space left on device"):
        await store.keys.create("default", "")
    with pytest.raises(DiskFull):
        await store.check_room()
    event.remove(writers, "commit", refuse)
    await store.check_room()
    assert await store.keys.list() == []


async def test_a_file_that_another_process_keeps_locked_is_told(
    in_sqlite: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairmark.store.base.database._PRAGMAS", ("PRAGMA busy_timeout=50",))
    store, other = await in_sqlite.open(), await in_sqlite.open(exclusive=False)
    async with other._database.write():
        with pytest.raises(StoreUnavailable, match="database is locked"):
            await store.keys.create("default", "")
    assert await store.keys.create("default", "")


async def test_readers_are_not_kept_waiting_by_a_writer(place: Place) -> None:
    store = await place.open()
    await store.keys.create("default", "before")
    async with store._database.write() as connection:
        await connection.execute(tables.keys.update().values(project="changed"))
        async with asyncio.timeout(30):
            assert [key.project for key in await store.keys.list()] == ["default"]


async def test_a_writer_waits_for_no_readers_connection(place: Place) -> None:
    store = await place.open()
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(SQLITE_READERS if place.is_sqlite else POSTGRES_READERS):
            connection = await stack.enter_async_context(store._database.read())
            await connection.execute(select(tables.keys.c.id))
        waiting = [asyncio.create_task(store.keys.list()) for _ in range(50)]
        async with asyncio.timeout(30):
            for number in range(5):
                await store.keys.create("default", str(number))
    assert {len(each) for each in await asyncio.gather(*waiting)} == {5}


async def test_many_calls_at_once_all_get_their_turn(store: Store) -> None:
    async with asyncio.timeout(60):
        await asyncio.gather(*(store.keys.create("default", str(at)) for at in range(100)))
        lists = await asyncio.gather(*(store.keys.list() for _ in range(100)))
    assert {len(each) for each in lists} == {100}


def test_the_databases_of_the_tests_are_made_by_the_migrations(postgres: Postgres) -> None:
    assert postgres.query("SELECT version_num FROM alembic_version", MIGRATED) == f"{known()[-1]}\n"
