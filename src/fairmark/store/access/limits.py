"""What a project may take of a server, and what it has spent on models each day (in UTC)."""

import time
from collections.abc import Collection, Mapping

import msgspec
from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite

from fairmark.errors import InvalidData
from fairmark.store.access.keys import check_project
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import completion_totals, files, project_days, project_limits, runs

DAY_S = 86_400
HEAVIEST = 1000.0


class Allowance(msgspec.Struct, frozen=True):
    """None is as much as it likes."""

    weight: float = 1.0
    """Its part of what is scarce, against other projects that want some."""
    requests_at_once: int | None = None
    tokens_a_day: int | None = None
    dollars_a_day: float | None = None
    rows_queued: int | None = None
    storage_bytes: int | None = None
    """Of its files and stored completions."""

    def check(self) -> None:
        """Raises InvalidData with the first that is no limit."""
        if not 0 < self.weight <= HEAVIEST:
            raise InvalidData(f"weight: found {self.weight:g}. It takes a number above 0, up to {HEAVIEST:g}.")
        for name in LIMITS:
            limit = getattr(self, name)
            if limit is not None and not 0 <= limit < 2**63:
                raise InvalidData(
                    f"{name}: found {limit:g}. It takes a number, 0 or more; without one there is no limit."
                )


LIMITS = Allowance.__struct_fields__[1:]
UNLIMITED = Allowance()


class Spent(msgspec.Struct, frozen=True):
    tokens: int = 0
    dollars: float = 0.0


def today(now: float | None = None) -> int:
    """The day, counted from 1970."""
    return int((time.time() if now is None else now) // DAY_S)


class ProjectLimits:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = sqlite.insert if database.is_sqlite else postgresql.insert

    @uninterrupted
    async def all(self) -> dict[str, Allowance]:
        """Those of projects that have any."""
        columns = [project_limits.c[name] for name in Allowance.__struct_fields__]
        async with self._database.read() as connection:
            rows = await connection.execute(
                select(project_limits.c.project, *columns).order_by(project_limits.c.project)
            )
            return {row[0]: Allowance(*row[1:]) for row in rows}

    @uninterrupted
    async def set(self, project: str, limits: Allowance) -> None:
        """In place of those it had. Raises InvalidProject or InvalidData."""
        check_project(project)
        limits.check()
        values = msgspec.structs.asdict(limits)
        async with self._database.write() as connection:
            if limits == UNLIMITED:
                await connection.execute(project_limits.delete().where(project_limits.c.project == project))
                return
            insert = self._insert(project_limits).values(project=project, **values)
            await connection.execute(insert.on_conflict_do_update(index_elements=["project"], set_=values))

    @uninterrupted
    async def spend(self, spent: Mapping[str, Spent], day: int) -> None:
        """More of what projects spent on a day."""
        async with self._database.write() as connection:
            for project, more in spent.items():
                insert = self._insert(project_days).values(
                    project=project, day=day, tokens=more.tokens, dollars=more.dollars
                )
                sums = {
                    "tokens": project_days.c.tokens + insert.excluded.tokens,
                    "dollars": project_days.c.dollars + insert.excluded.dollars,
                }
                await connection.execute(insert.on_conflict_do_update(index_elements=["project", "day"], set_=sums))

    @uninterrupted
    async def spent(self, day: int) -> dict[str, Spent]:
        """What each project spent on a day."""
        query = select(project_days.c.project, project_days.c.tokens, project_days.c.dollars)
        async with self._database.read() as connection:
            rows = await connection.execute(query.where(project_days.c.day == day))
            return {row.project: Spent(row.tokens, row.dollars) for row in rows}

    @uninterrupted
    async def rows_queued(self, projects: Collection[str]) -> dict[str, int]:
        """Rows of runs that are not graded yet."""
        done = runs.c.passed + runs.c.failed + runs.c.errored + runs.c.skipped
        query = select(runs.c.project, func.sum(runs.c.total - done)).group_by(runs.c.project)
        query = query.where(runs.c.project.in_(projects), runs.c.status.in_(("queued", "in_progress")))
        async with self._database.read() as connection:
            rows = await connection.execute(query.where(runs.c.imported.is_(None)))
            return {row[0]: int(row[1] or 0) for row in rows}

    @uninterrupted
    async def all_rows_queued(self) -> int:
        """The same of all projects together."""
        done = runs.c.passed + runs.c.failed + runs.c.errored + runs.c.skipped
        query = select(func.sum(runs.c.total - done)).where(runs.c.status.in_(("queued", "in_progress")))
        async with self._database.read() as connection:
            return int(await connection.scalar(query.where(runs.c.imported.is_(None))) or 0)

    @uninterrupted
    async def stored_bytes(self, projects: Collection[str]) -> dict[str, int]:
        """What files and stored completions take."""
        sums: dict[str, int] = dict.fromkeys(projects, 0)
        async with self._database.read() as connection:
            for table, size in ((files, files.c.bytes), (completion_totals, completion_totals.c.size)):
                query = select(table.c.project, func.sum(size)).where(table.c.project.in_(projects))
                for row in await connection.execute(query.group_by(table.c.project)):
                    sums[row[0]] += int(row[1] or 0)
        return sums

    @uninterrupted
    async def forget_days(self, before: int) -> None:
        """Days that nobody asks for any more."""
        async with self._database.write() as connection:
            await connection.execute(project_days.delete().where(project_days.c.day < before))
