"""Which rows raters were given."""

from fairmark.store import BatchRow, Run, Store
from tests.store.conftest import new_run

ROWS = [BatchRow(3, 0, "doubtful", 0.5), BatchRow(1, 1, "random", 0.25, False, "b")]


async def new(store: Store, run: Run, seen: int | None = None, batch_id: str = "") -> str | None:
    made = await store.label_batches.create(run, "kim\x00", "exact-1", "label", None, ROWS, seen, batch_id)
    return None if made is None else made.id


async def test_a_batch_comes_back_in_its_order(store: Store) -> None:
    run = await new_run(store)
    id_ = await new(store, run)
    found = await store.label_batches.get(run, id_ or "")
    assert found is not None
    assert (found.rater, found.criterion, found.kind, found.rows) == ("kim\x00", "exact-1", "label", ROWS)
    assert await store.label_batches.of_run(run) == [found]
    assert await store.label_batches.get(await new_run(store), found.id) is None


async def test_of_two_who_begin_at_once_one_has_to_look_again(store: Store) -> None:
    run = await new_run(store)
    assert await new(store, run, 0) is not None
    assert await new(store, run, 0) is None
    assert await new(store, run, 1) is not None


async def test_a_batch_is_made_once_by_its_id_and_not_of_a_run_that_is_gone(store: Store) -> None:
    run = await new_run(store)
    assert await new(store, run, batch_id="labelbatch_1") == "labelbatch_1"
    assert await new(store, run, batch_id="labelbatch_1") is None
    await store.runs.delete("default", run.eval_id, run.id)
    assert await new(store, run) is None
    assert await store.label_batches.of_run(run) == []
