"""Uploaded files."""

import time

import pytest

from fairmark.store import Store, UnknownCursor, ids

NOW = int(time.time())


async def upload(store: Store, name: str, purpose: str = "evals", expires_at: int | None = None) -> str:
    file_id = ids.new_file()
    store.files.folder.mkdir(exist_ok=True)
    store.files.content(file_id).write_bytes(b"{}\n")
    made = await store.files.create("default", file_id, name, purpose, 3, expires_at)
    assert made.id == file_id
    return file_id


async def test_a_file_is_known_to_its_project_only(store: Store) -> None:
    file_id = await upload(store, "a \ud83d\x00 b.jsonl")
    found = await store.files.get("default", file_id)
    assert found is not None
    assert (found.filename, found.purpose, found.bytes, found.expires_at) == ("a \ud83d\x00 b.jsonl", "evals", 3, None)
    assert await store.files.path("default", file_id) == store.files.folder / file_id
    assert await store.files.get("other", file_id) is None
    assert await store.files.path("other", file_id) is None
    assert (await store.files.list("other")).data == []
    assert not await store.files.delete("other", file_id)
    for unknown in ("", "\x00", "file-0", "../../etc/passwd"):
        assert await store.files.get("default", unknown) is None
        assert not await store.files.delete("default", unknown)


async def test_a_deleted_file_is_gone_with_its_content(store: Store) -> None:
    file_id = await upload(store, "a")
    assert await store.files.delete("default", file_id)
    assert await store.files.get("default", file_id) is None
    assert not store.files.content(file_id).exists()
    assert not await store.files.delete("default", file_id)


async def test_an_expired_file_is_absent_and_can_be_swept_away(store: Store) -> None:
    kept = await upload(store, "kept", expires_at=NOW + 3600)
    for_ever = await upload(store, "for ever")
    gone = await upload(store, "gone", expires_at=NOW - 1)
    assert await store.files.get("default", gone) is None
    assert await store.files.path("default", gone) is None
    assert not await store.files.delete("default", gone)
    assert [file.id for file in (await store.files.list("default", order="asc")).data] == [kept, for_ever]
    assert store.files.content(gone).exists()
    assert await store.files.delete_expired() == 1
    assert await store.files.delete_expired() == 0
    assert sorted(path.name for path in store.files.folder.iterdir()) == sorted([kept, for_ever])


async def test_files_are_listed_by_purpose_the_newest_first(store: Store) -> None:
    purposes = ["evals", "batch", "evals", "evals"]
    one, two, three, four = [await upload(store, str(at), purpose) for at, purpose in enumerate(purposes)]
    page = await store.files.list("default")
    assert ([file.id for file in page.data], page.has_more) == ([four, three, two, one], False)
    page = await store.files.list("default", "evals", 2)
    assert ([file.id for file in page.data], page.has_more) == ([four, three], True)
    page = await store.files.list("default", "evals", 2, after=three)
    assert ([file.id for file in page.data], page.has_more) == ([one], False)
    for nothing in ("nobodys", "\x00", "\ud800"):
        assert (await store.files.list("default", nothing)).data == []


async def test_a_place_in_the_list_outlives_its_file_but_not_its_project(store: Store) -> None:
    older = await upload(store, "older")
    expired = await upload(store, "expired", expires_at=NOW - 1)
    await upload(store, "newer")
    assert [file.id for file in (await store.files.list("default", after=expired)).data] == [older]
    for unknown in ("file-0", "", "\x00"):
        with pytest.raises(UnknownCursor):
            await store.files.list("default", after=unknown)
    with pytest.raises(UnknownCursor):
        await store.files.list("other", after=older)
