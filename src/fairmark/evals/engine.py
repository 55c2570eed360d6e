"""Works runs off in the background. What is stored is never done again, and what is done is stored soon.

A run is claimed, and its rows go through (workoff). Whatever ends the process, the next one claims the run again and
goes on with the rows that are not in the store.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

from fairmark.errors import InvalidSource
from fairmark.evals.flight import Flight
from fairmark.evals.workoff import Graded, RunGone, RunWork
from fairmark.judges.base import Judge
from fairmark.result import Result
from fairmark.settings import settings
from fairmark.store import Run, Store, StoreUnavailable

RUNS_A_PROJECT = 32
"""How many runs of one project are worked on at once. Those that only wait for models are not counted."""
STILL_S = 5.0
"""A run of which nothing was graded for so long only waits."""
SOURCE_BYTES_A_PROJECT = 128_000_000
"""How much of rows that were sent along with a run is held for one project, before its next run begins."""
LOOK_EVERY_S = 1.0
"""How often a run that another server created, or left behind, is looked for."""


log = logging.getLogger("fairmark.runs")


class Engine:
    """Works off the runs in a store. Lives on the server's event loop."""

    def __init__(self, store: Store, judge: Judge | None = None, graded: Graded = lambda results: None) -> None:
        self._store = store
        self._judge = judge
        self._graded = graded
        self._news = asyncio.Event()
        self._working: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._moved_at: dict[str, float] = {}
        """When something of a run was graded last, or it was begun."""
        self._flight = Flight()

    @property
    def has_own_judge(self) -> bool:
        """Whether it asks another judge than the one that the settings configure."""
        return self._judge is not None

    async def start(self) -> None:
        self._pump = asyncio.create_task(self._find_work())

    async def stop(self) -> None:
        """Leaves every run where it stands; the next start goes on with it."""
        tasks = [task for _, task in self._working.values()]
        tasks += [self._pump] if self._pump is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self) -> None:
        """There is a new run."""
        self._news.set()

    def cancel(self, id_: str) -> None:
        """The run of this id, or every run of the eval of this id, was cancelled or deleted in the store: nothing more
        is done for it."""
        for run, task in list(self._working.values()):
            if id_ in (run.id, run.eval_id):
                task.cancel()

    async def _find_work(self) -> None:
        while True:
            try:
                while (run := await self._store.runs.claim(self._busy_projects())) is not None:
                    self._moved_at[run.id] = time.monotonic()
                    self._working[run.id] = (run, asyncio.create_task(self._work_off(run), name=run.id))
            except StoreUnavailable as error:
                log.warning("the store cannot be reached: %s", error)
            except Exception:  # whatever it was, the next runs need somebody who looks for them
                log.exception("runs could not be looked for")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()
            self._news.clear()

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
        try:
            while True:
                try:
                    await self._work(run)
                    return
                except StoreUnavailable as error:
                    log.warning("%s waits for the store: %s", run.id, error)
                    await asyncio.sleep(LOOK_EVERY_S)
        finally:
            with contextlib.suppress(StoreUnavailable):
                await asyncio.shield(self._store.runs.release(run))
            del self._working[run.id], self._moved_at[run.id]
            self._news.set()

    async def _work(self, run: Run) -> None:
        error: dict[str, str] | None = None
        try:
            if not await self._store.runs.start(run):
                return
            await (await RunWork.begin(self._store, run, self._judge, partial(self._note, run), self._flight)).do()
        except StoreUnavailable:
            raise
        except InvalidSource as failure:
            error = {"code": failure.code, "message": str(failure)}
        except RunGone:
            return
        except Exception as failure:
            log.exception("%s could not be worked off", run.id)
            error = {"code": "internal_error", "message": f"{type(failure).__name__}: {failure}"}
        await self._store.runs.finish(run, "completed" if error is None else "failed", error)
