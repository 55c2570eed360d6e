"""What projects may take of the server: who asks for more is refused with 429, the reason, and when to come again.

Limits stand in the store and are read anew every moment, so that a change counts soon in every process. What is spent
on models is counted as it is spent, and stored a moment later.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable

from fairmark.errors import ApiError, NotGraded
from fairmark.judgement import Usage
from fairmark.judges.base import Budget
from fairmark.store import Store, StoreUnavailable
from fairmark.store.access.limits import DAY_S, UNLIMITED, Allowance, Spent, today
from fairmark.work import board, counts, fair
from fairmark.work.counts import Family, Labels, gauge

LOOK_EVERY_S = 1.0
"""A limit that was changed, and what other processes spent, counts at most this much later."""
AGAIN_S = 1
"""When to come again where other requests have to end first."""
QUEUE_AGAIN_S = 30
LATER_S = 3600
"""Where nothing is won by waiting: something has to be done first."""
KEPT_DAYS = 400

log = logging.getLogger("fairmark.limits")
REFUSED = counts.counter(
    "fairmark_project_refused_total", "Requests refused by a limit of their project.", "project", "limit"
)


class ProjectLimiter:
    """The limits of all projects, in one process; until it is started there are none. Lives on one event loop."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self.limits: dict[str, Allowance] = {}
        """Of projects that have some."""
        self._spent: dict[str, Spent] = {}
        self._unstored: dict[str, Spent] = {}
        self._day = today(clock())
        self._inside: Counter[str] = Counter()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            await self.look()
        self._task = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            with contextlib.suppress(StoreUnavailable):
                await self.look()

    async def look(self) -> None:
        """Stores what was spent, and reads what is allowed and what all have spent."""
        unstored, self._unstored = self._unstored, {}
        try:
            if unstored:
                await self._store.limits.spend(unstored, self._day)
        except BaseException:
            for project, spent in unstored.items():
                self._add(self._unstored, project, spent)
            raise
        self._day = today(self._clock())
        limits = await self._store.limits.all()
        self._spent = await self._store.limits.spent(self._day)
        self.limits = limits
        fair.set_weights({project: limit.weight for project, limit in limits.items()})

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self.look()
            except StoreUnavailable as error:
                log.warning("limits cannot be looked up: %s", error)
            except Exception:  # whatever it was, the next look is needed
                log.exception("limits could not be looked up")

    # Requests at once

    def enter(self, project: str) -> bool:
        """Before a request is answered. True where it has to be left. Raises ApiError 429."""
        most = self.limits.get(project, UNLIMITED).requests_at_once
        if most is None:
            return False
        shared = board.shared()
        column = None if shared is None else shared.column(f"requests {project}")
        with contextlib.nullcontext() if shared is None else shared.locked():
            inside = self._inside[project] + (0 if column is None else sum(column.others))
            if inside < most:
                self._inside[project] += 1
                if column is not None:
                    column.add(1)
                return True
        raise _refuse(
            project,
            "requests_at_once",
            f"The project has as many requests under way as it may have at once: {most:,}.",
            AGAIN_S,
        )

    def leave(self, project: str) -> None:
        self._inside[project] -= 1
        shared = board.shared()
        column = None if shared is None else shared.column(f"requests {project}")
        if column is not None:
            column.add(-1)

    # What models cost

    def spend(self, project: str, tokens: int, dollars: float) -> None:
        self._add(self._unstored, project, Spent(tokens, dollars))

    def budget(self, project: str, own: Budget | None = None) -> "DayBudget":
        """For what asks models: it ends where the project's day does."""
        return DayBudget(self, project, own)

    def day_is_spent(self, project: str) -> tuple[str, str] | None:
        """Which limit, and in words; None where there is something left."""
        limits = self.limits.get(project, UNLIMITED)
        if limits.tokens_a_day is None and limits.dollars_a_day is None:
            return None
        spent = self.spent_today(project)
        if limits.tokens_a_day is not None and spent.tokens >= limits.tokens_a_day:
            return "tokens_a_day", f"the project's {limits.tokens_a_day:,} tokens of today are spent"
        if limits.dollars_a_day is not None and spent.dollars >= limits.dollars_a_day:
            return "dollars_a_day", f"the project's ${limits.dollars_a_day:g} of today are spent"
        return None

    def check_day(self, project: str) -> None:
        """For requests that would ask a model. Raises ApiError 429."""
        spent = self.day_is_spent(project)
        if spent is not None:
            limit, words = spent
            left_s = DAY_S - int(self._clock()) % DAY_S
            raise _refuse(project, limit, f"No model is asked: {words}. The next day begins at 00:00 UTC.", left_s)

    def spent_today(self, project: str) -> Spent:
        stored, fresh = self._spent.get(project, Spent()), self._unstored.get(project, Spent())
        return Spent(stored.tokens + fresh.tokens, stored.dollars + fresh.dollars)

    # What is kept

    async def check_rows(self, project: str, more: int) -> None:
        """For a run of so many rows. Raises ApiError 429."""
        most = self.limits.get(project, UNLIMITED).rows_queued
        if most is None:
            return
        queued = (await self._store.limits.rows_queued([project])).get(project, 0)
        if queued + more > most:
            message = (
                f"The project has {queued:,} rows queued; with this run's {more:,} it would have more than the "
                f"{most:,} that it may have."
            )
            if more > most:
                raise _refuse(project, "rows_queued", f"{message} Divide the run into smaller ones.", LATER_S)
            raise _refuse(project, "rows_queued", message, QUEUE_AGAIN_S)

    async def check_storage(self, project: str, more: int) -> None:
        """For so many bytes. Raises ApiError 429."""
        most = self.limits.get(project, UNLIMITED).storage_bytes
        if most is None:
            return
        stored = (await self._store.limits.stored_bytes([project]))[project]
        if stored + more > most:
            message = (
                f"The project stores {stored:,} bytes; with these {more:,} it would store more than the {most:,} that "
                "it may. Delete files or stored completions."
            )
            raise _refuse(project, "storage_bytes", message, LATER_S)

    # For those who look after the server

    async def use(self) -> dict[str, dict[str, float]]:
        """What projects that have limits take of them now."""
        projects = list(self.limits)
        queued = await self._store.limits.rows_queued(projects) if projects else {}
        stored = await self._store.limits.stored_bytes(projects) if projects else {}
        return {
            project: {
                "tokens_a_day": self.spent_today(project).tokens,
                "dollars_a_day": self.spent_today(project).dollars,
                "rows_queued": queued.get(project, 0),
                "storage_bytes": stored.get(project, 0),
            }
            for project in projects
        }

    async def families(self) -> list[Family]:
        limits: dict[Labels, float] = {}
        used: dict[Labels, float] = {}
        for project, limit in self.limits.items():
            for name in Allowance.__struct_fields__:
                value = getattr(limit, name)
                if value is not None:
                    limits[project, name] = value
        for project, uses in (await self.use()).items():
            used.update({(project, name): value for name, value in uses.items()})
        return [
            gauge("fairmark_project_limit", "Limits of projects that have some.", limits, "project", "limit"),
            gauge("fairmark_project_use", "What these projects take of them.", used, "project", "limit"),
        ]

    def _add(self, to: dict[str, Spent], project: str, more: Spent) -> None:
        before = to.get(project, Spent())
        to[project] = Spent(before.tokens + more.tokens, before.dollars + more.dollars)


class DayBudget(Budget):
    """A budget of one's own, if any, within what is left of the project's day."""

    def __init__(self, limiter: ProjectLimiter, project: str, own: Budget | None) -> None:
        super().__init__() if own is None else super().__init__(own.tokens, own.dollars)
        if own is not None:
            self.spent_tokens, self.spent_dollars = own.spent_tokens, own.spent_dollars
        self._limiter = limiter
        self._project = project

    def spend(self, usage: Usage, cost: float | None) -> None:
        super().spend(usage, cost)
        self._limiter.spend(self._project, usage.total_tokens, cost or 0.0)

    def check(self) -> None:
        super().check()
        spent = self._limiter.day_is_spent(self._project)
        if spent is not None:
            raise NotGraded(f"not asked: {spent[1]}.")

    def left(self) -> tuple[float | None, float | None]:
        limits, spent = self._limiter.limits.get(self._project, UNLIMITED), self._limiter.spent_today(self._project)
        tokens, dollars = super().left()
        return _least(tokens, limits.tokens_a_day, spent.tokens), _least(dollars, limits.dollars_a_day, spent.dollars)


def _least(own: float | None, a_day: float | None, spent: float) -> float | None:
    if a_day is None:
        return own
    left = max(0.0, a_day - spent)
    return left if own is None else min(own, left)


def _refuse(project: str, limit: str, message: str, again_s: int) -> ApiError:
    REFUSED.add(project, limit)
    headers = {"retry-after": str(again_s)}
    if again_s > QUEUE_AGAIN_S:
        headers["x-should-retry"] = "false"  # clients would try again within seconds
    return ApiError(429, message, "rate_limit_error", code=f"project_{limit}", headers=headers)
