"""Workers, which train jobs elsewhere: who there is, and which job is whose for how long.

A worker may die without a word. So a job is its own by a lease, which ends by itself unless it is renewed; a worker
whose lease has ended keeps the job as long as nobody else takes it.
"""

import secrets
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import and_, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import jobs, workers
from fairmark.store.jobs.jobs import JOB_COLUMNS, TO_TRAIN, Job, Lease, is_free

COUNTS_S = 15 * 60
"""For so long after its last word a worker is one that jobs are queued for: it may be starting again."""
FORGOTTEN_S = 24 * 3600
MOST_WORKERS = 100
"""Of a project, at the same time."""
LOOKED_AT = 1000
"""Jobs that may be another worker's, because of their model, before one that is for us."""


class Leased(NamedTuple):
    job: Job
    lease: Lease


class Leases:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def greet(self, project: str, name: str, models: Sequence[str]) -> bool:
        """Notes that this worker is there and trains these models. False where the project has too many workers."""
        now = int(time.time())
        async with self._database.write() as connection:
            await connection.execute(workers.delete().where(workers.c.seen_at < now - FORGOTTEN_S))
            others = and_(workers.c.project == project, workers.c.seen_at >= now - COUNTS_S, workers.c.name != name)
            if (await connection.scalar(select(func.count()).select_from(workers).where(others)) or 0) >= MOST_WORKERS:
                return False
            seen = {"models": list(models), "seen_at": now}
            insert = (sqlite if self._database.is_sqlite else postgresql).insert(workers)
            insert = insert.values(project=project, name=name, **seen)
            await connection.execute(insert.on_conflict_do_update(index_elements=["project", "name"], set_=seen))
        return True

    @uninterrupted
    async def models(self, project: str) -> set[str]:
        """Those that workers of the project train."""
        recent = and_(workers.c.project == project, workers.c.seen_at >= int(time.time()) - COUNTS_S)
        async with self._database.read() as connection:
            lists = (await connection.scalars(select(workers.c.models).where(recent))).all()
        return {model for models in lists for model in models}

    @uninterrupted
    async def take(self, project: str, models: Collection[str], lease_s: int) -> Leased | None:
        """The oldest job of the project that is to be trained, of one of these models, and that no worker has."""
        now = int(time.time())
        free = and_(
            jobs.c.project == project,
            is_free(TO_TRAIN),
            or_(jobs.c.leased_until.is_(None), jobs.c.leased_until < now),
        )
        lease = Lease(secrets.token_hex(16), now + lease_s)
        query = select(*JOB_COLUMNS).where(free).order_by(jobs.c.seq).limit(LOOKED_AT)
        async with self._database.write_in_order() as connection:  # one worker at a time
            for row in (await connection.execute(query.with_for_update())).all():
                job = Job(*row)
                if job.body.get("model") in models:
                    mine = jobs.update().where(jobs.c.seq == job.seq)
                    await connection.execute(mine.values(owner=lease.token, leased_until=lease.until))
                    return Leased(job, lease)
        return None

    @uninterrupted
    async def release(self, job: Job, lease: Lease) -> None:
        """Lets another worker have the job at once."""
        async with self._database.write() as connection:
            mine = and_(jobs.c.seq == job.seq, jobs.c.owner == lease.token)
            await connection.execute(jobs.update().where(mine).values(owner=None, leased_until=None))
