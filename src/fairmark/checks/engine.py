"""Works checks and reports off in the background: whatever ends the process, the next one goes on where it stood."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable

from fairmark.checks.workoff import BudgetOf, CannotConclude, CheckGone, CheckWork
from fairmark.failures import in_words
from fairmark.judges.base import Judge
from fairmark.store import Store, StoredCheck, StoreUnavailable
from fairmark.work import background, marks
from fairmark.work.background import Background

CHECKS_A_PROJECT = 4
"""How many of one project are worked on at once. Others' do not wait for them."""
CHECKS_AT_ONCE = 16
"""Of all projects. One that has none begins one, whatever the others have."""

log = logging.getLogger("fairmark.checks")


class CheckEngine(Background[StoredCheck]):
    """Works off the checks in a store. Lives on the server's event loop."""

    def __init__(
        self,
        store: Store,
        judge: Judge | None = None,
        tell: Callable[[str, str], None] = lambda what, id_: None,
    ) -> None:
        """`tell`: has the other processes of the server know of what was asked for here."""
        super().__init__(log, "checks")
        self._store = store
        self._judge = judge
        self._tell = tell
        self.budget_of: BudgetOf = lambda project, own: own
        self.admit: Callable[[str], None] = lambda project: None
        """Asked before a check is created. Raises ApiError."""

    @property
    def has_own_judge(self) -> bool:
        """Whether it asks another judge than the one that the settings configure."""
        return self._judge is not None

    def wake(self) -> None:
        """There is a new one."""
        super().wake()
        self._tell("new check", "")

    def drop(self, check_id: str) -> None:
        """It was cancelled or deleted in the store: nothing more is done for it."""
        self._drop(check_id)
        self._tell("dropped check", check_id)

    def hear(self, what: str, check_id: str) -> None:
        """What another process told."""
        if what == "new check":
            super().wake()
        else:
            self._drop(check_id)

    def _drop(self, check_id: str) -> None:
        if check_id in self._working:
            self._working[check_id][1].cancel()

    async def _claim(self) -> StoredCheck | None:
        return await self._store.checks.claim(self._busy_projects())

    async def _release(self, check: StoredCheck) -> None:
        await self._store.checks.release(check)

    def _busy_projects(self) -> set[str]:
        counts = Counter(check.project for check, _ in self._working.values())
        if len(self._working) >= CHECKS_AT_ONCE:
            return set(counts)
        return {project for project, count in counts.items() if count >= CHECKS_A_PROJECT}

    async def _work_off(self, check: StoredCheck) -> None:
        marks.request_id.set(None)
        while True:
            try:
                await self._work(check)
                return
            except StoreUnavailable as error:
                log.warning("%s waits for the store: %s", check.id, error)
                await asyncio.sleep(background.LOOK_EVERY_S)

    async def _work(self, check: StoredCheck) -> None:
        if not await self._store.checks.start(check):
            return
        now = await self._store.checks.get(check.project, check.kind, check.id)  # with when it was begun
        if now is None:
            return
        work = CheckWork(self._store, now, self._judge, self.budget_of)
        error: dict[str, str] | None = None
        with contextlib.suppress(CheckGone):
            try:
                await work.do()
            except CannotConclude as failure:
                error = {"code": failure.code, "message": str(failure)}
            except (StoreUnavailable, CheckGone):
                raise
            except Exception as failure:
                log.exception("%s could not be worked off", check.id)
                error = {"code": "internal_error", "message": in_words(failure)}
            if error is not None:
                await self._store.checks.finish(now, "failed", error=error, progress=work.progress())
