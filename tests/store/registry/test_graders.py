"""Graders by key, with their versions."""

import asyncio
import re
import time
from typing import Any

import pytest
from sqlalchemy import func, select

from fairmark.errors import DuplicateKey, LockedGrader, VersionConflict
from fairmark.references import Registered
from fairmark.store import Grader, NewGrader, PushedScore, Store, UnknownCursor
from fairmark.store.base import pages, tables
from fairmark.store.registry import graders as module
from tests.store.conftest import Place

ONE: dict[str, Any] = {"type": "custom", "description": "half an emoji \ud83d and \x00"}
TWO: dict[str, Any] = {"type": "custom", "description": "two"}
THREE: dict[str, Any] = {"type": "custom", "description": "three"}


async def create(store: Store, *keys: str, project: str = "default") -> list[Grader]:
    return [await store.graders.create(project, key, ONE) for key in keys]


async def counted(store: Store) -> dict[str, int]:
    async with store._database.read() as connection:
        return {
            name: await connection.scalar(select(func.count()).select_from(tables.metadata.tables[name])) or 0
            for name in ("graders", "grader_versions", "grader_scores")
        }


async def test_a_grader_comes_back_by_key_and_by_id_as_it_was_created(store: Store) -> None:
    made = await store.graders.create("default", "exact", ONE, "a \ud83d\x00 name", "why", {"version": "7"})
    assert re.fullmatch("grader_[0-9a-f]{32}", made.id)
    assert (made.version, made.locked) == (1, False)
    assert abs(made.created_at - time.time()) < 60
    assert made.updated_at == made.created_at
    assert await store.graders.get("default", "exact") == await store.graders.get("default", made.id) == made
    assert (made.name, made.description, made.grader, made.info) == ("a \ud83d\x00 name", "why", ONE, {"version": "7"})


async def test_without_a_name_it_is_called_by_its_key(store: Store) -> None:
    (made,) = await create(store, "exact")
    assert made.name == "exact"
    renamed = await store.graders.update("default", made.id, name="Exact")
    assert renamed is not None
    assert renamed.name == "Exact"
    for nothing in (None, ""):
        unnamed = await store.graders.update("default", made.id, name=nothing)
        assert unnamed is not None
        assert unnamed.name == "exact"


async def test_projects_do_not_see_each_others_graders(store: Store) -> None:
    (ours,), (theirs,) = await create(store, "exact"), await create(store, "exact", project="other")
    assert ours.id != theirs.id
    assert await store.graders.get("other", ours.id) is None
    assert (await store.graders.get("other", "exact")) == theirs
    assert await store.graders.update("other", ours.id, name="x") is None
    assert await store.graders.delete("other", ours.id) is None
    assert [each.id for each in (await store.graders.list("other")).data] == [theirs.id]
    assert [each.id for each in await store.graders.all("other")] == [theirs.id]
    found = await store.graders.find("other", [("exact", None)])
    assert found["exact", None].id == theirs.id
    await store.graders.delete("other", "exact")
    assert await store.graders.get("default", "exact") == ours


@pytest.mark.parametrize("unknown", ["", "lost", "\x00", "\ud800", "Exact", "a" * 500, "grader_" + 32 * "0"])
async def test_what_is_not_there_is_none(store: Store, unknown: str) -> None:
    await create(store, "exact")
    assert await store.graders.get("default", unknown) is None
    assert await store.graders.update("default", unknown, grader=TWO) is None
    assert await store.graders.delete("default", unknown) is None
    with pytest.raises(UnknownCursor):
        await store.graders.list("default", after=unknown or "x")


async def test_a_key_is_given_once(store: Store) -> None:
    await create(store, "exact")
    with pytest.raises(DuplicateKey) as error:
        await store.graders.create("default", "exact", TWO)
    assert str(error.value) == 'key: there is a grader "exact" already. Change that one, or use another key.'
    assert await counted(store) == {"graders": 1, "grader_versions": 1, "grader_scores": 0}


async def test_json_that_differs_is_a_new_version_and_the_old_one_is_kept(store: Store) -> None:
    (made,) = await create(store, "exact")
    second = await store.graders.update("default", "exact", grader=TWO, info={"version": "8"})
    assert second is not None
    assert (second.version, second.grader, second.info, second.id) == (2, TWO, {"version": "8"}, made.id)
    assert await store.graders.update("default", "exact", grader=dict(TWO)) == second
    first = await store.graders.get("default", "exact", 1)
    assert first is not None
    assert (first.version, first.grader, first.info) == (1, ONE, None)
    assert await store.graders.get("default", "exact", 3) is None
    third = await store.graders.update("default", "exact", grader=ONE)
    assert third is not None
    assert (third.version, third.grader) == (3, ONE)


async def test_a_change_of_names_is_no_new_version(store: Store) -> None:
    await create(store, "exact")
    changed = await store.graders.update("default", "exact", name="Exact", description="why")
    assert changed is not None
    assert (changed.version, changed.name, changed.description) == (1, "Exact", "why")
    again = await store.graders.update("default", "exact", description=None)
    assert again is not None
    assert (again.name, again.description) == ("Exact", None)


async def test_long_graders_and_versions_come_in_shorter_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 1)
    await create(store, "a", "b")
    newest = await store.graders.update("default", "a", grader=TWO)
    assert newest is not None
    listed = await store.graders.list("default")
    assert ([each.key for each in listed.data], listed.has_more) == (["a"], True)
    listed = await store.graders.list("default", after="a")
    assert ([each.key for each in listed.data], listed.has_more) == (["b"], False)
    versions = await store.graders.versions(newest)
    assert ([each.version for each in versions.data], versions.has_more) == ([2], True)


async def test_versions_are_listed_in_pages_the_newest_first(store: Store) -> None:
    await create(store, "exact")
    await store.graders.update("default", "exact", grader=TWO)
    newest = await store.graders.update("default", "exact", grader=THREE)
    assert newest is not None
    page = await store.graders.versions(newest, 2)
    assert ([(each.version, each.grader) for each in page.data], page.has_more) == ([(3, THREE), (2, TWO)], True)
    page = await store.graders.versions(newest, 2, "2")
    assert ([each.version for each in page.data], page.has_more) == ([1], False)
    assert [each.version for each in (await store.graders.versions(newest, order="asc")).data] == [1, 2, 3]
    for wrong in ("0", "4", "x", "1.5", "9" * 50, "²"):
        with pytest.raises(UnknownCursor):
            await store.graders.versions(newest, after=wrong)


async def test_a_change_to_a_version_that_is_no_longer_the_newest_is_refused(store: Store) -> None:
    await create(store, "exact")
    second = await store.graders.update("default", "exact", grader=TWO, expected=1)
    with pytest.raises(VersionConflict) as error:
        await store.graders.update("default", "exact", grader=THREE, name="x", expected=1)
    assert str(error.value) == (
        'version: the grader "exact" has version 2 by now, and the change was made to version 1. '
        "Get it again and make the change to that."
    )
    assert await store.graders.get("default", "exact") == second


async def test_a_locked_grader_is_neither_changed_nor_deleted_until_it_is_unlocked(store: Store) -> None:
    (made,) = await create(store, "exact")
    locked = await store.graders.update("default", "exact", locked=True)
    assert locked is not None
    assert locked.locked
    changes: list[dict[str, Any]] = [{"grader": TWO}, {"name": "x"}, {"description": "x"}]
    for change in [*changes, {"locked": False, **changes[0]}]:
        with pytest.raises(LockedGrader) as error:
            await store.graders.update("default", "exact", **change)
        assert str(error.value) == 'the grader "exact" is locked. Unlock it first.'
    with pytest.raises(LockedGrader):
        await store.graders.delete("default", made.id)
    assert await store.graders.get("default", "exact") == locked
    assert await store.graders.update("default", "exact", grader=ONE, locked=True) == locked  # which changes nothing
    unlocked = await store.graders.update("default", "exact", locked=False)
    assert unlocked is not None
    assert not unlocked.locked
    assert await store.graders.delete("default", "exact") is not None


async def test_a_grader_is_deleted_with_its_versions_and_scores_and_its_key_is_free_again(store: Store) -> None:
    gone, kept = await create(store, "gone", "kept")
    for each in (gone, kept):
        await store.graders.update("default", each.key, grader=TWO)
        assert await store.grader_scores.push(each, [PushedScore("s", 1.0)])
    deleted = await store.graders.delete("default", "gone")
    assert deleted is not None
    assert (deleted.id, deleted.version) == (gone.id, 2)
    assert await store.graders.get("default", gone.id) is None
    assert await counted(store) == {"graders": 1, "grader_versions": 2, "grader_scores": 1}
    (again,) = await create(store, "gone")
    assert again.id != gone.id
    assert again.version == 1
    assert (await store.grader_scores.list(again)).data == []


async def test_graders_are_listed_as_they_were_created_in_pages(store: Store) -> None:
    b, a, c = await create(store, "b", "a", "c")
    await store.graders.update("default", "b", grader=TWO)
    found = await store.graders.list("default")
    assert [(each.key, each.version, each.grader) for each in found.data] == [
        ("b", 2, TWO),
        ("a", 1, ONE),
        ("c", 1, ONE),
    ]
    for cursor in (b.id, "b"):
        page = await store.graders.list("default", 1, after=cursor)
        assert ([each.id for each in page.data], page.has_more) == ([a.id], True)
    assert [each.key for each in (await store.graders.list("default", order="desc")).data] == ["c", "a", "b"]
    assert [each.key for each in await store.graders.all("default")] == ["a", "b", "c"]
    assert c.key == "c"


async def test_references_are_found_newest_or_in_the_version_that_is_asked_for(store: Store) -> None:
    (made,) = await create(store, "exact")
    await create(store, "other")
    await store.graders.update("default", "exact", grader=TWO)
    wanted = [("exact", None), ("exact", 1), ("exact", 2), ("exact", 3), ("other", None), ("other", 2), ("lost", None)]
    found = await store.graders.find("default", wanted)
    assert found["exact", None] == found["exact", 2] == Registered(made.id, "exact", 2, TWO)
    assert found["exact", 1] == Registered(made.id, "exact", 1, ONE)
    assert set(found) == {("exact", None), ("exact", 1), ("exact", 2), ("other", None)}
    assert await store.graders.find("default", []) == {}


async def test_more_references_are_found_than_a_statement_takes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS_A_QUERY", 2)
    await create(store, *"abcde")
    wanted = [(key, version) for key in "abcde" for version in (None, 1)]
    assert set(await store.graders.find("default", wanted)) == set(wanted)


async def test_a_pack_is_brought_as_a_whole(store: Store) -> None:
    await create(store, "same", "other")
    pack = [
        NewGrader("new", TWO, "New", "why", locked=True),
        NewGrader("same", ONE, "same"),
        NewGrader("other", TWO, "Other"),
    ]
    with pytest.raises(DuplicateKey, match='there is a grader "other" already'):
        await store.graders.bring("default", pack, update=False)
    assert await counted(store) == {"graders": 2, "grader_versions": 2, "grader_scores": 0}
    done = await store.graders.bring("default", pack, update=True)
    assert done == {"new": "created", "same": "unchanged", "other": "updated"}
    new, other = await store.graders.get("default", "new"), await store.graders.get("default", "other")
    assert new is not None
    assert (new.version, new.name, new.description, new.locked, new.grader) == (1, "New", "why", True, TWO)
    assert other is not None
    assert (other.version, other.name, other.grader) == (2, "Other", TWO)
    again = await store.graders.bring("default", pack, update=False)
    assert set(again.values()) == {"unchanged"}


async def test_a_pack_that_changes_names_only_makes_no_version(store: Store) -> None:
    await create(store, "exact")
    assert await store.graders.bring("default", [NewGrader("exact", ONE, "Exact")], update=True) == {"exact": "updated"}
    found = await store.graders.get("default", "exact")
    assert found is not None
    assert (found.version, found.name) == (1, "Exact")


async def test_a_pack_changes_no_locked_grader_and_then_nothing_at_all(store: Store) -> None:
    await create(store, "exact")
    await store.graders.update("default", "exact", locked=True)
    with pytest.raises(LockedGrader):
        await store.graders.bring("default", [NewGrader("a", ONE, "a"), NewGrader("exact", TWO, "exact")], update=True)
    assert await store.graders.get("default", "a") is None
    assert await store.graders.bring("default", [NewGrader("exact", ONE, "exact")], update=True) == {
        "exact": "unchanged"
    }


async def two(place: Place) -> list[Store]:
    """Two servers on one database; on SQLite, one of them beside the server."""
    return [await place.open(), await place.open(exclusive=False) if place.is_sqlite else await place.open()]


async def test_of_many_who_create_one_key_one_wins_and_the_others_are_told(place: Place) -> None:
    stores = await two(place)
    graders = [{**ONE, "description": str(number)} for number in range(8)]
    done = await asyncio.gather(
        *(stores[index % 2].graders.create("default", "exact", each) for index, each in enumerate(graders)),
        return_exceptions=True,
    )
    (won,) = [each for each in done if isinstance(each, Grader)]
    assert [type(each) for each in done if each is not won] == [DuplicateKey] * 7
    assert await stores[0].graders.get("default", "exact") == won
    assert await counted(stores[0]) == {"graders": 1, "grader_versions": 1, "grader_scores": 0}


async def test_of_many_who_change_one_version_one_wins_and_the_others_are_told(place: Place) -> None:
    stores = await two(place)
    await create(stores[0], "exact")
    done = await asyncio.gather(
        *(
            stores[number % 2].graders.update(
                "default", "exact", grader={**ONE, "description": str(number)}, expected=1
            )
            for number in range(8)
        ),
        return_exceptions=True,
    )
    (won,) = [each for each in done if isinstance(each, Grader)]
    assert won.version == 2
    assert [type(each) for each in done if each is not won] == [VersionConflict] * 7
    assert await stores[1].graders.get("default", "exact") == won


async def test_of_many_who_change_one_grader_each_makes_a_version_of_its_own(place: Place) -> None:
    stores = await two(place)
    (made,) = await create(stores[0], "exact")
    done = await asyncio.gather(
        *(
            stores[number % 2].graders.update("default", "exact", grader={**ONE, "description": str(number)})
            for number in range(8)
        )
    )
    assert sorted(each.version for each in done if each is not None) == list(range(2, 10))
    listed = (await stores[0].graders.versions(done[0] or made, 20, order="asc")).data
    assert [each.version for each in listed] == list(range(1, 10))
    by_version = {each.version: each.grader for each in listed}
    assert all(by_version[each.version] == each.grader for each in done if each is not None)


async def test_who_changes_a_grader_while_another_deletes_it_leaves_nothing_behind(place: Place) -> None:
    stores = await two(place)
    for number in range(10):
        await create(stores[0], "exact")
        changes = [
            stores[index % 2].graders.update("default", "exact", grader={**ONE, "description": f"{number} {index}"})
            for index in range(6)
        ]
        *changed, gone = await asyncio.gather(*changes, stores[1].graders.delete("default", "exact"))
        assert gone is not None
        assert all(each is None or each.id == gone.id for each in changed)
        assert await counted(stores[0]) == {"graders": 0, "grader_versions": 0, "grader_scores": 0}


async def test_who_brings_a_pack_while_another_creates_one_of_its_keys_is_told_or_finds_it(place: Place) -> None:
    stores = await two(place)
    pack = [NewGrader(key, TWO, key) for key in "abcdef"]
    brought, created = await asyncio.gather(
        stores[0].graders.bring("default", pack, update=False),
        stores[1].graders.create("default", "f", ONE),
        return_exceptions=True,
    )
    assert isinstance(brought, DuplicateKey) != isinstance(created, DuplicateKey)
    assert len(await stores[0].graders.all("default")) == (1 if isinstance(brought, DuplicateKey) else 6)
