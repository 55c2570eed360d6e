"""Stored completions and responses out of an archive, with what was asked, and back into one."""

import json
from pathlib import Path
from typing import Any

from fairmark.moving.archive import Archive, part_name
from fairmark.moving.export import export
from fairmark.moving.load import load
from fairmark.moving.load.report import KindTally
from fairmark.store import Store
from tests.moving.hosted import Hosted, lines
from tests.moving.test_export import content


def chat(id_: str = "chatcmpl-1", **more: Any) -> dict[str, Any]:
    about = {"object": "chat.completion", "id": id_, "model": "gpt-4o", "created": 1_700_000_000}
    return {**about, "metadata": {"k": "v"}, "choices": [], "odd": "\ud83d", **more}


def response(**more: Any) -> dict[str, Any]:
    return {"object": "response", "id": "resp_1", "model": "gpt-4o", "created_at": 1_700_000_001, "output": [], **more}


def hosted(folder: Path, *chats: dict[str, Any]) -> Archive:
    archive = Hosted(folder).archive
    archive.write("completions.jsonl", lines(chats or [chat()]))
    archive.write("responses.jsonl", lines([response()]))
    messages = [{"role": "user", "content": "Hé\ud83d", "id": "m-1"}, {"role": "user", "content": "x", "id": "m-2"}]
    archive.write(part_name("messages", "chatcmpl-1", ".json"), json.dumps(messages, indent=1).encode())
    archive.write(part_name("input_items", "resp_1", ".jsonl"), lines([{"id": "i-1"}, {"id": "i-2"}]))
    return archive


async def test_they_come_in_with_their_input_and_are_there_once(store: Store, tmp_path: Path) -> None:
    archive = hosted(tmp_path / "a")
    report = await load(archive, store, "default")
    assert (report.tallies, report.problems) == ({"completions": KindTally(new=1), "responses": KindTally(new=1)}, [])
    kept = await store.completions.get("default", "chat", "chatcmpl-1")
    assert kept is not None
    assert (json.loads(kept.body), kept.created_at, kept.expires_at) == (chat(), 1_700_000_000, None)
    asked = await store.completions.read_input("default", "chat", "chatcmpl-1")
    assert [json.loads(bytes(part))["id"] for part in asked or []] == ["m-1", "m-2"]
    asked = await store.completions.read_input("default", "response", "resp_1")
    assert [json.loads(bytes(part))["id"] for part in asked or []] == ["i-1", "i-2"]
    again = await load(archive, store, "default")
    assert again.tallies == {"completions": KindTally(unchanged=1), "responses": KindTally(unchanged=1)}
    changed = await load(hosted(tmp_path / "a", chat(metadata={})), store, "default")
    assert changed.tallies == {"completions": KindTally(changed=1), "responses": KindTally(unchanged=1)}


async def test_what_was_asked_and_is_not_there_is_a_problem(store: Store, tmp_path: Path) -> None:
    archive = hosted(tmp_path / "a")
    archive.path("messages/chatcmpl-1.json").unlink()
    report = await load(archive, store, "default")
    assert [(each.id, each.message) for each in report.problems] == [
        ("chatcmpl-1", "what was asked is not in the archive.")
    ]
    assert await store.completions.get("default", "chat", "chatcmpl-1") is not None


async def test_another_source_that_says_something_else_clashes_and_can_be_copied(store: Store, tmp_path: Path) -> None:
    await load(hosted(tmp_path / "a"), store, "default")
    other = hosted(tmp_path / "b", chat(model="other"))
    other.save_manifest({"source": "elsewhere"})
    report = await load(other, store, "default")
    assert [clash.done for clash in report.clashes] == ["skipped"]
    for _ in range(2):
        report = await load(other, store, "default", on_clash="copy")
    copy = report.copied["completions"]["chatcmpl-1"]
    kept = await store.completions.get("default", "chat", copy)
    assert kept is not None
    assert json.loads(kept.body) == chat(copy, model="other")
    assert report.tallies["completions"] == KindTally(unchanged=1)


async def test_export_load_export_is_equal(store: Store, tmp_path: Path) -> None:
    await load(hosted(tmp_path / "a"), store, "default")
    await export(store, "default", tmp_path / "first")
    empty = await Store.open(None, tmp_path / "empty")
    try:
        report = await load(Archive.open(tmp_path / "first"), empty, "default")
        assert (report.problems, report.clashes) == ([], [])
        await export(empty, "default", tmp_path / "second")
    finally:
        await empty.close()
    first = content(tmp_path / "first")
    assert "messages/chatcmpl-1.json" in first
    assert "input_items/resp_1.jsonl" in first
    assert content(tmp_path / "second") == first
    again = await load(Archive.open(tmp_path / "first"), store, "default")
    assert again.tallies["completions"] == KindTally(unchanged=1)
