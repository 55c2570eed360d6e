"""Exporting a project, and loading and exporting it again."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidArchive
from fairmark.moving.archive import NOT_COMPARED, Archive
from fairmark.moving.export import export
from fairmark.moving.load import load
from fairmark.moving.load.report import KindTally
from fairmark.registry.keeping import Registration
from fairmark.registry.lookup import Registry
from fairmark.store import CompletionLimits, NewCompletion, Store
from fairmark.store.jobs.entries import NewEvent
from tests.evals.working import EXACT, new_eval, new_file, new_run, rows, worked_off
from tests.moving import hosted
from tests.moving.hosted import three_rows

REGISTERED = {"type": "registered", "key": "exact", "name": "by key"}


def content(folder: Path) -> dict[str, bytes]:
    """All that is compared of an archive."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in NOT_COMPARED
    }


async def fill(store: Store, tmp_path: Path) -> None:
    """A project of what was made here, and of what was made elsewhere, some of it changed since."""
    await Registration(store.graders, Registry(store.graders.find)).create("default", "exact", EXACT, "Exact", None)
    file = await new_file(store, b'{"item": {"a": "1"}, "sample": "x"}\n{"item": {"a": "\\ud83d"}}\n')
    await worked_off(store, await new_run(store, [EXACT, {**EXACT, "name": "\ud83d"}], file))
    made = await new_eval(store, REGISTERED)
    pinned = [{**EXACT, "id": made.criteria[0]["id"]}]
    await store.runs.create("default", made.id, "waits", {"k": "\x00"}, b'{"a":1}', None, 2, {"deadline_s": 9}, pinned)
    await worked_off(store, await new_run(store, [EXACT], [*rows(450), {"item": {"a": "\ud83d", "text": "é\n"}}]))
    odd = {"type": "odd", "name": "o", "id": "o-1"}
    given = three_rows(tmp_path / "hosted").evals(hosted.eval_(), hosted.eval_("eval_2", testing_criteria=[odd]))
    given.run(hosted.run("evalrun_9", status="in_progress"), [hosted.item("evalrun_9", number) for number in (7, 7, 3)])
    await load(given.archive, store, "default")
    await store.evals.update("default", "eval_2", name="Renamed", metadata={"a": "b"})


@pytest.mark.on_both
async def test_export_load_export_is_equal_byte_for_byte(store: Store, tmp_path: Path) -> None:
    await fill(store, tmp_path)
    counts = await export(store, "default", tmp_path / "first")
    assert counts == {"graders": 1, "files": 2, "items": 459, "runs": 5, "evals": 5}
    empty = await Store.open(None, tmp_path / "empty")
    try:
        report = await load(Archive.open(tmp_path / "first"), empty, "other")
        assert (report.problems, report.clashes) == ([], [])
        await export(empty, "other", tmp_path / "second")
        first, second = content(tmp_path / "first"), content(tmp_path / "second")
        assert sorted(first) == sorted(second)
        assert [name for name in first if first[name] != second[name]] == []
        again = await load(Archive.open(tmp_path / "second"), empty, "other")
        assert {kind: tally.unchanged for kind, tally in again.tallies.items()} == {
            "graders": 1,
            "files": 2,
            "evals": 5,
            "runs": 5,
        }
    finally:
        await empty.close()


async def test_what_was_made_here_is_known_again_where_it_was_made(store: Store, tmp_path: Path) -> None:
    await fill(store, tmp_path)
    await export(store, "default", tmp_path / "a")
    report = await load(Archive.open(tmp_path / "a"), store, "default")
    assert (report.problems, report.clashes, report.items) == ([], [], 0)
    assert report.tallies["runs"] == KindTally(unchanged=5)


async def test_runs_that_were_loaded_say_what_they_said_where_they_were_made(store: Store, tmp_path: Path) -> None:
    made, items = await worked_off(store, await new_run(store, [EXACT], rows(30)))
    await export(store, "default", tmp_path / "a")
    await store.evals.delete("default", made.eval_id)
    await load(Archive.open(tmp_path / "a"), store, "default")
    run = await store.runs.get("default", made.eval_id, made.id)
    assert run is not None
    assert (run.passed, run.failed, run.criteria_counts) == (made.passed, made.failed, made.criteria_counts)
    listed = (await store.items.list(run, 100)).data
    assert [json.loads(each.body) for each in listed] == items
    assert [each.id for each in listed] == [each["id"] for each in items]


async def test_what_is_gone_since_the_last_export_is_gone_from_the_archive(store: Store, tmp_path: Path) -> None:
    await load(three_rows(tmp_path / "hosted").archive, store, "default")
    await export(store, "default", tmp_path / "a")
    assert sorted(content(tmp_path / "a")) == [
        "evals.jsonl",
        "files.jsonl",
        "files/file-1",
        "items/evalrun_1.jsonl",
        "runs/evalrun_1.json",
    ]
    await store.evals.delete("default", "eval_1")
    await export(store, "default", tmp_path / "a")
    assert sorted(content(tmp_path / "a")) == ["evals.jsonl", "files.jsonl", "files/file-1"]


async def test_an_earlier_export_is_not_emptied_by_another_project_nor_by_one_that_has_nothing(
    store: Store, tmp_path: Path
) -> None:
    await load(three_rows(tmp_path / "hosted").archive, store, "default")
    await export(store, "default", tmp_path / "a")
    before = content(tmp_path / "a")
    with pytest.raises(InvalidArchive, match='an export of another project: "default"'):
        await export(store, "defualt", tmp_path / "a")
    empty = await Store.open(None, tmp_path / "empty")
    try:
        with pytest.raises(InvalidArchive, match='project "default" has nothing now'):
            await export(empty, "default", tmp_path / "a")
    finally:
        await empty.close()
    assert content(tmp_path / "a") == before
    await export(store, "default", tmp_path / "a")
    assert content(tmp_path / "a") == before


async def test_no_folder_with_something_else_in_it_is_written_to(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "precious.txt").write_text("x")
    pulled = three_rows(tmp_path / "pulled").archive.folder
    before: Any = content(pulled)
    for folder, words in (
        (tmp_path / "a", "not empty, and no archive"),
        (tmp_path / "a" / "precious.txt", "no folder"),
        (pulled, "another source"),
    ):
        with pytest.raises(InvalidArchive, match=words):
            await export(store, "default", folder)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["precious.txt"]
    assert content(pulled) == before


async def test_another_projects_things_are_not_exported(store: Store, tmp_path: Path) -> None:
    await load(three_rows(tmp_path / "hosted").archive, store, "theirs")
    assert await export(store, "default", tmp_path / "a") == {}


async def test_jobs_and_what_is_stored_are_equal_too(store: Store, tmp_path: Path) -> None:
    """Those that were made here beside those that came from elsewhere."""
    given = hosted.Hosted(tmp_path / "hosted").archive
    given.write("jobs.jsonl", hosted.lines([hosted_job("ftjob-2", 7), hosted_job("ftjob-1", 5)]))
    given.write("events/ftjob-1.jsonl", b'{"id": "e-2", "data": {"b":1.0}}\n{"id":"e-1"}\n')
    given.write("completions.jsonl", b'{"id":"chatcmpl-9", "created": 4, "model":"m", "choices":[], "metadata":{}}\n')
    given.write("messages/chatcmpl-9.json", b'[{"role": "user",  "content":"hi", "id": "m-1"}]')
    given.write("responses.jsonl", b'{"id":"resp_9", "object":"response", "created_at": 4.0, "model":"m"}\n')
    given.write("input_items/resp_9.jsonl", b'{"id": "i-1",  "role":"user"}\n')
    assert (await load(given, store, "default")).problems == []
    made = await store.jobs.create("default", {"a": "b"}, {**ASKED}, [NewEvent("begun")])
    claimed = await store.jobs.claim()
    assert claimed is not None
    await store.jobs.advance(claimed, {"error": None}, [NewEvent("step", data={"step": 1})], status="running")
    await store.jobs.release(claimed)
    limits = CompletionLimits(100, 10**6, 10**6)
    kept = [
        NewCompletion(
            "default",
            "chat",
            "chatcmpl-1",
            "m",
            "m",
            10,
            {"k": "v"},
            b'[{"role":"user"}]',
            b'{"id":"chatcmpl-1","created":10,"model":"m","choices":[],"metadata":{"k":"v"}}',
            b"{}",
        ),
        NewCompletion(
            "default",
            "response",
            "resp_1",
            "m",
            "m",
            11,
            {},
            b'[{"id":"i"},{"id":"j"}]',
            b'{"id":"resp_1","object":"response","created_at":11,"model":"m"}',
            b"{}",
        ),
    ]
    assert await store.completions.keep(kept, limits) == ["stored", "stored"]
    counts = await export(store, "default", tmp_path / "first")
    assert counts == {"jobs": 3, "completions": 2, "responses": 2}
    known = {"jobs": KindTally(unchanged=3), "completions": KindTally(unchanged=2), "responses": KindTally(unchanged=2)}
    for dry_run in (True, False):
        again = await load(Archive.open(tmp_path / "first"), store, "default", dry_run=dry_run)
        assert (again.tallies, again.clashes, again.problems) == (known, [], [])
    empty = await Store.open(None, tmp_path / "empty")
    try:
        report = await load(Archive.open(tmp_path / "first"), empty, "other")
        assert (report.problems, report.clashes) == ([], [])
        await export(empty, "other", tmp_path / "second")
    finally:
        await empty.close()
    first, second = content(tmp_path / "first"), content(tmp_path / "second")
    assert f"events/{made.id}.jsonl" in first
    assert first["events/ftjob-1.jsonl"] == b'{"id": "e-2", "data": {"b":1.0}}\n{"id":"e-1"}\n'
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


ASKED: dict[str, Any] = {
    **dict.fromkeys(("validation_file", "user_provided_suffix", "answers_file", "validation_answers_file")),
    "model": "m",
    "training_file": "file-1",
    "seed": 1,
    "integrations": [],
    "method": {"type": "reinforcement"},
}


def hosted_job(id_: str, created_at: int) -> dict[str, Any]:
    return {"object": "fine_tuning.job", "id": id_, "created_at": created_at, "status": "succeeded", "model": "o4-mini"}
