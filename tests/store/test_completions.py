"""Chat completions and responses that are kept."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from fairmark import jsontext
from fairmark.store import Chosen, CompletionLimits, NewCompletion, Store, UnknownCursor, completions
from fairmark.store.base import tables
from fairmark.store.base.pages import Order

NOW = int(time.time())
ROOMY = CompletionLimits(1000, 10_000_000, 3600)
CHAT = Chosen("chat")
IMPORTED = {"source": "openai", "at": 5}


def new(id_: str = "chatcmpl-1", **more: Any) -> NewCompletion:
    metadata = more.pop("metadata", {})
    body = more.pop("body", None) or jsontext.encode({"id": id_, "object": "chat.completion", "metadata": metadata})
    values = {
        "project": "default",
        "kind": "chat",
        "model": "gpt-6-luna-2026-09-01",
        "asked_model": "gpt-6-luna",
        "created_at": NOW,
        "input": b'[{"id":"m-0","role":"user","content":"hi"}]',
        "request": b'{"temperature":0.5}',
    }
    return NewCompletion(**{**values, **more, "id": id_, "metadata": metadata, "body": body})


async def keep(store: Store, *made: NewCompletion, limits: CompletionLimits = ROOMY) -> None:
    assert await store.completions.keep(made, limits) == ["stored"] * len(made)


async def listed(store: Store, chosen: Chosen = CHAT, **more: Any) -> list[str]:
    return [one.id for one in (await store.completions.list("default", chosen, **more)).data]


async def test_what_is_kept_is_known_to_its_project_and_kind_only(store: Store) -> None:
    await keep(store, new(metadata={"a \x00": "\ud83d"}, model="m\x00", asked_model="\ud83d"))
    found = await store.completions.get("default", "chat", "chatcmpl-1")
    assert found is not None
    assert (found.model, found.asked_model, found.created_at) == ("m\x00", "\ud83d", NOW)
    assert found.metadata == {"a \x00": "\ud83d"}
    assert found.request == b'{"temperature":0.5}'
    assert found.imported is None
    assert NOW + 3600 <= (found.expires_at or 0) <= time.time() + 3600
    read = await store.completions.read_input("default", "chat", "chatcmpl-1")
    assert read is not None
    assert [bytes(message) for message in read] == [b'{"id":"m-0","role":"user","content":"hi"}']
    for project, kind, id_ in (
        ("other", "chat", "chatcmpl-1"),
        ("default", "response", "chatcmpl-1"),
        ("default", "chat", "chatcmpl-2"),
        ("default", "chat", "\x00"),
        ("default", "chat", ""),
        ("default", "chat", "../x"),
    ):
        assert await store.completions.get(project, kind, id_) is None  # type: ignore[arg-type]
        assert await store.completions.read_input(project, kind, id_) is None  # type: ignore[arg-type]
        assert not await store.completions.delete(project, kind, id_)  # type: ignore[arg-type]
        assert await store.completions.update(project, kind, id_, {}) is None  # type: ignore[arg-type]


async def test_the_same_is_kept_once_and_another_of_the_same_id_under_another(store: Store) -> None:
    await keep(store, new("chatcmpl-7"))
    await keep(store, new("chatcmpl-7"))
    await keep(store, new("chatcmpl-7", project="other"))
    assert await listed(store) == ["chatcmpl-7"]
    await keep(store, new("chatcmpl-7", body=b'{"id":"chatcmpl-7","another":1}'))
    first, second = await listed(store)
    assert first == "chatcmpl-7"
    assert second.startswith("chatcmpl-7-")
    assert second != first
    # What no path could hold is given an id of ours.
    await keep(store, new("a/b", kind="response"), new("", kind="response"))
    ours = await listed(store, Chosen("response"))
    assert len(ours) == 2
    assert all(id_.startswith("resp_") and len(id_) > 20 for id_ in ours)


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_a_list_goes_by_time_whatever_came_first(store: Store, order: Order) -> None:
    times = {"c-3": 30, "c-1": 10, "c-2b": 20, "c-2c": 20, "c-0": 0}
    for id_, at in times.items():
        await keep(store, new(id_, created_at=at))
    expected = ["c-0", "c-1", "c-2b", "c-2c", "c-3"]
    expected = expected if order == "asc" else expected[::-1]
    assert await listed(store, order=order) == expected
    visited: list[str] = []
    while True:
        page = await store.completions.list("default", CHAT, 2, visited[-1] if visited else None, order)
        visited += [one.id for one in page.data]
        # A place outlives what stood there.
        assert await store.completions.delete("default", "chat", visited[-1])
        if not page.has_more:
            break
    assert visited == expected


async def test_the_page_before_and_unknown_places(store: Store) -> None:
    await keep(store, *(new(f"c-{at}", created_at=at) for at in range(5)))
    page = await store.completions.list("default", CHAT, 2, before="c-4")
    assert ([one.id for one in page.data], page.has_more) == (["c-2", "c-3"], True)
    assert await listed(store, after="c-0", before="c-3") == ["c-1", "c-2"]
    for unknown in ("c-9", "\x00"):
        with pytest.raises(UnknownCursor):
            await listed(store, after=unknown)
    with pytest.raises(UnknownCursor):
        await store.completions.list("other", CHAT, after="c-1")
    with pytest.raises(UnknownCursor):
        await store.completions.list("default", Chosen("response"), after="c-1")


async def test_an_id_may_come_and_go_more_than_once(store: Store) -> None:
    for at in (10, 20):
        await keep(store, new("again", created_at=at), new(f"later-{at}", created_at=at + 1))
        assert await store.completions.delete("default", "chat", "again")
    assert await listed(store, after="again") == ["later-20"]


async def test_a_list_is_filtered_by_model_metadata_and_time_with_both_ends(store: Store) -> None:
    await keep(
        store,
        new("a", created_at=1, metadata={"run": "1", "who": "x"}),
        new("b", created_at=2, metadata={"run": "1"}),
        new("c", created_at=3, metadata={"run": "2", "who": "x"}, model="other-2026", asked_model="other"),
        new("d", created_at=4, project="other", metadata={"run": "1"}),
    )
    for wanted, chosen in (
        (["a", "b"], Chosen("chat", metadata={"run": "1"})),
        (["a"], Chosen("chat", metadata={"run": "1", "who": "x"})),
        ([], Chosen("chat", metadata={"run": "1", "who": "y"})),
        (["a", "b"], Chosen("chat", model="gpt-6-luna")),
        (["a", "b"], Chosen("chat", model="gpt-6-luna-2026-09-01")),
        (["c"], Chosen("chat", model="other", metadata={"who": "x"})),
        ([], Chosen("chat", model="gpt-6")),
        (["b", "c"], Chosen("chat", created_after=2, created_before=3)),
        ([], Chosen("chat", created_after=4)),
    ):
        assert await listed(store, chosen) == wanted, chosen
        assert [one.id async for one, _ in store.completions.newest("default", chosen)] == wanted[::-1], chosen


async def test_other_metadata_is_found_from_then_on_and_stands_in_the_body(store: Store) -> None:
    body = b'{"id": "c", "metadata":{"a":"1"}, "choices" : [ 1 ]}'
    await keep(store, new("c", body=body, metadata={"a": "1"}))
    changed = await store.completions.update("default", "chat", "c", {"b": "\x00"})
    assert changed is not None
    assert jsontext.decode(changed.body) == {"id": "c", "metadata": {"b": "\x00"}, "choices": [1]}
    assert changed.metadata == {"b": "\x00"}
    assert await listed(store, Chosen("chat", metadata={"a": "1"})) == []
    assert await listed(store, Chosen("chat", metadata={"b": "\x00"})) == ["c"]
    assert await store.completions.totals() == (1, changed.size)
    assert changed.size == len(changed.body) + len(changed.request) + len(new().input)


async def expire(store: Store, id_: str) -> None:
    async with store._database.write() as connection:
        table = tables.completions
        await connection.execute(table.update().where(table.c.id == id_).values(expires_at=NOW - 1))


async def test_what_has_expired_is_absent_and_leaves_its_room(store: Store) -> None:
    await keep(store, new("kept"), new("for ever", kind="response"), limits=CompletionLimits(10, 10_000, 0))
    await keep(store, new("gone", created_at=NOW - 9))
    await expire(store, "gone")
    assert await store.completions.get("default", "chat", "gone") is None
    assert await listed(store) == ["kept"]
    assert await listed(store, after="gone") == ["kept"]
    assert not await store.completions.delete("default", "chat", "gone")
    assert await store.completions.delete_expired() == 1
    assert await store.completions.delete_expired() == 0
    assert await listed(store, after="gone") == ["kept"]
    assert (await store.completions.totals())[0] == 2


async def test_the_id_of_what_has_expired_may_be_used_again(store: Store) -> None:
    await keep(store, new("c"))
    await expire(store, "c")
    await keep(store, new("c", body=b'{"new":1}'))
    assert await listed(store) == ["c"]
    assert (await store.completions.totals())[0] == 1


async def test_a_full_project_keeps_no_more_and_loses_nothing(store: Store) -> None:
    few = CompletionLimits(2, 10_000, 3600)
    fates = await store.completions.keep([new("a"), new("b"), new("c"), new("d", project="other")], few)
    assert fates == ["stored", "stored", "project_full", "stored"]
    assert await listed(store) == ["a", "b"]
    await store.completions.delete("default", "chat", "a")
    await keep(store, new("c"), limits=few)
    size = new("a").size
    assert await store.completions.keep([new("d")], CompletionLimits(9, 3 * size - 1, 3600)) == ["project_full"]
    await keep(store, new("d"), limits=CompletionLimits(9, 3 * size, 3600))
    assert await store.completions.totals() == (4, 4 * size)


async def put(store: Store, **more: Any) -> str:
    values = {
        "project": "default",
        "kind": "chat",
        "id": "chatcmpl-old",
        "created_at": 1_700_000_000,
        "metadata": {"from": "there"},
        "input": b"[]",
        "body": b'{ "id": "chatcmpl-old", "model": "gpt-4o-mini", "metadata": {"from": "there"}}',
        "request": b"{}",
        "imported": IMPORTED,
    }
    return await store.completions.put_imported(**{**values, **more})


async def test_what_was_made_elsewhere_keeps_its_id_its_time_and_every_byte(store: Store) -> None:
    assert await put(store) == "added"
    assert await put(store, imported={"source": "openai", "at": 6}) == "unchanged"
    found = await store.completions.get("default", "chat", "chatcmpl-old")
    assert found is not None
    assert found.body == b'{ "id": "chatcmpl-old", "model": "gpt-4o-mini", "metadata": {"from": "there"}}'
    assert (found.model, found.created_at, found.expires_at) == ("gpt-4o-mini", 1_700_000_000, None)
    assert found.imported == IMPORTED
    assert await listed(store, Chosen("chat", "gpt-4o-mini", {"from": "there"})) == ["chatcmpl-old"]
    assert await put(store, metadata={}, body=b'{"model":null}', imported=IMPORTED) == "replaced"
    assert await listed(store, Chosen("chat", metadata={"from": "there"})) == []
    assert await listed(store) == ["chatcmpl-old"]
    assert await store.completions.totals() == (1, len(b'[]{}{"model":null}'))
    # It is beyond the limits of a project.
    await keep(store, new("own"), limits=CompletionLimits(1, 10_000, 3600))
    assert await put(store, id="chatcmpl-older", created_at=5) == "added"
    assert await listed(store) == ["chatcmpl-older", "chatcmpl-old", "own"]
    # And takes the place of one of ours.
    assert await put(store, id="own") == "replaced"
    await keep(store, new("more"), limits=CompletionLimits(1, 10_000, 3600))


async def test_a_page_ends_before_it_is_too_long(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await keep(store, *(new(f"c-{at}", created_at=at) for at in range(4)))
    monkeypatch.setattr(completions, "MOST_PAGE_BYTES", 2 * new("c-0").size)
    page = await store.completions.list("default", CHAT, 4)
    assert ([one.id for one in page.data], page.has_more) == (["c-0", "c-1"], True)
    page = await store.completions.list("default", CHAT, 4, before="c-3")
    assert ([one.id for one in page.data], page.has_more) == (["c-1", "c-2"], True)
    assert [one.id async for one, _ in store.completions.newest("default", CHAT)] == ["c-3", "c-2", "c-1", "c-0"]
    monkeypatch.setattr(completions, "MOST_PAGE_BYTES", 1)
    page = await store.completions.list("default", CHAT, 4)
    assert ([one.id for one in page.data], page.has_more) == (["c-0"], True)


async def test_many_at_once_keep_the_count(store: Store) -> None:
    made = [new(f"c-{at}") for at in range(40)]
    fates = await asyncio.gather(*(store.completions.keep([one], CompletionLimits(30, 10**9, 0)) for one in made))
    assert sorted(fate for (fate,) in fates) == ["project_full"] * 10 + ["stored"] * 30
    assert len(await listed(store, limit=100)) == 30
    gone = await asyncio.gather(*(store.completions.delete("default", "chat", one.id) for one in made))
    assert sum(gone) == 30
    assert await store.completions.totals() == (0, 0)


async def test_an_input_with_a_number_too_long_for_us_is_given_back_as_it_came(store: Store) -> None:
    digits = b"9" * 5000
    await keep(store, new("c", input=b'[{"id":"m","n":' + digits + b"}]"))
    read = await store.completions.read_input("default", "chat", "c")
    assert read is not None
    assert digits in msgspec.json.encode(read)
