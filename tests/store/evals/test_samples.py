"""What models answered, stored before it is graded."""

from fairmark.store import Store
from tests.store.conftest import new_run, started_run


async def test_samples_are_found_by_a_range_of_rows(store: Store) -> None:
    run, other = await started_run(store), await started_run(store)
    assert await store.samples.add(run, [(0, b"a"), (1, b"b"), (7, b"\x00\xff")])
    assert await store.samples.add(other, [(1, b"z")])
    assert await store.samples.add(run, [])
    assert await store.samples.get(run, 0, 6) == {0: b"a", 1: b"b"}
    assert await store.samples.get(run, 1, 7) == {1: b"b", 7: b"\x00\xff"}
    assert await store.samples.get(run, 8, 100) == {}


async def test_an_answer_that_is_there_stays(store: Store) -> None:
    run = await started_run(store)
    assert await store.samples.add(run, [(0, b"first")])
    assert await store.samples.add(run, [(0, b"second"), (1, b"new")])
    assert await store.samples.get(run, 0, 1) == {0: b"first", 1: b"new"}


async def test_nothing_is_stored_for_a_run_that_is_not_in_progress(store: Store) -> None:
    run = await new_run(store)
    assert not await store.samples.add(run, [(0, b"a")])
    assert await store.runs.start(run)
    assert await store.samples.add(run, [(0, b"a")])
    assert await store.runs.finish(run, "completed")
    assert not await store.samples.add(run, [(1, b"b")])
    assert await store.samples.get(run, 0, 1) == {0: b"a"}


async def test_it_is_known_which_rows_have_a_sample(store: Store) -> None:
    run, other = await started_run(store), await started_run(store)
    assert not any(await store.samples.indexes(run))
    assert await store.samples.add(run, [(0, b"a"), (7, b"b")])
    assert await store.samples.add(other, [(1, b"z")])
    found = await store.samples.indexes(run)
    assert [index for index, there in enumerate(found) if there] == [0, 7]
