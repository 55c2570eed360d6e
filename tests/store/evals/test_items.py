"""Output items: batches with their counters, all or nothing."""

import asyncio
import random

import pytest
from sqlalchemy import exc

from fairmark.store import Counts, NewItem, Run, Store, UnknownCursor, ids
from fairmark.store.base import pages
from tests.store.another import another
from tests.store.conftest import Place, started_run

BODY = b'{"a": "\xc3\xa4\\u0000"}'


def batch(first: int, last: int, status: str = "pass") -> list[NewItem]:
    return [NewItem(idx, status, BODY) for idx in range(first, last)]


async def stored(store: Store, run: Run) -> list[int]:
    return [idx for idx, there in enumerate(await store.items.done(run)) if there]


async def counters(store: Store, run: Run) -> tuple[int, int, int, int]:
    found = await store.runs.get("default", run.eval_id, run.id)
    assert found is not None
    return found.passed, found.failed, found.errored, found.skipped


async def test_a_batch_and_its_counters_are_stored_together(store: Store) -> None:
    run = await started_run(store)
    assert await store.items.add(
        run, batch(0, 2), Counts(2, 0, 0, 0, {"a": [2, 0, 0, 0]}, {"m": [2, 9, 1, 10, 0]}, 0.5)
    )
    assert await store.items.add(run, batch(2, 3, "error"), Counts(0, 0, 1, 0, {"a": [0, 0, 1, 0], "b": [1, 0, 0, 0]}))
    assert await store.items.add(run, batch(3, 4, "skip"), Counts(0, 0, 0, 1, {}, {"n": [1, 1, 1, 2, 1]}, 0.25))
    found = await store.runs.get("default", run.eval_id, run.id)
    assert found is not None
    assert (found.passed, found.failed, found.errored, found.skipped) == (2, 0, 1, 1)
    assert found.criteria_counts == {"a": [2, 0, 1, 0], "b": [1, 0, 0, 0]}
    assert found.usage == {"m": [2, 9, 1, 10, 0], "n": [1, 1, 1, 2, 1]}
    assert found.cost == 0.75
    assert await stored(store, run) == [0, 1, 2, 3]


async def test_a_batch_that_fails_in_the_middle_changes_nothing(store: Store) -> None:
    run = await started_run(store)
    assert await store.items.add(run, batch(5, 6), Counts(1))
    with pytest.raises(exc.IntegrityError):
        await store.items.add(run, batch(0, 10), Counts(10))
    assert await stored(store, run) == [5]
    assert await counters(store, run) == (1, 0, 0, 0)
    assert await store.items.add(run, batch(0, 5), Counts(5))
    assert await counters(store, run) == (6, 0, 0, 0)


async def test_the_same_batch_again_counts_once(store: Store) -> None:
    """A commit whose answer was lost is tried again."""
    run = await started_run(store)
    for _ in range(2):
        assert await store.items.add(run, batch(0, 3), Counts(3))
    assert await counters(store, run) == (3, 0, 0, 0)


async def test_a_batch_is_whole_although_its_caller_was_interrupted(store: Store) -> None:
    run = await started_run(store)
    dice = random.Random(7)
    for first in range(0, 2000, 100):
        task = asyncio.create_task(store.items.add(run, batch(first, first + 100), Counts(100)))
        await asyncio.sleep(dice.choice([0, 0.0005, 0.001, 0.002, 0.004]))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if first % 200:
            assert await store.items.add(run, batch(first, first + 100), Counts(100))
    await store.runs.cancel("default", run.eval_id, run.id)
    there = await stored(store, run)
    assert len(there) >= 1000
    assert len(there) % 100 == 0
    assert await counters(store, run) == (len(there), 0, 0, 0)


async def test_closing_waits_for_what_is_under_way(place: Place) -> None:
    store = await place.open()
    run = await started_run(store)
    task = asyncio.create_task(store.items.add(run, batch(0, 1000), Counts(1000)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()
    store = await place.open()
    assert await stored(store, run) == list(range(1000))
    assert await counters(store, run) == (1000, 0, 0, 0)


async def test_batches_written_at_once_are_all_counted(store: Store) -> None:
    run = await started_run(store)
    delta = Counts(10, 0, 0, 0, {"a": [10, 0, 0, 0]}, {}, 0.5)
    added = await asyncio.gather(*(store.items.add(run, batch(at * 10, at * 10 + 10), delta) for at in range(40)))
    assert all(added)
    found = await store.runs.get("default", run.eval_id, run.id)
    assert found is not None
    assert (found.passed, found.criteria_counts, found.cost) == (400, {"a": [400, 0, 0, 0]}, 20.0)


@pytest.mark.parametrize("how", ["cancel", "delete"])
async def test_nothing_is_written_once_a_run_is_canceled_or_deleted(place: Place, how: str) -> None:
    store = await place.open()
    # In PostgreSQL from another server too.
    other = store if place.is_sqlite else await place.open()
    dice = random.Random(11)
    for _ in range(10):
        run = await started_run(store)
        adding = [
            asyncio.create_task(store.items.add(run, batch(at * 50, at * 50 + 50), Counts(50))) for at in range(8)
        ]
        await asyncio.sleep(dice.choice([0, 0.001, 0.003, 0.006, 0.01]))
        if how == "cancel":
            canceled = await other.runs.cancel("default", run.eval_id, run.id)
            assert canceled is not None
            assert canceled.status == "canceled"
        else:
            assert await other.runs.delete("default", run.eval_id, run.id)
        there = await stored(other, run)
        added = await asyncio.gather(*adding)
        assert await stored(other, run) == there
        if how == "cancel":
            assert len(there) == 50 * sum(added)
            assert await counters(other, run) == (len(there), 0, 0, 0)
        else:
            assert there == []


WRITER = """
import asyncio, sys
from pathlib import Path
from fairmark.store import Counts, NewItem, Store

async def write():
    store = await Store.open(sys.argv[1] or None, Path(sys.argv[2]))
    run = await store.runs.claim()
    await store.runs.start(run)
    for first in range(0, 10**9, 100):
        await store.items.add(run, [NewItem(idx, "pass", b"{}") for idx in range(first, first + 100)], Counts(100))
        print(first + 100, flush=True)

asyncio.run(write())
"""


async def test_a_killed_process_loses_no_batch_and_leaves_no_half_of_one(place: Place) -> None:
    store = await place.open()
    made = await store.evals.create("default", "", {}, {}, [])
    run = await store.runs.create("default", made.id, "", {}, {}, None, None, {})
    await store.close()
    with another(WRITER, place.url or "", str(place.home)) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(20)]
        writer.kill()
        told += [int(line) for line in writer.stdout.read().splitlines()]
    store = await place.open()
    # PostgreSQL may still be at what the process sent last; cancelling waits for it.
    assert await store.runs.cancel("default", run.eval_id, run.id)
    there = await stored(store, run)
    assert len(there) in (told[-1], told[-1] + 100)
    assert await counters(store, run) == (len(there), 0, 0, 0)
    await store.close()


async def test_what_is_done_is_read_whole_however_much_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairmark.store.evals.items._INDEXES_A_PAGE", 7)
    run = await started_run(store, total=30)
    assert await store.items.done(run) == bytearray(30)
    for first, last in ((3, 20), (25, 26), (40, 41)):
        assert await store.items.add(run, batch(first, last), Counts(last - first))
    assert await stored(store, run) == [*range(3, 20), 25, 40]


async def test_an_item_is_found_by_its_id_in_its_own_run(store: Store) -> None:
    run, other = await started_run(store), await started_run(store)
    assert await store.items.add(run, batch(0, 3, "fail"), Counts(0, 3))
    assert await store.items.add(other, batch(0, 3), Counts(3))
    item = await store.items.get(run, ids.of_item(run.id, 2))
    assert item is not None
    assert (item.id, item.idx, item.status, item.body) == (ids.of_item(run.id, 2), 2, "fail", BODY)
    for unknown in (ids.of_item(other.id, 2), ids.of_item(run.id, 3), "", "\x00", "outputitem_2"):
        assert await store.items.get(run, unknown) is None


async def test_a_page_holds_no_more_bytes_than_memory_has_to_spare(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 2 * len(BODY))
    run = await started_run(store)
    assert await store.items.add(run, batch(0, 5), Counts(5))
    page = await store.items.list(run)
    assert ([item.idx for item in page.data], page.has_more) == ([0, 1], True)
    page = await store.items.list(run, after=ids.of_item(run.id, 2))
    assert ([item.idx for item in page.data], page.has_more) == ([3, 4], False)


async def test_items_are_listed_by_index_and_status(store: Store) -> None:
    run, other = await started_run(store), await started_run(store)
    # Rows are done in no order.
    assert await store.items.add(run, batch(4, 6), Counts(2))
    assert await store.items.add(run, [*batch(0, 2), *batch(2, 4, "fail")], Counts(2, 2))
    assert await store.items.add(other, batch(0, 1), Counts(1))
    page = await store.items.list(run)
    assert ([item.idx for item in page.data], page.has_more) == ([0, 1, 2, 3, 4, 5], False)
    page = await store.items.list(run, 2, order="desc")
    assert ([item.idx for item in page.data], page.has_more) == ([5, 4], True)
    page = await store.items.list(run, 2, after=page.data[-1].id, order="desc")
    assert ([item.idx for item in page.data], page.has_more) == ([3, 2], True)
    page = await store.items.list(run, 2, status="pass")
    assert ([item.idx for item in page.data], page.has_more) == ([0, 1], True)
    # From an item of another status too.
    page = await store.items.list(run, 2, after=ids.of_item(run.id, 3), status="pass")
    assert ([item.idx for item in page.data], page.has_more) == ([4, 5], False)
    for unknown in (ids.of_item(run.id, 6), ids.of_item(other.id, 0), "", "\x00"):
        with pytest.raises(UnknownCursor):
            await store.items.list(run, after=unknown)


async def test_a_page_is_found_by_an_index_wherever_it_is(store: Store) -> None:
    """The plans of both lists and of a lookup: none walks the table."""
    if not store._database.is_sqlite:
        return
    async with store._database.read() as connection:
        for where, index in (("idx > 5", "sqlite_autoindex_items_1"), ("status = 'x' AND idx > 5", "items_by_status")):
            query = "EXPLAIN QUERY PLAN SELECT body FROM items WHERE run_seq = 1 AND % ORDER BY idx LIMIT 10"
            ((*_, plan),) = (await connection.exec_driver_sql(query.replace("%", where))).all()
            assert plan.startswith(f"SEARCH items USING INDEX {index}")
