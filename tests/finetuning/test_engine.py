"""Jobs worked off in this process: what is queued for a trainer, and whose turn it is."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairmark.evals.engine import Engine
from fairmark.finetuning import baseline, workoff
from fairmark.finetuning import engine as job_engine
from fairmark.finetuning.engine import JobEngine
from fairmark.finetuning.job_calls import cancel_job, job_wire, new_job, pause_job
from fairmark.registry.lookup import Registry
from fairmark.settings import Settings
from fairmark.store import Job, NewCheckpoint, NewEvent, Run, Store, ids

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
SLOW = {
    "type": "python",
    "name": "slow",
    "source": "import time\ndef grade(sample, item):\n    time.sleep(60)\n    return 1.0\n",
}
ROW = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Paris"}], "answer": "Paris"}


class Desk:
    """A store with both engines, and a way to create jobs."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.runs = Engine(store)
        self.jobs = JobEngine(store, self.runs)
        self._registry = Registry(store.graders.find)

    async def create(self, project: str = "default", grader: Any = EXACT, rows: int = 2) -> Job:
        file_id = ids.new_file()
        self.store.files.folder.mkdir(exist_ok=True)
        content = (json.dumps(ROW) + "\n").encode() * rows
        self.store.files.content(file_id).write_bytes(content)
        await self.store.files.create(project, file_id, "rows.jsonl", "fine-tune", len(content), None)
        method = {"type": "reinforcement", "reinforcement": {"grader": grader}}
        given = {"model": "m", "training_file": file_id, "method": method}
        return await new_job(self.store, self._registry, self.runs, self.jobs, project, given)

    async def now(self, job: Job) -> Job:
        found = await self.store.jobs.get(job.project, job.id)
        assert found is not None
        return found

    async def until(self, job: Job, *statuses: str) -> Job:
        until = time.monotonic() + 60
        while (found := await self.now(job)).status not in statuses:
            assert time.monotonic() < until, found
            await asyncio.sleep(0.01)
        return found

    async def messages(self, job: Job) -> list[str]:
        found = await self.store.jobs.events(job, 100)
        return [json.loads(event.body)["message"] for event in reversed(found.data)]


@asynccontextmanager
async def working(store: Store) -> AsyncIterator[Desk]:
    desk = Desk(store)
    await desk.runs.start()
    await desk.jobs.start()
    try:
        yield desk
    finally:
        await desk.jobs.stop()
        await desk.runs.stop()
        until = time.monotonic() + 30
        while store._database._under_way:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)


async def test_a_job_is_queued_where_a_worker_of_its_project_trains_its_model(store: Store) -> None:
    assert await store.leases.greet("with-worker", "w", ["m"])
    assert await store.leases.greet("other-model", "w", ["x", "y"])
    async with working(store) as desk:
        queued = await desk.until(await desk.create("with-worker"), "queued")
        other = await desk.until(await desk.create("other-model"), "failed")
        failed = await desk.until(await desk.create("without"), "failed")
    assert failed.body["error"]["code"] == other.body["error"]["code"] == "no_trainer"
    assert "this server has no worker" in failed.body["error"]["message"]
    assert "no worker trains m, only x, y" in other.body["error"]["message"]
    assert (job_wire(queued)["error"], job_wire(queued)["finished_at"]) == (None, None)
    assert len(queued.body["result_files"]) == 1
    assert (await desk.messages(queued))[-1] == "Queued for a worker."
    leased = await store.leases.take("with-worker", ["m"], 60)
    assert leased is not None
    job, lease = leased
    assert job.id == queued.id
    step = NewEvent("Step 1", data={"step": 1, "train_mean_reward": 0.5})
    running = await store.jobs.advance(job, None, [step], [NewCheckpoint("m:1", 1, {"step": 1})], "running", lease)
    assert running is not None
    assert running.status == "running"
    changes = {"fine_tuned_model": "m:tuned", "trained_tokens": 9}
    done = await store.jobs.advance(job, changes, status="succeeded", lease=lease)
    assert done is not None
    shown = job_wire(done)
    assert (shown["status"], shown["fine_tuned_model"], shown["trained_tokens"]) == ("succeeded", "m:tuned", 9)


async def test_a_misspelt_field_of_the_grader_is_an_event_of_the_job(store: Store) -> None:
    async with working(store) as desk:
        job = await desk.until(await desk.create(grader={**EXACT, "refrence": "x"}), "failed")
        told = "method.reinforcement.grader.refrence: unknown field, kept but not used. Did you mean reference?"
        assert (await desk.messages(job)).count(told) == 1


async def test_a_projects_slow_jobs_keep_no_other_project_waiting(store: Store) -> None:
    async with working(store) as desk:
        slow = [await desk.create("hostile", SLOW) for _ in range(job_engine.JOBS_A_PROJECT + 3)]
        begun = time.monotonic() + 60
        while sum([(await desk.now(job)).body.get("eval_id") is not None for job in slow]) < job_engine.JOBS_A_PROJECT:
            assert time.monotonic() < begun
            await asyncio.sleep(0.02)
        done = await desk.until(await desk.create("quick"), "failed")
        assert done.body["error"]["code"] == "no_trainer"
        states = [await desk.now(job) for job in slow]
        assert {job.status for job in states} == {"validating_files"}
        assert sum(job.body.get("eval_id") is not None for job in states) == job_engine.JOBS_A_PROJECT
        for job in slow:
            await cancel_job(store, desk.runs, desk.jobs, job)
        assert {(await desk.now(job)).status for job in slow} == {"cancelled"}
        after = await desk.until(await desk.create("hostile"), "failed")
        assert after.body["error"]["code"] == "no_trainer"


@pytest.mark.on_both
async def test_a_job_cancelled_at_any_moment_ends_cancelled_and_leaves_no_run(store: Store) -> None:
    async with working(store) as desk:
        for pause in range(12):
            job = await desk.create(rows=200)
            for _ in range(pause * 3):
                await asyncio.sleep(0.004)
            ended = await cancel_job(store, desk.runs, desk.jobs, job)
            assert ended.status in ("cancelled", "failed")
            told = await desk.messages(job)
            if ended.status == "cancelled":
                assert told[-1] == "The job was cancelled."
        until = time.monotonic() + 30
        while desk.jobs._working:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
    assert await store.runs.claim() is None
    counts = await store.runs.count_by_status()
    assert set(counts) <= {"canceled", "completed"}


@pytest.mark.on_both
async def test_a_job_cancelled_while_its_run_is_made_leaves_none_that_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, made = store.runs.create, asyncio.Event()

    async with working(store) as desk:

        async def cancel_and_create(project: str, *more: Any, **others: Any) -> Run:
            (job,) = (await store.jobs.list(project)).data
            await cancel_job(store, desk.runs, desk.jobs, job)
            run = await create(project, *more, **others)
            made.set()
            return run

        monkeypatch.setattr(store.runs, "create", cancel_and_create)
        job = await desk.create(grader=SLOW)
        async with asyncio.timeout(30):
            await made.wait()
            while await store.runs.count_by_status() != {"canceled": 1}:
                await asyncio.sleep(0.01)
        assert (await desk.now(job)).status == "cancelled"


@pytest.mark.on_both
async def test_a_job_paused_and_resumed_over_and_over_does_nothing_twice(store: Store) -> None:
    async with working(store) as desk:
        job = await desk.create(rows=300)
        for turn in range(20):
            now = await desk.now(job)
            if not now.is_active:
                break
            await pause_job(store, desk.jobs, now, paused=True)
            await asyncio.sleep(0.002 * turn)
            now = await desk.now(job)
            if now.is_active:
                await pause_job(store, desk.jobs, now, paused=False)
            await asyncio.sleep(0.01 * turn)
        done = await desk.until(job, "failed")
        assert done.body["error"]["code"] == "no_trainer"
        told = [text for text in await desk.messages(job) if "paused" not in text and "resumed" not in text]
        assert len(told) == len(set(told)) == 8
        assert len((await store.evals.list("default")).data) == 1
        assert len((await store.files.list("default")).data) == 3


async def test_a_job_whose_grader_never_ends_has_an_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "settings", lambda: Settings(job_baseline_s=1))
    monkeypatch.setattr(workoff, "settings", lambda: Settings(job_baseline_s=1))
    endless = {"type": "python", "name": "endless", "source": "def grade(sample, item):\n    while True: pass\n"}
    async with working(store) as desk:
        done = await desk.until(await desk.create("default", endless), "failed")
    assert done.body["error"]["code"] == "grader_failed"
    assert "not graded within 1 s: it takes too long, or never ends." in done.body["error"]["message"]
