"""Works runs off in the background. What is stored is never done again, and what is done is stored soon.

A run is claimed, and its rows go through (workoff). Whatever ends the process, the next one claims the run again and
goes on with the rows that are not in the store.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from fairmark.context import Elsewhere
from fairmark.errors import ClusterLost, ClusterUnusable, InvalidSource
from fairmark.evals.flight import Flight
from fairmark.evals.workoff import BudgetOf, Graded, RunGone, RunWork
from fairmark.failures import in_words
from fairmark.judges.base import Judge
from fairmark.result import Result
from fairmark.settings import settings
from fairmark.store import Run, Store, StoreUnavailable
from fairmark.work import background, marks
from fairmark.work.background import Background

RUNS_A_PROJECT = 32
"""How many runs of one project are worked on at once. Those that only wait for models are not counted."""
STILL_S = 5.0
"""A run of which nothing was graded for so long only waits."""
SOURCE_BYTES_A_PROJECT = 128_000_000
"""How much of rows that were sent along with a run is held for one project, before its next run begins."""

log = logging.getLogger("fairmark.runs")


async def _everything(project: str, rows: int) -> None:
    """Every run is taken."""


class Engine(Background[Run]):
    """Works off the runs in a store. Lives on the server's event loop."""

    def __init__(
        self,
        store: Store,
        judge: Judge | None = None,
        graded: Graded = lambda results: None,
        tell: Callable[[str, str], None] = lambda what, id_: None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """`tell`: has the other processes of the server know of what was asked for here. `elsewhere`: other machines,
        which grade the rows of runs."""
        super().__init__(log, "runs")
        self._tell = tell
        self.budget_of: BudgetOf = lambda project, own: own
        self.traced: Callable[[Run], AbstractContextManager[None]] = lambda run: nullcontext()
        """Around the work on a run, for those who watch it."""
        self.admit: Callable[[str, int], Awaitable[None]] = _everything
        """Asked before a run of so many rows is created. Raises ApiError."""
        self._store = store
        self._judge = judge
        self._elsewhere = elsewhere
        self._graded = graded
        self._moved_at: dict[str, float] = {}
        """When something of a run was graded last, or it was begun."""
        self._flight = Flight()

    @property
    def judge(self) -> Judge | None:
        """Whom it asks in place of the one that the settings configure."""
        return self._judge

    @property
    def has_own_judge(self) -> bool:
        """Whether it asks another judge than the one that the settings configure."""
        return self._judge is not None

    def wake(self) -> None:
        """There is a new run."""
        super().wake()
        self._tell("new run", "")

    def cancel(self, id_: str) -> None:
        """The run of this id, or every run of the eval of this id, was cancelled or deleted in the store: nothing more
        is done for it."""
        self.drop(id_)
        self._tell("cancelled", id_)

    def hear(self, what: str, id_: str) -> None:
        """What another process told."""
        if what == "new run":
            super().wake()
        else:
            self.drop(id_)

    def drop(self, id_: str) -> None:
        """`cancel`, as far as this process is concerned."""
        for run, task in list(self._working.values()):
            if id_ in (run.id, run.eval_id):
                task.cancel()

    async def _claim(self) -> Run | None:
        run = await self._store.runs.claim(self._busy_projects())
        if run is not None:
            self._moved_at[run.id] = time.monotonic()
        return run

    async def _release(self, run: Run) -> None:
        await self._store.runs.release(run)

    async def _let_go(self, run: Run) -> None:
        await super()._let_go(run)
        del self._moved_at[run.id]

    def _busy_projects(self) -> set[str]:
        """Those that begin no other run for now. A project that has none begins one whatever the others have."""
        moving: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        still_since = time.monotonic() - STILL_S
        for run, _ in self._working.values():
            moving[run.project] += self._moved_at[run.id] > still_since
            sizes[run.project] += len(run.data_source)
        if len(self._working) >= settings().runs_at_once:
            return set(sizes)
        return {
            project
            for project in sizes
            if moving[project] >= RUNS_A_PROJECT or sizes[project] >= SOURCE_BYTES_A_PROJECT
        }

    def _note(self, run: Run, results: Sequence[Result]) -> None:
        self._moved_at[run.id] = time.monotonic()
        self._graded(results)

    async def _work_off(self, run: Run) -> None:
        marks.request_id.set(None)
        marks.run_id.set(run.id)
        while True:
            try:
                await self._work(run)
                return
            except StoreUnavailable as error:
                log.warning("%s waits for the store: %s", run.id, error)
                await asyncio.sleep(background.LOOK_EVERY_S)

    async def _work(self, run: Run) -> None:
        error: dict[str, str] | None = None
        try:
            if not await self._store.runs.start(run):
                return
            note = partial(self._note, run)
            with self.traced(run):
                work = await RunWork.begin(
                    self._store, run, self._judge, note, self._flight, self.budget_of, self._elsewhere
                )
                await work.do()
        except StoreUnavailable:
            raise
        except (ClusterLost, ClusterUnusable) as failure:  # what is stored is stored, and the run can go on later
            log.warning("%s has stopped: %s", run.id, failure)
            error = {"code": ClusterLost.code or "", "message": str(failure)}
        except InvalidSource as failure:
            error = {"code": failure.code, "message": str(failure)}
        except RunGone:
            return
        except Exception as failure:
            log.exception("%s could not be worked off", run.id)
            error = {"code": "internal_error", "message": in_words(failure)}
        await self._store.runs.finish(run, "completed" if error is None else "failed", error)
