"""Sessions of the web page."""

import hashlib

import pytest
from sqlalchemy import select

from fairmark.store import Key, Store
from fairmark.store.access import sessions
from fairmark.store.base import tables


async def key_of(store: Store) -> Key:
    found = await store.keys.find(await store.keys.create("default", "laptop"))
    assert found is not None
    return found


async def test_a_session_leads_to_the_key_that_it_was_made_with_and_nothing_else_does(store: Store) -> None:
    key = await key_of(store)
    token = await store.sessions.create(key)
    assert await store.sessions.find(token) == key
    assert await store.sessions.create(key) != token
    for wrong in ("", token[:-1], token + "x", key.id, "\x00", "\ud800"):
        assert await store.sessions.find(wrong) is None


async def test_the_database_holds_no_session(store: Store) -> None:
    token = await store.sessions.create(await key_of(store))
    async with store._database.read() as connection:
        (row,) = (await connection.execute(select(tables.sessions))).all()
    assert row.sha256 == hashlib.sha256(token.encode()).digest()
    assert token not in str(row)


async def test_a_session_ends_with_its_key_its_time_or_when_it_is_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    revoked, other = await key_of(store), await key_of(store)
    tokens = [await store.sessions.create(key) for key in (revoked, other, other)]
    monkeypatch.setattr(sessions, "LASTS_S", 0)
    tokens.append(await store.sessions.create(other))
    await store.keys.revoke(revoked.id)
    await store.sessions.delete(tokens[1])
    assert [await store.sessions.find(token) for token in tokens] == [None, None, other, None]


async def test_expired_sessions_are_deleted_and_others_stay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    key = await key_of(store)
    monkeypatch.setattr(sessions, "LASTS_S", 0)
    await store.sessions.create(key)
    monkeypatch.setattr(sessions, "LASTS_S", 60)
    kept = await store.sessions.create(key)
    await store.sessions.delete_expired()
    async with store._database.read() as connection:
        assert len((await connection.execute(select(tables.sessions))).all()) == 1
    assert await store.sessions.find(kept) == key
