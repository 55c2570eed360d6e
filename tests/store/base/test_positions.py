"""Deleting what a list shows while paging through it: every entry is visited, and a cursor stays good."""

import asyncio
from typing import Any

import pytest

from fairmark.store import Store, UnknownCursor, ids
from fairmark.store.base import tables
from fairmark.store.base.pages import Order
from tests.store.conftest import Place, new_run

KINDS = ["evals", "evals by update", "runs", "files", "graders"]
OTHER = "other"


class Listed:
    """One of the lists. `scope` is a project, or for runs an eval's id."""

    def __init__(self, store: Store, kind: str) -> None:
        self.store = store
        self.kind = kind

    async def new_scope(self, project: str) -> str:
        if self.kind != "runs":
            return project
        return (await self.store.evals.create(project, "", {}, {}, [])).id

    async def create(self, scope: str, number: int = 0) -> str:
        match self.kind:
            case "runs":
                return (await self.store.runs.create("default", scope, "", {}, {}, None, None, {})).id
            case "files":
                return (await self.store.files.create(scope, ids.new_file(), "", "evals", 0, None)).id
            case "graders":
                return (await self.store.graders.create(scope, f"key-{number}", {"type": "custom"})).id
            case _:
                return (await self.store.evals.create(scope, "", {}, {}, [])).id

    async def delete(self, scope: str, id_: str) -> None:
        match self.kind:
            case "runs":
                assert await self.store.runs.delete("default", scope, id_)
            case "files":
                assert await self.store.files.delete(scope, id_)
            case "graders":
                assert await self.store.graders.delete(scope, id_)
            case _:
                assert await self.store.evals.delete(scope, id_)

    async def page(
        self, scope: str, limit: int, after: str | None = None, order: Order = "asc", before: str | None = None
    ) -> tuple[list[str], bool]:
        found: Any
        match self.kind:
            case "runs":
                found = await self.store.runs.list("default", scope, limit, after, order, before=before)
            case "files":
                found = await self.store.files.list(scope, None, limit, after, order, before)
            case "graders":
                found = await self.store.graders.list(scope, limit, after, order, before)
            case "evals":
                found = await self.store.evals.list(scope, limit, after, order, before=before)
            case _:
                found = await self.store.evals.list(scope, limit, after, order, "updated_at", before)
        return [each.id for each in found.data], found.has_more


@pytest.fixture(params=KINDS)
def listed(request: pytest.FixtureRequest, store: Store) -> Listed:
    return Listed(store, request.param)


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_who_deletes_what_a_list_shows_visits_everything(listed: Listed, order: Order) -> None:
    scope = await listed.new_scope("default")
    made = [await listed.create(scope, number) for number in range(7)]
    visited: list[str] = []
    has_more = True
    while has_more:
        page, has_more = await listed.page(scope, 2, visited[-1] if visited else None, order)
        visited += page
        for id_ in page:
            await listed.delete(scope, id_)
    assert visited == (made if order == "asc" else made[::-1])
    assert await listed.page(scope, 2) == ([], False)


async def test_a_deleted_cursor_goes_on_both_ways_from_where_it_stood(listed: Listed) -> None:
    scope = await listed.new_scope("default")
    made = [await listed.create(scope, number) for number in range(6)]
    await listed.delete(scope, made[3])
    assert await listed.page(scope, 10, after=made[3]) == (made[4:], False)
    assert await listed.page(scope, 2, before=made[3]) == (made[1:3], True)
    assert await listed.page(scope, 10, made[3], "desc") == (made[2::-1], False)
    assert await listed.page(scope, 10, before=made[3], order="desc") == (made[:3:-1], False)


async def test_what_comes_after_a_deleted_cursor_is_seen(listed: Listed) -> None:
    scope = await listed.new_scope("default")
    made = [await listed.create(scope, number) for number in range(3)]
    await listed.delete(scope, made[2])
    new = await listed.create(scope, 3)
    assert await listed.page(scope, 10, after=made[2]) == ([new], False)


async def test_before_gives_the_page_in_front_in_the_order_of_the_list(listed: Listed) -> None:
    scope = await listed.new_scope("default")
    made = [await listed.create(scope, number) for number in range(6)]
    assert await listed.page(scope, 2, before=made[4]) == (made[2:4], True)
    assert await listed.page(scope, 2, before=made[2]) == (made[:2], False)
    assert await listed.page(scope, 2, before=made[0]) == ([], False)
    assert await listed.page(scope, 2, before=made[1], order="desc") == ([made[3], made[2]], True)
    assert await listed.page(scope, 2, after=made[0], before=made[4]) == (made[1:3], True)
    assert await listed.page(scope, 3, after=made[0], before=made[4]) == (made[1:4], False)
    assert await listed.page(scope, 3, after=made[4], before=made[0]) == ([], False)


async def test_what_never_was_in_a_list_is_unknown_there_deleted_or_not(listed: Listed) -> None:
    scope = await listed.new_scope("default")
    other = await listed.new_scope("default" if listed.kind == "runs" else OTHER)
    await listed.create(scope)
    theirs = await listed.create(other, 1)
    file = await listed.store.files.create("default", ids.new_file(), "", "evals", 0, None)
    of_other_kind = file.id
    if listed.kind == "files":
        of_other_kind = (await listed.store.evals.create("default", "", {}, {}, [])).id
    for is_last in (False, True):
        for id_ in (theirs, of_other_kind, "file-0", "no id at all!"):
            with pytest.raises(UnknownCursor, match="after: there is no"):
                await listed.page(scope, 10, after=id_)
            with pytest.raises(UnknownCursor, match="before: there is no"):
                await listed.page(scope, 10, before=id_)
        if not is_last:
            await listed.delete(other, theirs)
            await listed.store.files.delete("default", file.id)
            await listed.store.evals.delete("default", of_other_kind)


async def test_a_file_that_expired_keeps_its_place(store: Store) -> None:
    ends = (None, 1, None)
    made = [await store.files.create("default", ids.new_file(), "", "evals", 0, at) for at in ends]
    assert await store.files.delete_expired() == 1
    page = await store.files.list("default", None, 10, made[1].id, "asc")
    assert [file.id for file in page.data] == [made[2].id]


async def test_places_are_forgotten_after_a_while_and_when_there_are_too_many(listed: Listed) -> None:
    scope = await listed.new_scope("default")
    made = [await listed.create(scope, number) for number in range(3)]
    for id_ in made[:2]:
        await listed.delete(scope, id_)
    await listed.store.positions.forget()
    assert await listed.page(scope, 10, after=made[1]) == (made[2:], False)
    # As if the first had been deleted an hour earlier.
    async with listed.store._database.write() as connection:
        older = tables.deleted.update().where(tables.deleted.c.id == made[0])
        await connection.execute(older.values(deleted_at=tables.deleted.c.deleted_at - 3600))
    await listed.store.positions.forget(most=1)
    assert await listed.page(scope, 10, after=made[1]) == (made[2:], False)
    with pytest.raises(UnknownCursor):
        await listed.page(scope, 10, after=made[0])
    await listed.store.positions.forget(kept_s=-60)
    with pytest.raises(UnknownCursor):
        await listed.page(scope, 10, after=made[1])


async def test_deleting_an_eval_leaves_no_trace_of_each_of_its_runs(place: Place) -> None:
    store = await place.open()
    run = await new_run(store)
    assert await store.evals.delete("default", run.eval_id)
    async with store._database.read() as connection:
        left = [row.kind for row in await connection.execute(tables.deleted.select())]
    assert left == ["eval"]


async def test_two_who_delete_the_same_leave_one_place(listed: Listed) -> None:
    scope = await listed.new_scope("default")
    made = await listed.create(scope)
    done = await asyncio.gather(*(listed.delete(scope, made) for _ in range(5)), return_exceptions=True)
    assert [each for each in done if each is None] == [None]
    assert all(each is None or isinstance(each, AssertionError) for each in done)
    assert await listed.page(scope, 10, after=made) == ([], False)
