"""Imports: one of a project at a time, what is noted of them, and those whose server is gone."""

import pytest

from fairmark.store import Import, Store, UnknownCursor
from tests.store.conftest import Place

ASKED = {"source": "archive", "archive": "mine\x00", "on_clash": "skip"}


async def new(store: Store, project: str = "default") -> Import:
    made = await store.imports.create(project, ASKED)
    assert made is not None
    return made


async def shown(store: Store, import_: Import) -> Import:
    now = await store.imports.get(import_.project, import_.id)
    assert now is not None
    return now


async def test_one_of_a_project_at_a_time_and_each_project_has_its_own(store: Store) -> None:
    made = await new(store)
    assert (made.status, made.is_active, made.request) == ("queued", True, ASKED)
    assert await shown(store, made) == made
    assert await store.imports.create("default", ASKED) is None
    assert await store.imports.restart(made) is None
    other = await new(store, "other")
    assert await store.imports.get("default", other.id) is None
    await store.imports.end(made, "completed", {"read": {"evals": 1}}, {"counts": {}}, None)
    assert (await shown(store, made)).report == {"counts": {}}
    assert (await new(store)).id != made.id


async def test_what_is_noted_and_how_it_ends(store: Store) -> None:
    made = await new(store)
    assert await store.imports.note(made, {"stage": "evals"})
    assert ((await shown(store, made)).status, (await shown(store, made)).progress) == ("running", {"stage": "evals"})
    await store.imports.cancel(made)
    assert not await store.imports.note(made, {"stage": "runs"})
    await store.imports.end(made, "completed", {})
    assert (await shown(store, made)).status == "cancelled"  # what ended has ended
    again = await store.imports.restart(await shown(store, made))
    assert again is not None
    assert (again.status, again.progress, again.error) == ("queued", {}, None)


async def test_the_newest_come_first_without_their_reports(store: Store) -> None:
    made = []
    for number in range(3):
        made.append(await new(store))
        await store.imports.end(made[-1], "failed", {}, {"number": number}, "why")
    page = await store.imports.list("default", limit=2)
    assert [import_.id for import_ in page.data] == [made[2].id, made[1].id]
    assert page.has_more
    assert [import_.report for import_ in page.data] == [None, None]
    assert page.data[0].error == "why"
    (last,) = (await store.imports.list("default", after=made[1].id)).data
    assert last.id == made[0].id
    for cursor in ("nope", "\x00"):
        with pytest.raises(UnknownCursor):
            await store.imports.list("default", after=cursor)
    assert (await store.imports.list("other")).data == []


async def test_what_a_dead_server_left_is_interrupted_and_what_somebody_works_on_is_not(place: Place) -> None:
    store = await place.open()
    made = await new(store)
    await store.imports.interrupt_lost()
    assert (await shown(store, made)).status == "queued"
    await store.close()
    store = await place.open()
    await store.imports.interrupt_lost()
    lost = await shown(store, made)
    assert lost.status == "interrupted"
    assert "continue it" in (lost.error or "")
    assert await store.imports.restart(lost) is not None
    await store.imports.interrupt_lost()
    assert (await shown(store, made)).status == "queued"
    await store.close()
