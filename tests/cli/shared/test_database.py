"""The database that a command works on: the one it is told, or the settings'."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairmark.cli.shared.database import with_store
from fairmark.errors import InvalidDatabase
from fairmark.settings import settings
from fairmark.store import Store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FAIRMARK_DB", raising=False)
    settings.cache_clear()
    yield tmp_path / "home"
    settings.cache_clear()


async def make_key(store: Store) -> int:
    await store.keys.create("default", "tests")
    return len(await store.keys.list())


def test_work_is_done_in_the_home_and_found_there_again(home: Path) -> None:
    assert [with_store(None, make_key), with_store(None, make_key)] == [1, 2]
    assert (home / "fairmark.db").exists()


def test_another_database_may_be_named(home: Path, tmp_path: Path) -> None:
    named = f"sqlite:///{tmp_path / 'other.db'}"
    with pytest.raises(InvalidDatabase, match="there is no database"):  # it may be mistyped
        with_store(named, make_key)
    assert with_store(named, make_key, makes=True) == 1
    assert with_store(named, make_key) == 2
    assert (tmp_path / "other.db").exists()
    assert not (home / "fairmark.db").exists()


def test_a_url_that_is_none_is_told() -> None:
    with pytest.raises(InvalidDatabase):
        with_store("mysql://x", make_key)


def test_what_the_work_raises_reaches_the_caller_and_the_file_is_free_again() -> None:
    async def fail(store: Store) -> None:
        raise KeyError("this")

    with pytest.raises(KeyError, match="this"):
        with_store(None, fail)
    assert with_store(None, make_key) == 1
