"""Stores in both databases, and tests that are coroutine functions."""

import asyncio
import fcntl
import inspect
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark.store import Run, Store
from tests.postgres import Postgres, initialise

MIGRATED = "migrated"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a coroutine function on the loop of its fixtures."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    runner = pyfuncitem.funcargs["runner"]
    assert isinstance(runner, asyncio.Runner)
    names = inspect.signature(pyfuncitem.obj).parameters
    runner.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server for each worker; they share the work of initdb."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if os.environ.get("PYTEST_XDIST_WORKER") else shared
    with (shared / "initdb.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "postgres").exists():
            initialise(shared / "postgres")
    server = Postgres(shared / "postgres")
    server.start()
    try:
        server.query(f"CREATE DATABASE {MIGRATED} TEMPLATE template0")

        async def migrate() -> None:
            await (await Store.open(server.url(MIGRATED), shared)).close()

        asyncio.run(migrate())
        yield server
    finally:
        server.remove()


class Place:
    """Where a store is: what `Store.open` takes. What is opened here is closed after the test."""

    def __init__(self, url: str | None, home: Path) -> None:
        self.url = url
        self.home = home
        self._opened: list[Store] = []

    @property
    def is_sqlite(self) -> bool:
        return self.url is None

    async def open(self, **options: Any) -> Store:
        store = await Store.open(self.url, self.home, **options)
        self._opened.append(store)
        return store

    async def close(self) -> None:
        for store in self._opened:
            await store.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = request.getfixturevalue(f"in_{request.param}")
    return made


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database that is up to date. To copy it costs nothing beside bringing a new one up to date."""
    home = tmp_path_factory.mktemp("migrated")

    async def migrate() -> None:
        await (await Store.open(None, home)).close()

    asyncio.run(migrate())
    return home / "fairmark.db"


@pytest.fixture
def in_sqlite(runner: asyncio.Runner, migrated_file: Path, tmp_path: Path) -> Iterator[Place]:
    shutil.copy(migrated_file, tmp_path)
    made = Place(None, tmp_path)
    yield made
    runner.run(made.close())


@pytest.fixture
def in_postgresql(runner: asyncio.Runner, tmp_path: Path, postgres: Postgres) -> Iterator[Place]:
    """A database that more than one server may use."""
    database = postgres.lend_database(MIGRATED)
    made = Place(postgres.url(database), tmp_path)
    yield made
    runner.run(made.close())
    postgres.take_back(database)


@pytest.fixture
def store(runner: asyncio.Runner, place: Place) -> Store:
    return runner.run(place.open())


async def new_run(store: Store, project: str = "default", total: int | None = None, **more: Any) -> Run:
    """A run in an eval of its own, as it is created."""
    made = await store.evals.create(project, "an eval", {}, {"type": "custom"}, [{"id": "exact-1"}])
    return await store.runs.create(project, made.id, "a run", {}, b'{"type": "jsonl"}', None, total, {}, **more)


async def started_run(store: Store, total: int | None = None) -> Run:
    """A run that this store works on."""
    run = await new_run(store, total=total)
    assert await store.runs.start(run)
    return run
