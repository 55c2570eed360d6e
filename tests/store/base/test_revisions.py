"""The migrations make the tables that the code knows, in both databases; who has the newest needs no Alembic."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from hatchling.builders.wheel import WheelBuilder
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine

from fairmark.store import InvalidDatabase, Store
from fairmark.store.base.database import parse_url
from fairmark.store.base.revisions import MIGRATIONS, applied, known, migrate
from fairmark.store.base.tables import metadata
from tests.postgres import Postgres

ROOT = Path(__file__).parents[3]
SCHEMA = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2",
    "postgresql": """
        SELECT table_name, column_name, data_type, is_nullable, column_default, ordinal_position::text
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL
        SELECT tablename, indexname, indexdef, '', '', '' FROM pg_indexes
        WHERE schemaname = 'public' ORDER BY 1, 2
    """,
}
NewUrl = Callable[[], str]
Result = TypeVar("Result")


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Gives an empty database with every call."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return server.new_database
    names = iter("abcdef")
    return lambda: f"sqlite:///{tmp_path / next(names)}.db"


async def on(url: str, ask: Callable[[Connection], Result]) -> Result:
    engine = create_async_engine(parse_url(url, Path()))
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(ask)
    finally:
        await engine.dispose()


def schema(connection: Connection) -> list[tuple[str | None, ...]]:
    """Whatever its white space: SQLite keeps the text of a table, and of the columns that were added to it."""
    rows = connection.execute(text(SCHEMA[connection.dialect.name]))
    return [tuple(cell and " ".join(cell.split()) for cell in row) for row in rows]


def test_the_revisions_are_those_that_alembic_finds() -> None:
    script = ScriptDirectory(MIGRATIONS)
    assert list(known()) == [revision.revision for revision in script.walk_revisions()][::-1]
    assert known()[-1:] == tuple(script.get_heads())


def by_alembic(connection: Connection) -> tuple[str, ...]:
    return MigrationContext.configure(connection).get_current_heads()


async def test_an_empty_database_gets_the_tables_that_the_migrations_make(new_url: NewUrl, tmp_path: Path) -> None:
    migrated, opened = new_url(), new_url()
    assert await on(opened, applied) is None
    await on(migrated, migrate)
    await (await Store.open(opened, tmp_path)).close()
    assert await on(migrated, schema) == await on(opened, schema)
    assert len(await on(migrated, schema)) >= 15
    for url in (migrated, opened):
        assert await on(url, applied) == known()[-1]
        assert await on(url, by_alembic) == known()[-1:]


async def test_tables_that_are_behind_are_brought_up_to_date(new_url: NewUrl, tmp_path: Path) -> None:
    behind, opened = new_url(), new_url()
    await on(behind, lambda connection: migrate(connection, "0001"))
    assert await on(behind, applied) == "0001"
    for url in (behind, opened):
        await (await Store.open(url, tmp_path)).close()
    assert await on(behind, schema) == await on(opened, schema)
    assert await on(behind, applied) == await on(opened, applied) == known()[-1]


def test_a_database_that_is_new_or_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    look = """if True:
        import asyncio, sys
        from pathlib import Path
        from fairmark.store import Store

        async def look():
            await (await Store.open(None, Path(sys.argv[1]))).close()
            print("alembic" in sys.modules)

        for turn in range(2):
            asyncio.run(look())
    """
    opened = subprocess.run([sys.executable, "-c", look, tmp_path], check=True, capture_output=True, text=True).stdout
    assert opened == "False\nFalse\n"


async def test_alembic_finds_nothing_to_migrate(new_url: NewUrl) -> None:
    url = new_url()
    await on(url, migrate)

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return list(compare_metadata(context, metadata))

    assert await on(url, differences) == []


async def test_opening_again_keeps_what_is_there(new_url: NewUrl, tmp_path: Path) -> None:
    url = new_url()
    for count in range(3):
        store = await Store.open(url, tmp_path)
        assert len(await store.keys.list()) == count
        await store.keys.create("default", "")
        await store.close()


async def test_servers_that_start_together_make_the_tables_once(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.new_database()
    stores = await asyncio.gather(*(Store.open(url, tmp_path) for _ in range(4)))
    await stores[0].keys.create("default", "")
    assert [len(await store.keys.list()) for store in stores] == [1, 1, 1, 1]
    for store in stores:
        await store.close()


async def test_tables_of_a_newer_fairmark_are_refused(new_url: NewUrl, tmp_path: Path) -> None:
    url = new_url()
    await (await Store.open(url, tmp_path)).close()
    await on(url, lambda connection: connection.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(InvalidDatabase, match=r"those of a newer Fairmark \(revision 9999\)\. Upgrade this one"):
        await Store.open(url, tmp_path)


async def test_a_migration_that_fails_leaves_the_database_as_it_was(new_url: NewUrl, tmp_path: Path) -> None:
    url = new_url()
    await on(url, lambda connection: connection.execute(text("CREATE TABLE samples (x integer)")))
    before = await on(url, schema)
    with pytest.raises(InvalidDatabase, match=r"its tables cannot be made or brought up to date: .*already exists"):
        await Store.open(url, tmp_path)
    assert await on(url, schema) == before


async def test_tables_are_not_changed_below_a_running_server(tmp_path: Path) -> None:
    store = await Store.open(None, tmp_path)
    url = f"sqlite:///{tmp_path / 'fairmark.db'}"
    await on(url, lambda connection: connection.execute(text("DELETE FROM alembic_version")))
    with pytest.raises(InvalidDatabase, match="another Fairmark server uses this database"):
        await Store.open(None, tmp_path, exclusive=False)
    await store.close()


def test_a_wheel_has_the_migrations() -> None:
    shipped = {Path(file.path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {*MIGRATIONS.rglob("*.py")} <= shipped
    assert len(list(MIGRATIONS.rglob("*.py"))) >= 2
