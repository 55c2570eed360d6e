"""Fine-tuning jobs: what they are, who works on them, and how they go to their end."""

import asyncio
import json
import re
import time
from typing import Any

import pytest

from fairmark.store import Job, NewCheckpoint, NewEvent, Store, UnknownCursor
from tests.store.another import another
from tests.store.conftest import Place

HOLDER = """
import asyncio, sys
from pathlib import Path
from fairmark.store import NewEvent, Store

async def hold():
    store = await Store.open(sys.argv[1] or None, Path(sys.argv[2]))
    job = await store.jobs.claim()
    await store.jobs.advance(job, {"eval_id": "eval_1"}, [NewEvent("begun", key="begun")])
    print(job.id, flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""
END = NewEvent("the end")
IMPORTED = {"source": "openai", "at": 1}


async def new_job(store: Store, project: str = "default", **more: Any) -> Job:
    return await store.jobs.create(project, more.pop("metadata", None), {"model": "m", **more}, [NewEvent("created")])


async def claimed(store: Store, **more: Any) -> Job:
    job = await store.jobs.claim(**more)
    assert job is not None
    return job


async def messages(store: Store, job: Job) -> list[str]:
    return [json.loads(entry.body)["message"] for entry in (await store.jobs.events(job, 100)).data]


def received(job_id: str, status: str = "succeeded", **more: Any) -> bytes:
    job = {"object": "fine_tuning.job", "id": job_id, "created_at": 7, "status": status, "metadata": None, **more}
    return json.dumps(job, indent=1).encode()


def entry(entry_id: str) -> bytes:
    return json.dumps({"id": entry_id, "message": entry_id}).encode()


async def test_a_job_comes_back_as_it_was_created(store: Store) -> None:
    job = await store.jobs.create("default", {"k": "\x00"}, {"model": "\ud83d", "seed": 1})
    assert re.fullmatch("ftjob-[0-9a-f]{32}", job.id)
    assert await store.jobs.get("default", job.id) == job
    assert (job.status, job.paused, job.imported, job.is_active) == ("validating_files", False, None, True)
    assert (job.metadata, job.body) == ({"k": "\x00"}, {"model": "\ud83d", "seed": 1})
    for project, job_id in (("other", job.id), ("default", "ftjob-0"), ("default", "\x00")):
        assert await store.jobs.get(project, job_id) is None
        assert await store.jobs.cancel(project, job_id, END) is None
        assert await store.jobs.pause(project, job_id, True, END) is None
    assert await store.jobs.get("default", job.id) == job


async def test_jobs_are_listed_the_newest_first_and_by_their_metadata(store: Store) -> None:
    plain = await new_job(store)
    red = await new_job(store, metadata={"colour": "red", "size": "1"})
    await new_job(store, "other", metadata={"colour": "red"})
    odd = await new_job(store, metadata={"colour": "\x00", "size": "1"})
    nothing = await new_job(store, metadata={})

    async def listed(**how: Any) -> list[str]:
        return [job.id for job in (await store.jobs.list("default", **how)).data]

    assert await listed() == [nothing.id, odd.id, red.id, plain.id]
    assert await listed(metadata={"colour": "red"}) == [red.id]
    assert await listed(metadata={"size": "1"}) == [odd.id, red.id]
    assert await listed(metadata={"size": "1", "colour": "\x00"}) == [odd.id]
    assert await listed(metadata={"colour": "blue"}) == []
    assert await listed(without_metadata=True) == [nothing.id, plain.id]
    page = await store.jobs.list("default", 2, odd.id)
    assert ([job.id for job in page.data], page.has_more) == ([red.id, plain.id], False)
    assert (await store.jobs.list("default", 3)).has_more
    for unknown in ("ftjob-0", "\x00"):
        with pytest.raises(UnknownCursor):
            await store.jobs.list("default", after=unknown)


async def test_only_who_claimed_a_job_may_change_it(store: Store) -> None:
    made = await new_job(store)
    assert await store.jobs.advance(made, {"seed": 2}, [NewEvent("x")]) is None
    job = await claimed(store)
    assert job.id == made.id
    assert await store.jobs.claim() is None
    advanced = await store.jobs.advance(job, {"seed": 2}, [NewEvent("step 0", data={"step": 0}, key="0")])
    assert advanced is not None
    assert advanced.body == {"model": "m", "seed": 2}
    assert await store.jobs.advance(job, None, [NewEvent("again", key="0")], [NewCheckpoint("m:1", 1, {"step": 1})])
    assert await messages(store, job) == ["step 0", "created"]
    (checkpoint,) = (await store.jobs.checkpoints(job)).data
    shown = json.loads(checkpoint.body)
    assert (shown["object"], shown["id"]) == ("fine_tuning.job.checkpoint", checkpoint.id)
    assert (shown["fine_tuning_job_id"], shown["step_number"], shown["metrics"]) == (job.id, 1, {"step": 1})
    ended = await store.jobs.advance(job, {"error": {"code": "no_trainer"}}, [END], status="failed")
    assert ended is not None
    assert (ended.status, ended.body["error"], ended.is_active) == ("failed", {"code": "no_trainer"}, False)
    assert abs(ended.body["finished_at"] - time.time()) < 60
    assert await store.jobs.advance(job, {"seed": 3}) is None
    assert await store.jobs.cancel("default", job.id, NewEvent("too late")) == ended
    assert await store.jobs.pause("default", job.id, True, NewEvent("too late")) == ended
    await store.jobs.release(job)
    assert await store.jobs.claim() is None
    assert (await messages(store, job))[0] == "the end"


async def test_events_say_what_they_are_and_page_from_the_newest_back(store: Store) -> None:
    await new_job(store)
    job = await claimed(store)
    await store.jobs.advance(job, None, [NewEvent(str(n), "warn") for n in range(5)])
    await store.jobs.advance(job, None, [NewEvent("measured", data={"step": 0})])
    first = await store.jobs.events(job, 2)
    metrics = json.loads(first.data[0].body)
    assert metrics == {
        "object": "fine_tuning.job.event",
        "id": first.data[0].id,
        "created_at": metrics["created_at"],
        "level": "info",
        "message": "measured",
        "type": "metrics",
        "data": {"step": 0},
    }
    told = json.loads(first.data[1].body)
    assert (told["message"], told["level"], told["type"], told["data"]) == ("4", "warn", "message", {})
    page = await store.jobs.events(job, 10, first.data[1].id)
    assert [json.loads(entry.body)["message"] for entry in page.data] == ["3", "2", "1", "0", "created"]
    assert (first.has_more, page.has_more) == (True, False)
    other = await new_job(store)
    with pytest.raises(UnknownCursor):
        await store.jobs.events(other, after=first.data[1].id)


@pytest.mark.parametrize("begun", [False, True])
async def test_a_cancelled_job_stays_cancelled(store: Store, begun: bool) -> None:
    job = await new_job(store)
    if begun:
        await claimed(store)
    cancelled = await store.jobs.cancel("default", job.id, END)
    assert cancelled is not None
    assert cancelled.status == "cancelled"
    assert cancelled.body["finished_at"] >= job.created_at
    assert await store.jobs.advance(job, {"seed": 1}, [NewEvent("late")], status="failed") is None
    assert await store.jobs.cancel("default", job.id, NewEvent("twice")) == cancelled
    await store.jobs.release(job)
    assert await store.jobs.claim() is None
    assert await messages(store, job) == ["the end", "created"]


async def test_a_paused_job_is_nobodys_until_it_is_resumed(store: Store) -> None:
    job = await new_job(store)
    assert (await claimed(store)).id == job.id
    paused = await store.jobs.pause("default", job.id, True, NewEvent("paused"))
    assert paused is not None
    assert (paused.paused, paused.status) == (True, "validating_files")
    assert await store.jobs.advance(job, {"seed": 1}) is None
    await store.jobs.release(job)
    assert await store.jobs.claim() is None
    assert await store.jobs.pause("default", job.id, True, NewEvent("twice")) == paused
    resumed = await store.jobs.pause("default", job.id, False, NewEvent("resumed"))
    assert resumed == job
    assert (await claimed(store)).id == job.id
    assert await store.jobs.advance(job, {"seed": 1}) is not None
    assert await messages(store, job) == ["resumed", "paused", "created"]


async def test_many_claims_at_once_get_different_jobs(store: Store) -> None:
    made = {(await new_job(store)).id for _ in range(8)}
    jobs = await asyncio.gather(*(store.jobs.claim() for _ in range(9)))
    assert {job.id for job in jobs if job is not None} == made
    assert jobs.count(None) == 1


async def test_a_dead_servers_job_is_free_at_once(place: Place) -> None:
    before = await place.open()
    job = await new_job(before)
    await before.close()
    with another(HOLDER, place.url or "", str(place.home)) as holder:
        assert holder.stdout is not None
        assert (await asyncio.to_thread(holder.stdout.readline)).strip() == job.id
        if not place.is_sqlite:
            beside = await place.open()
            assert await beside.jobs.claim() is None
    store = await place.open()
    until = time.monotonic() + 30
    while (again := await store.jobs.claim()) is None:
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
    assert again.body["eval_id"] == "eval_1"
    assert await store.jobs.advance(again, None, [NewEvent("begun", key="begun")]) is not None
    assert await messages(store, again) == ["begun", "created"]


async def test_an_imported_job_keeps_its_bytes_and_is_history(store: Store) -> None:
    job = received("ftjob-abc", "running", metadata={"team": "a"}, method={"type": "supervised"}, unknown=[1.50])
    put = await store.jobs.put_imported("default", job, [entry("e2"), entry("e1")], [entry("c1")], imported=IMPORTED)
    assert put == "added"
    found = await store.jobs.get("default", "ftjob-abc")
    assert found is not None
    assert (found.status, found.created_at, found.imported, found.is_active) == ("running", 7, IMPORTED, False)
    assert found.body == json.loads(job)
    assert await store.jobs.received(found) == job
    assert [each.id for each in (await store.jobs.events(found)).data] == ["e2", "e1"]
    assert [each.body for each in (await store.jobs.checkpoints(found)).data] == [entry("c1")]
    assert [each.id for each in (await store.jobs.list("default", metadata={"team": "a"})).data] == ["ftjob-abc"]
    assert await store.leases.take("default", ["m"], 60) is None
    assert await store.jobs.cancel("default", "ftjob-abc", END) == found
    assert await store.jobs.received(await new_job(store)) is None


async def test_importing_a_job_again_adds_only_what_is_new(store: Store) -> None:
    job, later = received("ftjob-abc", "running"), received("ftjob-abc", metadata={"k": "v"})

    async def put(job: bytes, events: list[bytes], replace: bool = False) -> str:
        return await store.jobs.put_imported("default", job, events, imported=IMPORTED, replace=replace)

    assert await put(job, [entry("e1")]) == "added"
    assert await put(job, [entry("e1")]) == "unchanged"
    assert await put(job, [entry("e2"), entry("e1")]) == "changed"
    assert await put(later, [entry("e3")]) == "clash"
    found = await store.jobs.get("default", "ftjob-abc")
    assert found is not None
    assert await messages(store, found) == ["e2", "e1"]
    assert await put(later, [entry("e3"), entry("e2")], replace=True) == "changed"
    found = await store.jobs.get("default", "ftjob-abc")
    assert found is not None
    assert (found.status, await store.jobs.received(found)) == ("succeeded", later)
    assert await messages(store, found) == ["e3", "e2", "e1"]
    assert len((await store.jobs.list("default", metadata={"k": "v"})).data) == 1
    ours = await new_job(store)
    for replace in (False, True):
        assert await put(received(ours.id), [], replace) == "clash"
        assert await store.jobs.put_imported("other", later, imported=IMPORTED, replace=replace) == "clash"
    assert await store.jobs.get("default", ours.id) == ours


@pytest.mark.parametrize(
    "wrong", [b"[]", b'{"object": "eval", "id": "x", "status": "failed"}', received("\x00"), received("a", "\x00")]
)
async def test_what_is_no_job_is_not_imported(store: Store, wrong: bytes) -> None:
    with pytest.raises(ValueError, match="It takes"):
        await store.jobs.put_imported("default", wrong, imported=IMPORTED)
    with pytest.raises(ValueError, match="with an id"):
        await store.jobs.put_imported("default", received("ftjob-1"), [b'{"id": "\\u0000"}'], imported=IMPORTED)
    assert (await store.jobs.list("default")).data == []
