"""Works fine-tuning jobs off in the background: whatever ends the process, the next one goes on where it stood.

It trains nothing. Where workers train the job's model, a job that is checked is queued for them: `worker_calls`.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable

from fairmark.evals.engine import Engine
from fairmark.failures import in_words
from fairmark.finetuning.aside import Aside, WorkStopped
from fairmark.finetuning.workoff import JobLost, JobWork
from fairmark.store import DiskFull, Job, NewEvent, Store, StoreUnavailable
from fairmark.work import background
from fairmark.work.background import Background

JOBS_A_PROJECT = 4
"""How many jobs of one project are worked on at once. Others' do not wait for them."""
LONGEST_PAUSE_S = 30.0
"""Between attempts, where the store takes nothing."""

log = logging.getLogger("fairmark.jobs")


class JobEngine(Background[Job]):
    """Works off the jobs in a store. Lives on the server's event loop."""

    def __init__(self, store: Store, runs: Engine, tell: Callable[[str, str], None] = lambda what, id_: None) -> None:
        """`tell`: has the other processes of the server know of what was asked for here."""
        super().__init__(log, "jobs")
        self._tell = tell
        self._store = store
        self._runs = runs
        self._aside = Aside()

    def wake(self) -> None:
        """There is something to do."""
        super().wake()
        self._tell("new job", "")

    def drop(self, job_id: str) -> None:
        """The job was cancelled or paused in the store: nothing more is done for it."""
        self._drop(job_id)
        self._tell("dropped job", job_id)

    def hear(self, what: str, job_id: str) -> None:
        """What another process told."""
        if what == "new job":
            super().wake()
        else:
            self._drop(job_id)

    def _drop(self, job_id: str) -> None:
        if job_id in self._working:
            self._working[job_id][1].cancel()

    async def _claim(self) -> Job | None:
        return await self._store.jobs.claim(but_not=self._busy_projects())

    async def _release(self, job: Job) -> None:
        await self._store.jobs.release(job)

    def _busy_projects(self) -> set[str]:
        counts = Counter(job.project for job, _ in self._working.values())
        return {project for project, count in counts.items() if count >= JOBS_A_PROJECT}

    async def _work_off(self, job: Job) -> None:
        pause_s = background.LOOK_EVERY_S
        while True:
            try:
                await self._work(job)
                return
            except StoreUnavailable as error:
                log.warning("%s waits for the store: %s", job.id, error)
                if isinstance(error, DiskFull):
                    await self._tell_full(job)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _work(self, job: Job) -> None:
        now = await self._store.jobs.get(job.project, job.id)  # with what was done since it was claimed
        if now is None:
            return
        work = JobWork(self._store, self._runs, self._aside, now)
        with contextlib.suppress(JobLost, WorkStopped):
            try:
                await work.do()
            except (StoreUnavailable, JobLost):
                raise
            except Exception as failure:
                log.exception("%s could not be worked off", job.id)
                await work.fail("internal_error", in_words(failure))

    async def _tell_full(self, job: Job) -> None:
        message = "The server's disk is full: the job waits, and goes on by itself when there is room."
        with contextlib.suppress(StoreUnavailable):  # there may be no room to tell it
            await self._store.jobs.advance(job, None, [NewEvent(message, "warn", key="disk full")])
