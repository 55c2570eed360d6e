"""Workers and leases: who trains which job, and what becomes of the jobs of dead workers."""

import asyncio
import json
import time

import pytest

from fairmark.store import Job, Lease, NewCheckpoint, NewEvent, Store
from fairmark.store.jobs import leases
from fairmark.store.jobs.leases import Leased

STEP = NewEvent("step", data={"step": 1}, key="lease:1")
CANCELLED = NewEvent("cancelled")


async def queued(store: Store, model: str = "m", project: str = "default") -> Job:
    created = await store.jobs.create(project, None, {"model": model})
    claimed = await store.jobs.claim()
    assert claimed is not None
    assert claimed.id == created.id
    job = await store.jobs.advance(claimed, status="queued")
    assert job is not None
    await store.jobs.release(job)
    return job


async def taken(store: Store, lease_s: int = 60) -> Leased:
    leased = await store.leases.take("default", ["m"], lease_s)
    assert leased is not None
    return leased


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that leases go by."""
    now = [1_000_000.0]
    monkeypatch.setattr("fairmark.store.jobs.leases.time.time", lambda: now[0])
    return now


async def test_workers_count_for_a_while_and_tell_their_models(store: Store, clock: list[float]) -> None:
    assert await store.leases.models("default") == set()
    assert await store.leases.greet("default", "a", ["m", "n"])
    assert await store.leases.greet("default", "b", ["o"])
    assert await store.leases.greet("other", "a", ["p"])
    assert await store.leases.models("default") == {"m", "n", "o"}
    assert await store.leases.greet("default", "a", ["n"])
    assert await store.leases.models("default") == {"n", "o"}
    clock[0] += leases.COUNTS_S + 1
    assert await store.leases.greet("default", "b", ["o"])
    assert await store.leases.models("default") == {"o"}


async def test_a_project_has_so_many_workers_and_no_more(store: Store, clock: list[float]) -> None:
    for number in range(leases.MOST_WORKERS):
        assert await store.leases.greet("default", f"w{number}", ["m"])
    assert not await store.leases.greet("default", "late", ["m"])
    assert await store.leases.greet("default", "w0", ["m"])
    assert await store.leases.greet("other", "late", ["m"])
    clock[0] += leases.COUNTS_S + 1
    assert await store.leases.greet("default", "late", ["m"])


async def test_a_job_is_one_workers_until_its_lease_ends(store: Store, clock: list[float]) -> None:
    checked = await store.jobs.create("default", None, {"model": "m"})
    assert await store.leases.take("default", ["m"], 60) is None  # its files are being validated
    await store.jobs.cancel("default", checked.id, CANCELLED)
    first, second = await queued(store), await queued(store)
    job, lease = await taken(store)
    assert job.id == first.id
    assert (await taken(store)).job.id == second.id
    assert await store.leases.take("default", ["m"], 60) is None
    clock[0] += 61
    assert await store.jobs.advance(job, status="running", lease=lease) is not None  # late, but nobody else has it
    stolen, new_lease = await taken(store)
    assert (stolen.id, stolen.status) == (first.id, "running")
    assert await store.jobs.advance(job, None, [STEP], lease=lease) is None
    assert await store.jobs.advance(job, None, [STEP], lease=new_lease) is not None
    assert await store.jobs.advance(job, None, [STEP]) is None  # nor a server's
    assert len((await store.jobs.events(job)).data) == 1


async def test_renewed_leases_last(store: Store, clock: list[float]) -> None:
    await queued(store)
    job, lease = await taken(store)
    clock[0] += 50
    assert await store.jobs.advance(job, lease=Lease(lease.token, int(clock[0]) + 60)) is not None
    clock[0] += 50
    assert await store.leases.take("default", ["m"], 60) is None


async def test_only_jobs_of_the_project_and_of_trained_models_are_given(store: Store) -> None:
    await queued(store, "x")
    await queued(store, "m", "other")
    assert await store.leases.take("default", ["m", "n"], 60) is None
    wanted = await queued(store, "n")
    leased = await store.leases.take("default", ["m", "n"], 60)
    assert leased is not None
    assert leased.job.id == wanted.id


async def test_many_workers_at_once_get_different_jobs(store: Store) -> None:
    made = {(await queued(store)).id for _ in range(6)}
    leased = await asyncio.gather(*(store.leases.take("default", ["m"], 60) for _ in range(8)))
    assert {one.job.id for one in leased if one is not None} == made
    assert leased.count(None) == 2


async def test_a_job_that_is_given_back_is_free_at_once(store: Store) -> None:
    await queued(store)
    job, lease = await taken(store)
    await store.leases.release(job, Lease("another", 0))
    assert await store.leases.take("default", ["m"], 60) is None
    await store.leases.release(job, lease)
    assert (await taken(store)).job.id == job.id
    assert await store.jobs.advance(job, lease=lease) is None


async def test_cancel_and_pause_end_a_lease(store: Store) -> None:
    await queued(store)
    job, lease = await taken(store)
    await store.jobs.pause("default", job.id, True, NewEvent("paused"))
    assert await store.jobs.advance(job, None, [STEP], lease=lease) is None
    assert await store.leases.take("default", ["m"], 60) is None
    await store.jobs.pause("default", job.id, False, NewEvent("resumed"))
    job, lease = await taken(store)
    await store.jobs.cancel("default", job.id, CANCELLED)
    assert await store.jobs.advance(job, status="succeeded", lease=lease) is None
    assert await store.leases.take("default", ["m"], 60) is None


async def test_what_is_told_twice_is_kept_once(store: Store) -> None:
    await queued(store)
    job, lease = await taken(store)
    for _ in range(2):
        checkpoint = NewCheckpoint("m:ckpt-step-5", 5, {"step": 5})
        assert await store.jobs.advance(job, None, [STEP], [checkpoint], "running", lease) is not None
    assert len((await store.jobs.events(job)).data) == 1
    (kept,) = (await store.jobs.checkpoints(job)).data
    assert json.loads(kept.body)["step_number"] == 5
    assert time.time() - json.loads(kept.body)["created_at"] < 60
