"""A load that is killed, at many moments: loaded again, the store is what an undisturbed load makes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairmark.moving.archive import Archive
from fairmark.moving.load import load
from fairmark.store import Store
from fairmark.store.received import UNFINISHED
from tests import command
from tests.moving import hosted
from tests.moving.hosted import Hosted
from tests.moving.load.test_load import everything

# Dies at the nth transaction, before or after it is committed: between two of them nothing else is written.
LOAD = """
import asyncio, os, sys
from pathlib import Path
from fairmark.moving.archive import Archive
from fairmark.moving.load import items, load
from fairmark.store import Store
from fairmark.store.base import database

folder, home, moment = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
items.ITEMS_A_BATCH = 2
commits = 0
commit = database._commit

async def counted(connection):
    global commits
    commits += 1
    if commits * 2 == moment:
        os.kill(os.getpid(), 9)
    await commit(connection)
    if commits * 2 + 1 == moment:
        os.kill(os.getpid(), 9)

async def main():
    store = await Store.open(None, home)
    database._commit = counted
    try:
        await load(Archive.open(folder), store, "default")
    finally:
        await store.close()

asyncio.run(main())
"""


def archive(folder: Path) -> Path:
    given = Hosted(folder).evals(hosted.eval_(), hosted.eval_("eval_2")).files(hosted.file())
    for number in range(2):
        run_id = f"evalrun_{number}"
        given.run(hosted.run(run_id, 4, 1), [hosted.item(run_id, row, passed=row != 2) for row in range(5)])
    return folder


def loaded(folder: Path, home: Path, moment: int) -> bool:
    """Whether it came to its end."""
    done = command.python(LOAD, str(folder), str(home), str(moment), env={"PATH": "/usr/bin:/bin"})
    assert done.returncode in (0, -9), done.stderr
    return done.returncode == 0


def content(home: Path) -> tuple[dict[str, list[Any]], dict[str, bytes]]:
    async def read() -> dict[str, list[Any]]:
        store = await Store.open(None, home)
        try:
            return await everything(store)
        finally:
            await store.close()

    tables = asyncio.run(read())
    for name in ("evals", "runs", "files"):  # the time at which it was loaded
        tables[name] = [tuple(part for part in row if "'at':" not in part) for row in tables[name]]
    return tables, {path.name: path.read_bytes() for path in (home / "files").iterdir()}


@pytest.mark.thorough
def test_a_load_that_is_killed_and_begun_again_ends_like_one_that_was_not(tmp_path: Path) -> None:
    folder = archive(tmp_path / "archive")
    assert loaded(folder, tmp_path / "undisturbed", 0)
    wanted = content(tmp_path / "undisturbed")
    assert len(wanted[0]["items"]) == 10
    kills = 0
    for moment in range(2, 60, 3):  # before and after commits, by turns
        home = tmp_path / f"killed-{moment}"
        if loaded(folder, home, moment):
            break
        kills += 1
        assert loaded(folder, home, 0)
        assert content(home) == wanted
    assert kills >= 5


@pytest.mark.on_both
async def test_a_run_whose_load_was_killed_says_so_until_it_is_loaded(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Archive.open(archive(tmp_path / "archive"))

    async def killed(*args: Any) -> bool:
        raise RuntimeError("killed")

    monkeypatch.setattr(store.received, "add_items", killed)
    with pytest.raises(RuntimeError, match="killed"):
        await load(given, store, "default")
    run = await store.runs.get("default", "eval_1", "evalrun_0")
    assert run is not None
    assert run.warnings == {UNFINISHED: 1}
    monkeypatch.undo()
    await load(given, store, "default")
    run = await store.runs.get("default", "eval_1", "evalrun_0")
    assert run is not None
    assert (run.warnings, run.total) == ({}, 5)


@pytest.mark.on_both
async def test_whoever_begins_a_run_again_takes_it_from_who_was_at_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Archive.open(archive(tmp_path / "archive"))
    add = store.received.add_items

    async def overtaken(run: Any, items: Any) -> bool:
        monkeypatch.undo()
        await load(given, store, "default")
        return await add(run, items)

    monkeypatch.setattr(store.received, "add_items", overtaken)
    report = await load(given, store, "default")
    assert [each.id for each in report.problems] == ["evalrun_0"]
    run = await store.runs.get("default", "eval_1", "evalrun_0")
    assert run is not None
    assert (run.warnings, run.total, run.passed, len((await store.items.list(run)).data)) == ({}, 5, 4, 5)
