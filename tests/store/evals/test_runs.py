"""Runs: what they are, and how they go from queued to their end."""

import asyncio
import re

import pytest

from fairmark.store import Counts, NewItem, Run, Store, UnknownCursor, UnknownEval, ids
from tests.store.conftest import new_run, started_run


async def test_a_run_comes_back_as_it_was_created(store: Store) -> None:
    made = await store.evals.create("default", "", {}, {}, [])
    sent = b' {"type": "jsonl",\n "source": {"id": "file-\xc3\xbc\\u0000"}} '
    run = await store.runs.create(
        "default", made.id, "\ud83d", {"k": "\x00"}, sent, "gpt-4o", 3, {"budget": {"dollars": 1.5}}
    )
    assert re.fullmatch("evalrun_[0-9a-f]{32}", run.id)
    assert await store.runs.get("default", made.id, run.id) == run
    assert (run.eval_id, run.eval_seq, run.project) == (made.id, made.seq, "default")
    assert (run.name, run.metadata, run.data_source, run.model) == ("\ud83d", {"k": "\x00"}, sent, "gpt-4o")
    assert (run.status, run.error, run.total, run.options) == ("queued", None, 3, {"budget": {"dollars": 1.5}})
    assert (run.passed, run.failed, run.errored, run.skipped) == (0, 0, 0, 0)
    assert (run.criteria_counts, run.usage, run.cost) == ({}, {}, None)


async def test_a_run_is_found_under_its_own_project_and_eval_only(store: Store) -> None:
    run, other = await new_run(store), await new_run(store)
    assert await store.runs.get("other", run.eval_id, run.id) is None
    assert await store.runs.get("default", other.eval_id, run.id) is None
    assert await store.runs.get("default", run.eval_id, "\x00") is None
    assert await store.runs.cancel("default", other.eval_id, run.id) is None
    assert not await store.runs.delete("default", other.eval_id, run.id)
    assert await store.runs.get("default", run.eval_id, run.id) == run


async def test_a_run_needs_an_eval(store: Store) -> None:
    run = await new_run(store)
    for eval_id in ("eval_0", "\x00"):
        with pytest.raises(UnknownEval):
            await store.runs.create("default", eval_id, "", {}, {}, None, None, {})
    with pytest.raises(UnknownEval):
        await store.runs.create("other", run.eval_id, "", {}, {}, None, None, {})


async def test_no_run_is_left_where_its_eval_is_deleted_while_it_is_created(store: Store) -> None:
    for _ in range(20):
        made = await store.evals.create("default", "", {}, {}, [])
        creating = [store.runs.create("default", made.id, "", {}, {}, None, None, {}) for _ in range(4)]
        *created, deleted = await asyncio.gather(
            *creating, store.evals.delete("default", made.id), return_exceptions=True
        )
        assert deleted is True
        for run in created:
            assert isinstance(run, Run | UnknownEval)
    assert await store.runs.claim() is None


async def test_runs_are_listed_by_age_and_status(store: Store) -> None:
    first = await started_run(store)
    more = [await store.runs.create("default", first.eval_id, "", {}, {}, None, None, {}) for _ in range(3)]
    await new_run(store)
    every = [run.id for run in (first, *more)]
    page = await store.runs.list("default", first.eval_id)
    assert ([run.id for run in page.data], page.has_more) == (every, False)
    page = await store.runs.list("default", first.eval_id, 2, order="desc")
    assert ([run.id for run in page.data], page.has_more) == (every[:1:-1], True)
    page = await store.runs.list("default", first.eval_id, 2, after=first.id, status="queued")
    assert ([run.id for run in page.data], page.has_more) == (every[1:3], True)
    assert (await store.runs.list("other", first.eval_id)).data == []
    assert (await store.runs.list("default", "\x00")).data == []
    for unknown in ("evalrun_0", "\x00"):
        with pytest.raises(UnknownCursor):
            await store.runs.list("default", first.eval_id, after=unknown)


async def test_a_run_goes_from_queued_to_its_end_and_no_further(store: Store) -> None:
    run = await new_run(store)
    assert not await store.runs.finish(run, "completed")
    assert await store.runs.start(run, total=5)
    assert await store.runs.start(run)
    running = await store.runs.get("default", run.eval_id, run.id)
    assert running is not None
    assert (running.status, running.total) == ("in_progress", 5)
    assert await store.runs.finish(run, "failed", {"code": "x", "message": "\x00"})
    assert not await store.runs.finish(run, "completed")
    assert not await store.runs.start(run)
    ended = await store.runs.cancel("default", run.eval_id, run.id)
    assert ended is not None
    assert (ended.status, ended.error) == ("failed", {"code": "x", "message": "\x00"})


@pytest.mark.parametrize("begun", [False, True])
async def test_a_canceled_run_stays_canceled_and_keeps_its_items(store: Store, begun: bool) -> None:
    run = await new_run(store)
    if begun:
        assert await store.runs.start(run)
        assert await store.items.add(run, [NewItem(0, "pass", b"{}")], Counts(1))
    canceled = await store.runs.cancel("default", run.eval_id, run.id)
    assert canceled is not None
    assert (canceled.status, canceled.passed) == ("canceled", int(begun))
    assert not await store.runs.start(run)
    assert not await store.runs.finish(run, "completed")
    assert not await store.items.add(run, [NewItem(1, "pass", b"{}")], Counts(1))
    assert await store.runs.claim() is None
    assert await store.runs.cancel("default", run.eval_id, run.id) == canceled
    assert len((await store.items.list(run)).data) == int(begun)


async def test_a_run_can_be_deleted_while_it_is_worked_on(store: Store) -> None:
    run = await started_run(store)
    assert await store.items.add(run, [NewItem(0, "pass", b"{}")], Counts(1))
    assert await store.runs.delete("default", run.eval_id, run.id)
    assert not await store.items.add(run, [NewItem(1, "pass", b"{}")], Counts(1))
    assert not await store.runs.finish(run, "completed")
    assert await store.items.get(run, ids.of_item(run.id, 0)) is None
    assert not await store.runs.delete("default", run.eval_id, run.id)


async def test_the_number_of_a_deleted_run_is_never_given_again(store: Store) -> None:
    run = await new_run(store)
    assert await store.evals.delete("default", run.eval_id)
    again = await new_run(store)
    assert again.seq > run.seq
    assert again.eval_seq > run.eval_seq
