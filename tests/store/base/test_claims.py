"""Who works on which run."""

import asyncio
import errno
import time
from typing import Any

import pytest
from sqlalchemy import event

from fairmark.store import Counts, DiskFull, NewItem, Run, Store
from tests.postgres import Postgres
from tests.store.another import another
from tests.store.conftest import Place, new_run

HOLDER = """
import asyncio, sys
from pathlib import Path
from fairmark.store import Store

async def hold():
    store = await Store.open(sys.argv[1] or None, Path(sys.argv[2]))
    run = await store.runs.claim()
    await store.runs.start(run)
    print(run.id, flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""
ITEM = [NewItem(0, "pass", b"{}")]


async def claimed(store: Store) -> Run:
    run = await store.runs.claim()
    assert run is not None
    return run


async def claim_in_time(store: Store) -> Run:
    """As soon as it can be had: the server needs a moment to see that a process is gone."""
    until = time.monotonic() + 30
    while (run := await store.runs.claim()) is None:
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
    return run


async def test_runs_are_claimed_once_each_the_oldest_first(store: Store) -> None:
    made = [await new_run(store) for _ in range(3)]
    first, second = await claimed(store), await claimed(store)
    assert [first.id, second.id] == [made[0].id, made[1].id]
    await store.runs.release(first)
    assert await claimed(store) == first
    assert (await claimed(store)).id == made[2].id
    assert await store.runs.claim() is None


async def test_many_claims_at_once_get_different_runs(store: Store) -> None:
    made = [await new_run(store) for _ in range(10)]
    got = await asyncio.gather(*(store.runs.claim() for _ in range(15)))
    assert sorted(run.id for run in got if run) == sorted(run.id for run in made)


async def test_a_run_is_found_behind_a_hundred_that_are_taken(store: Store) -> None:
    made = [await new_run(store) for _ in range(101)]
    for run in made[:100]:
        assert await store.runs._waiting.claims.take(run.seq)
    assert (await claimed(store)).id == made[100].id


async def test_a_run_that_has_ended_is_not_claimed(store: Store) -> None:
    canceled, completed, waiting = [await new_run(store) for _ in range(3)]
    await store.runs.cancel("default", canceled.eval_id, canceled.id)
    assert await store.runs.start(completed)
    assert await store.runs.finish(completed, "completed")
    assert (await claimed(store)).id == waiting.id
    assert await store.runs.claim() is None


async def test_a_run_in_progress_is_claimed_after_a_restart(place: Place) -> None:
    store = await place.open()
    run = await new_run(store)
    assert await store.runs.start(await claimed(store))
    assert await store.items.add(run, ITEM, Counts(1))
    await store.close()
    store = await place.open()
    again = await claimed(store)
    assert (again.id, again.status, again.passed) == (run.id, "in_progress", 1)
    assert await store.runs.start(again)
    assert await store.items.add(again, [NewItem(1, "pass", b"{}")], Counts(1))
    assert await store.runs.finish(again, "completed")
    await store.close()


async def test_the_runs_of_a_process_that_was_killed_are_free_at_once(place: Place) -> None:
    store = await place.open()
    run = await new_run(store)
    if place.is_sqlite:
        await store.close()
    with another(HOLDER, place.url or "", str(place.home)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == f"{run.id}\n"
        if not place.is_sqlite:
            assert await store.runs.claim() is None
    if place.is_sqlite:
        store = await place.open()
    assert (await claim_in_time(store)).status == "in_progress"
    await store.close()


async def test_two_servers_never_hold_the_same_run(in_postgresql: Place) -> None:
    one, other = await in_postgresql.open(), await in_postgresql.open()
    made = [await new_run(one) for _ in range(20)]
    got = await asyncio.gather(*(store.runs.claim() for _ in range(12) for store in (one, other)))
    assert sorted(run.id for run in got if run) == sorted(run.id for run in made)
    held = [run for run in got[::2] if run]
    await one.runs.release(held[0])
    assert (await claimed(other)).id == held[0].id
    await one.close()
    taken = [await claimed(other) for _ in held[1:]]
    assert {run.id for run in taken} == {run.id for run in held[1:]}


def end_sessions_with_locks(server: Postgres) -> None:
    server.query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")


async def test_who_lost_a_run_to_another_server_writes_nothing_more(in_postgresql: Place, postgres: Postgres) -> None:
    one, other = await in_postgresql.open(), await in_postgresql.open()
    await new_run(one)
    run = await claimed(one)
    assert await one.runs.start(run)
    assert await one.items.add(run, ITEM, Counts(1))
    end_sessions_with_locks(postgres)
    taken = await claim_in_time(other)
    assert taken.id == run.id
    assert not await one.items.add(run, [NewItem(1, "pass", b"{}")], Counts(1))
    assert not await one.samples.add(run, [(1, b"{}")])
    assert not await one.runs.finish(run, "completed")
    assert not await one.runs.start(run)
    assert await other.items.add(taken, [NewItem(1, "fail", b"{}")], Counts(0, 1))
    # Nor does it get in the way of the other.
    assert await one.runs.claim() is None
    await one.runs.release(run)
    assert await other.runs.finish(taken, "completed")


async def test_a_server_that_lost_its_connection_locks_its_runs_again(in_postgresql: Place, postgres: Postgres) -> None:
    one, other = await in_postgresql.open(), await in_postgresql.open()
    await new_run(one)
    run = await claimed(one)
    end_sessions_with_locks(postgres)
    while not one.runs._waiting.claims._driver.is_closed():  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)
    assert await one.runs.claim() is None
    assert await other.runs.claim() is None
    assert await one.runs.start(run)


async def test_a_claim_whose_commit_fails_is_free_again(place: Place) -> None:
    store = await place.open()
    run = await new_run(store)
    writers = store._database._writers.sync_engine

    def refuse(_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    event.listen(writers, "commit", refuse)
    for _ in range(3):
        with pytest.raises(DiskFull):
            await store.runs.claim()
    event.remove(writers, "commit", refuse)
    if not place.is_sqlite:  # another server may have it as well
        other = await place.open()
        assert (await claimed(other)).id == run.id
        assert await store.runs.claim() is None
        await other.runs.release(run)
    assert (await claimed(store)).id == run.id
    assert await store.runs.start(run)


async def test_a_claim_that_is_interrupted_leaves_the_run_to_others(store: Store) -> None:
    run = await new_run(store)
    for pause in (0.0, 0.001, 0.002, 0.004):
        task = asyncio.create_task(store.runs.claim())
        await asyncio.sleep(pause)
        task.cancel()
        got = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(got, Run):
            await store.runs.release(got)
    assert (await claimed(store)).id == run.id
