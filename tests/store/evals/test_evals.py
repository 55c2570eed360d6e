"""Evals."""

import re
import time

import pytest
from sqlalchemy import func, select

from fairmark.store import Counts, NewItem, Store, UnknownCursor
from fairmark.store.base import tables
from tests.store.conftest import started_run

CONFIG = {"type": "custom", "schema": {"properties": {"item": {"$ref": "#/x"}}}}
CRITERIA = [{"id": "b-1", "name": "b"}, {"id": "a-2", "name": "\ud800 \x00 ü"}]


async def named(store: Store, *names: str) -> list[str]:
    return [(await store.evals.create("default", name, {}, {}, [])).id for name in names]


async def test_an_eval_comes_back_as_it_was_created(store: Store) -> None:
    made = await store.evals.create("default", "half an emoji \ud83d", {"k": "\x00"}, CONFIG, CRITERIA)
    assert re.fullmatch("eval_[0-9a-f]{32}", made.id)
    assert abs(made.created_at - time.time()) < 60
    assert await store.evals.get("default", made.id) == made
    assert (made.name, made.metadata, made.data_source_config) == ("half an emoji \ud83d", {"k": "\x00"}, CONFIG)
    assert made.criteria == CRITERIA
    assert await store.evals.get("other", made.id) is None
    for unknown in ("", "eval_0", "\x00", "\ud800"):
        assert await store.evals.get("default", unknown) is None


async def test_a_missing_name_is_empty_and_missing_metadata_are_none(store: Store) -> None:
    made = await store.evals.create("default", None, None, CONFIG, CRITERIA)
    assert (made.name, made.metadata) == ("", {})


async def test_an_update_changes_what_is_given_and_nothing_else(store: Store) -> None:
    made = await store.evals.create("default", "one", {"a": "1"}, CONFIG, CRITERIA)
    renamed = await store.evals.update("default", made.id, name="two")
    assert renamed is not None
    assert (renamed.name, renamed.metadata, renamed.criteria) == ("two", {"a": "1"}, CRITERIA)
    changed = await store.evals.update("default", made.id, metadata={})
    assert changed is not None
    assert (changed.name, changed.metadata) == ("two", {})
    assert await store.evals.update("default", made.id) == changed == await store.evals.get("default", made.id)
    assert await store.evals.update("other", made.id, name="three") is None
    assert await store.evals.update("default", "\x00", name="three") is None


async def test_evals_are_listed_as_they_were_created_or_as_they_were_changed(store: Store) -> None:
    one, two, three = await named(store, "1", "2", "3")
    await store.evals.create("other", "4", {}, {}, [])
    await store.evals.update("default", two, name="2b")
    await store.evals.update("default", one, name="1b")
    assert [each.id for each in (await store.evals.list("default")).data] == [one, two, three]
    assert [each.id for each in (await store.evals.list("default", order="desc")).data] == [three, two, one]
    by_update = await store.evals.list("default", order_by="updated_at")
    assert [each.id for each in by_update.data] == [three, two, one]
    page = await store.evals.list("default", 1, after=three, order_by="updated_at")
    assert ([each.id for each in page.data], page.has_more) == ([two], True)
    page = await store.evals.list("default", 1, after=two, order="desc", order_by="updated_at")
    assert ([each.id for each in page.data], page.has_more) == ([three], False)


async def test_a_cursor_must_be_of_this_list(store: Store) -> None:
    (one,) = await named(store, "1")
    with pytest.raises(UnknownCursor) as error:
        await store.evals.list("default", after="eval_x")
    assert str(error.value) == 'after: there is no "eval_x" in this list. Use the id of the last entry seen.'
    with pytest.raises(UnknownCursor):
        await store.evals.list("other", after=one)
    with pytest.raises(UnknownCursor):
        await store.evals.list("default", after="\x00")


async def test_an_eval_is_deleted_with_its_runs_and_all_that_is_theirs(store: Store) -> None:
    kept, gone = await started_run(store), await started_run(store)
    second = await store.runs.create("default", gone.eval_id, "", {}, b"{}", None, None, {})
    await store.runs.start(second)
    for run in (kept, gone, second):
        assert await store.items.add(run, [NewItem(0, "pass", b"{}"), NewItem(1, "fail", b"{}")], Counts(1, 1))
        assert await store.samples.add(run, [(0, b"{}")])
    assert not await store.evals.delete("other", gone.eval_id)
    assert await store.evals.delete("default", gone.eval_id)
    assert await store.evals.get("default", gone.eval_id) is None
    assert await store.runs.get("default", gone.eval_id, gone.id) is None
    assert not await store.evals.delete("default", gone.eval_id)
    assert not await store.evals.delete("default", "\x00")
    async with store._database.read() as connection:
        for table, rows in (("evals", 1), ("runs", 1), ("sources", 1), ("samples", 1), ("items", 2)):
            assert await connection.scalar(select(func.count()).select_from(tables.metadata.tables[table])) == rows
    assert (await store.runs.get("default", kept.eval_id, kept.id)) is not None
    assert not await store.items.add(second, [NewItem(2, "pass", b"{}")], Counts(1))
    assert not await store.samples.add(second, [(2, b"{}")])
