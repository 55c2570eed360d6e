"""The rows of a run as columns: from packets, or from the items themselves, and kept while nothing moves."""

import pytest
from sqlalchemy import delete, select

from fairmark.store import Counts, NewItem, Store
from fairmark.store.base.tables import facets
from fairmark.store.views import columns as columns_module
from tests.store.fielded import ROWS, again, filled


async def test_rows_that_no_packet_holds_are_read_once_and_kept(store: Store) -> None:
    run = await filled(store, [ROWS[:2], [NewItem(row.idx, row.status, row.body, row.scores) for row in ROWS[2:]]])
    assert await store.runs.finish(run, "completed")
    run = await again(store, run)
    assert len(await store.columns.of(run)) == 5
    async with store._database.read() as connection:
        packets = (await connection.execute(select(facets.c["first"], facets.c["count"]))).all()
    assert sorted(map(tuple, packets)) == [(0, 2), (1, 3)]
    store.columns._kept.clear()
    assert list((await store.columns.of(run)).idx) == [0, 2, 1, 3, 4]
    async with store._database.write() as connection:
        await connection.execute(delete(facets))
    store.columns._kept.clear()
    assert sorted((await store.columns.of(run)).idx) == [0, 1, 2, 3, 4]


async def test_columns_follow_a_run_that_goes_on_and_few_are_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await filled(store, [ROWS[:2]])
    first = await store.columns.of(run)
    assert await store.columns.of(run) is first
    assert await store.items.add(run, ROWS[2:], Counts(errored=1, failed=1, skipped=1))
    assert len(await store.columns.of(await again(store, run))) == 5
    assert len(store.columns._kept) == 1
    monkeypatch.setattr(columns_module, "ROWS_KEPT", 6)
    other = await filled(store, [ROWS])
    await store.columns.of(other)
    assert [key[0] for key in store.columns._kept] == [other.id]


async def test_deleting_a_run_deletes_its_packets(store: Store) -> None:
    run = await filled(store, [ROWS])
    assert await store.runs.delete("default", run.eval_id, run.id)
    async with store._database.read() as connection:
        assert (await connection.execute(select(facets.c["first"]))).all() == []
