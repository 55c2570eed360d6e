"""API keys."""

import asyncio
import hashlib
import hmac
import re

import pytest
from sqlalchemy import select

from fairmark.store import InvalidProject, Store
from fairmark.store.base import tables


async def test_a_key_is_found_by_itself_and_by_nothing_else(store: Store) -> None:
    key = await store.keys.create("default", "laptop")
    assert re.fullmatch("fm-[0-9a-f]{48}", key)
    found = await store.keys.find(key)
    assert found is not None
    assert (found.project, found.name, found.start, found.revoked_at) == ("default", "laptop", key[:8], None)
    for wrong in ("", "fm-", key[:-1], key + "0", key.upper(), found.start, found.id, "\x00", "\ud800"):
        assert await store.keys.find(wrong) is None


async def test_the_database_holds_no_key(store: Store) -> None:
    key = await store.keys.create("default", "")
    async with store._database.read() as connection:
        (row,) = (await connection.execute(select(tables.keys))).all()
    assert hashlib.sha256(key.encode()).digest() in row
    assert not [value for value in row if key[8:16] in str(value)]


@pytest.mark.thorough
async def test_each_of_a_thousand_keys_is_found_and_none_that_differs_in_a_digit(store: Store) -> None:
    keys = await asyncio.gather(*(store.keys.create(f"p{number % 7}", str(number)) for number in range(1000)))
    assert len(set(keys)) == 1000
    for number in range(0, 1000, 7):
        found = await store.keys.find(keys[number])
        assert found is not None
        assert (found.project, found.name) == (f"p{number % 7}", str(number))
        other_digit = "0" if keys[number][-1] != "0" else "1"
        assert await store.keys.find(keys[number][:-1] + other_digit) is None


async def test_hashes_are_compared_in_constant_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    original = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return original(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    key = await store.keys.create("default", "")
    assert await store.keys.find(key)
    assert compared == [(hashlib.sha256(key.encode()).digest(),) * 2]


async def test_a_revoked_key_opens_nothing_and_stays_in_the_list(store: Store) -> None:
    key = await store.keys.create("default", "old")
    (known,) = await store.keys.list()
    assert await store.keys.revoke(known.id)
    assert await store.keys.find(key) is None
    (revoked,) = await store.keys.list()
    assert revoked.revoked_at is not None
    assert await store.keys.revoke(known.id)
    assert await store.keys.list() == [revoked]
    assert not await store.keys.revoke("key_0000000000000000")
    assert not await store.keys.revoke("\x00")


async def test_keys_are_listed_by_project_and_age(store: Store) -> None:
    for project, name in (("a", "1"), ("b", "2"), ("a", "3")):
        await store.keys.create(project, name)
    assert [key.name for key in await store.keys.list()] == ["1", "2", "3"]
    assert [key.name for key in await store.keys.list("a")] == ["1", "3"]
    assert await store.keys.list("c") == []


async def test_there_is_a_key_once_one_was_made_even_if_it_is_revoked(store: Store) -> None:
    assert not await store.keys.any()
    await store.keys.create("default", "")
    (only,) = await store.keys.list()
    await store.keys.revoke(only.id)
    assert await store.keys.any()


@pytest.mark.parametrize("project", ["", "a b", "a/b", "\ud800", "a\x00", "x" * 65])
async def test_a_project_has_a_plain_name(store: Store, project: str) -> None:
    with pytest.raises(InvalidProject, match="It takes 1 to 64 letters, digits"):
        await store.keys.create(project, "")


async def test_a_key_may_be_called_anything(store: Store) -> None:
    for name in ("", "naïve 💾", "\x00", "\ud83d", "a\nb"):
        await store.keys.create("default", name)
        assert (await store.keys.list())[-1].name == name
