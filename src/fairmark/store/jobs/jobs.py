"""Fine-tuning jobs: created, checked by a server, queued for a worker, trained by it; or cancelled at any time before.

A server claims a job while its files are validated; from `queued` on a worker has it, by a lease (`leases`). Only the
one whose name stands on a job changes it and adds events and checkpoints; whoever has lost it is told so, and writes
nothing. A claim ends with the process that holds it, so that a dead one's job is free at once; a paused job is
nobody's.
"""

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, and_, false, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark import jsontext
from fairmark.store.base import ids
from fairmark.store.base.claims import JOBS, Waiting
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Page, make_page, page_query, read_span
from fairmark.store.base.tables import job_checkpoints, job_events, job_metadata, jobs, received, runs
from fairmark.store.jobs.entries import (
    Entry,
    NewCheckpoint,
    NewEvent,
    add_checkpoints,
    add_events,
    page_of_entries,
    put_entries,
)

Status = Literal["validating_files", "queued", "running", "succeeded", "failed", "cancelled"]
TO_CHECK: tuple[Status, ...] = ("validating_files",)
"""What a server claims."""
TO_TRAIN: tuple[Status, ...] = ("queued", "running")
"""What a worker takes."""
ACTIVE = (*TO_CHECK, *TO_TRAIN)

Imported = Literal["added", "changed", "unchanged", "clash"]


class Lease(NamedTuple):
    """What a worker has a job by."""

    token: str
    until: int
    """When another may take it, in seconds since 1970."""


class Job(msgspec.Struct, frozen=True):
    seq: int
    id: str
    project: str
    status: Status
    metadata: dict[str, Any] | None
    body: dict[str, Any]
    """The wire form without what stands beside it here; of one that was made elsewhere, all of it as it came."""
    paused: bool
    created_at: int
    imported: dict[str, Any] | None
    """Where it came from and when, of one that was made elsewhere. Such a job is history: nobody works on it."""

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE and self.imported is None


JOB_COLUMNS = [jobs.c[name] for name in Job.__struct_fields__]


class Jobs:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting = Waiting(database, JOBS, jobs, _one)
        self.owner = self._waiting.owner

    @uninterrupted
    async def create(
        self,
        project: str,
        metadata: dict[str, str] | None,
        body: dict[str, Any],
        events: Sequence[NewEvent] = (),
    ) -> Job:
        """Its files are to be validated next."""
        values: dict[str, Any] = {
            "id": ids.new("ftjob-"),
            "project": project,
            "status": "validating_files",
            "metadata": metadata or None,
            "body": body,
            "paused": False,
            "created_at": int(time.time()),
            "imported": None,
        }
        async with self._database.write_in_order() as connection:
            job = Job(seq=new_seq(await connection.execute(jobs.insert().values(values))), **values)
            await _note_metadata(connection, job.seq, job.metadata)
            await add_events(connection, job.seq, job.id, events)
        return job

    @uninterrupted
    async def get(self, project: str, job_id: str) -> Job | None:
        async with self._database.read() as connection:
            return await _one(connection, _named(project, job_id))

    @uninterrupted
    async def list(
        self,
        project: str,
        limit: int = 20,
        after: str | None = None,
        metadata: Mapping[str, str] | None = None,
        *,
        without_metadata: bool = False,
    ) -> Page[Job]:
        """The newest first. `metadata`: only those that have all of these pairs."""
        query = select(*JOB_COLUMNS).where(jobs.c.project == project)
        for pair in (metadata or {}).items():
            has = select(job_metadata.c.job_seq).where(job_metadata.c.pair_sha256 == _pair(*pair))
            query = query.where(jobs.c.seq.in_(has))
        if without_metadata:
            query = query.where(jobs.c.metadata.is_(None))
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                place: int | None = await connection.scalar(select(jobs.c.seq).where(_named(project, id_)))
                return place

            span = await read_span(after, None, find)
            rows = (await connection.execute(page_query(query, jobs.c.seq, span, limit, "desc"))).all()
        return make_page(rows, span, limit, Job)

    @uninterrupted
    async def events(self, job: Job, limit: int = 20, after: str | None = None) -> Page[Entry]:
        """The newest first."""
        async with self._database.read() as connection:
            return await page_of_entries(connection, job_events, job.seq, limit, after)

    @uninterrupted
    async def checkpoints(self, job: Job, limit: int = 10, after: str | None = None) -> Page[Entry]:
        """The newest first."""
        async with self._database.read() as connection:
            return await page_of_entries(connection, job_checkpoints, job.seq, limit, after)

    @uninterrupted
    async def cancel(self, project: str, job_id: str, event: NewEvent, run_ids: Sequence[str] = ()) -> Job | None:
        """With those of its runs that go on. One that has ended, or is history, stays as it is. Once this has returned,
        nobody writes to the job any more, and the event is its last one."""
        async with self._database.write_in_order() as connection:
            job = await _one(connection, _named(project, job_id), for_update=True)
            if job is None or not job.is_active:
                return job
            body = {**job.body, "finished_at": int(time.time())}
            changed = {"status": "cancelled", "paused": False, "owner": None, "leased_until": None, "body": body}
            await connection.execute(jobs.update().where(jobs.c.seq == job.seq).values(changed))
            await add_events(connection, job.seq, job.id, [event])
            await connection.execute(
                runs.update()
                .where(runs.c.id.in_(run_ids), runs.c.project == project, runs.c.status.in_(("queued", "in_progress")))
                .values(status="canceled")
            )
            return await _one(connection, jobs.c.seq == job.seq)

    @uninterrupted
    async def pause(self, project: str, job_id: str, paused: bool, event: NewEvent) -> Job | None:
        """Pauses a job or resumes it. Whoever works on one that is paused has lost it. One that has ended, is history,
        or is so already stays as it is."""
        async with self._database.write_in_order() as connection:
            job = await _one(connection, _named(project, job_id), for_update=True)
            if job is None or not job.is_active or job.paused == paused:
                return job
            values = {"paused": paused, "owner": None, "leased_until": None}
            await connection.execute(jobs.update().where(jobs.c.seq == job.seq).values(values))
            await add_events(connection, job.seq, job.id, [event])
            return await _one(connection, jobs.c.seq == job.seq)

    # For whoever works on jobs.

    async def claim(self, but_not: Collection[str] = ()) -> Job | None:
        """The oldest job to be checked that nobody works on, but for these projects'. It is ours until it is
        released, cancelled or paused."""
        return await self._waiting.claim(is_free(TO_CHECK), but_not)

    async def release(self, job: Job) -> None:
        """Never fails: a claim that cannot be given back has ended."""
        await self._waiting.release(job)

    @uninterrupted
    async def advance(
        self,
        job: Job,
        changes: Mapping[str, Any] | None = None,
        events: Sequence[NewEvent] = (),
        checkpoints: Sequence[NewCheckpoint] = (),
        status: Status | None = None,
        lease: Lease | None = None,
    ) -> Job | None:
        """The job with these changes of its body, events, checkpoints and status, all of them or none; as it is then.

        None, and nothing changes, where it is not ours any more, or not that of the lease, which is renewed by this. A
        status that ends it sets `finished_at` too.
        """
        async with self._database.write_in_order() as connection:
            working = _working_on(job, self.owner if lease is None else lease.token)
            now = await _one(connection, working, for_update=True)
            if now is None:
                return None
            values: dict[str, Any] = {} if lease is None else {"leased_until": lease.until}
            if changes:
                values["body"] = {**now.body, **changes}
            if status is not None:
                values["status"] = status
                if status not in ACTIVE:
                    values["body"] = {**now.body, **(changes or {}), "finished_at": int(time.time())}
                    values |= {"owner": None, "leased_until": None}
            if values:
                await connection.execute(jobs.update().where(jobs.c.seq == job.seq).values(values))
            await add_events(connection, now.seq, now.id, events)
            await add_checkpoints(connection, now.seq, now.id, checkpoints)
            return await _one(connection, jobs.c.seq == job.seq)

    async def close(self) -> None:
        await self._waiting.close()

    # For whoever moves jobs in and out.

    @uninterrupted
    async def put_imported(
        self,
        project: str,
        job: bytes,
        events: Sequence[bytes] = (),
        checkpoints: Sequence[bytes] = (),
        *,
        imported: dict[str, Any],
        replace: bool = False,
        dry_run: bool = False,
    ) -> Imported:
        """A job that was made elsewhere, with its events and checkpoints, each the JSON that was received, the newest
        first as lists give them. Doing it again adds the entries that are new, and no other.

        Where there is a job of the same id with other content, or another's, nothing is written and it is a `clash`;
        with `replace` one of the same project that was imported too is `changed`. Lists go by the order in which jobs
        come in: the oldest is put first. `dry_run` writes nothing, and says what would become of the job itself. Raises
        ValueError for what is no job.
        """
        values = {**_read_job(job), "imported": imported}
        async with self._database.write_in_order() as connection:
            there = await _one(connection, jobs.c.id == values["id"], for_update=True)
            done: Imported = "added"
            if there is None:
                if dry_run:
                    return done
                inserted = jobs.insert().values({**values, "project": project, "paused": False})
                seq = new_seq(await connection.execute(inserted))
            elif there.project != project or there.imported is None:
                return "clash"
            else:
                seq, done = there.seq, "unchanged"
                if await _received(connection, seq) != job:
                    if not replace:
                        return "clash"
                    done = "changed"
                if dry_run:
                    return done
                if done == "changed":
                    await connection.execute(jobs.update().where(jobs.c.seq == seq).values(values))
            if done != "unchanged":
                await connection.execute(received.delete().where(received.c.kind == jobs.name, received.c.seq == seq))
                await connection.execute(received.insert().values(kind=jobs.name, seq=seq, body=job))
                await _note_metadata(connection, seq, values["metadata"])
            fresh = await put_entries(connection, job_events, seq, events)
            fresh += await put_entries(connection, job_checkpoints, seq, checkpoints)
            return "changed" if done == "unchanged" and fresh else done

    @uninterrupted
    async def received(self, job: Job) -> bytes | None:
        """The bytes that a job was imported from; None for one of our own."""
        async with self._database.read() as connection:
            return await _received(connection, job.seq)


def _working_on(job: Job, owner: str) -> ColumnElement[bool]:
    """Whether the job goes on and is the owner's, who may then write to it."""
    return and_(jobs.c.seq == job.seq, jobs.c.owner == owner, is_free(ACTIVE))


def is_free(statuses: Sequence[Status]) -> ColumnElement[bool]:
    """Jobs that may be worked on."""
    return and_(jobs.c.status.in_(statuses), jobs.c.imported.is_(None), jobs.c.paused.is_(False))


def _named(project: str, job_id: str) -> ColumnElement[bool]:
    return and_(jobs.c.id == job_id, jobs.c.project == project) if ids.plausible(job_id) else false()


async def _one(connection: AsyncConnection, which: ColumnElement[bool], *, for_update: bool = False) -> Job | None:
    query = select(*JOB_COLUMNS).where(which)
    row = (await connection.execute(query.with_for_update() if for_update else query)).one_or_none()
    return None if row is None else Job(*row)


def _read_job(received: bytes) -> dict[str, Any]:
    """The columns of a job as it was received. Raises ValueError."""
    job = jsontext.decode(received)
    if not isinstance(job, dict) or job.get("object") != "fine_tuning.job":
        raise ValueError(f"found {jsontext.describe(job)}. It takes a fine_tuning.job.")
    for name in ("id", "status"):
        if not isinstance(job.get(name), str) or not ids.plausible(job[name]):
            raise ValueError(f"{name}: found {jsontext.describe(job.get(name))}. It takes the {name} of a job.")
    metadata, created_at = job.get("metadata"), job.get("created_at")
    return {
        "id": job["id"],
        "status": job["status"],
        "metadata": metadata if isinstance(metadata, dict) and metadata else None,
        "body": job,
        "created_at": created_at if isinstance(created_at, int) and 0 <= created_at < 2**62 else 0,
    }


def _pair(key: str, value: str) -> bytes:
    return hashlib.sha256(jsontext.encode([key, value])).digest()


async def _note_metadata(connection: AsyncConnection, seq: int, metadata: dict[str, Any] | None) -> None:
    await connection.execute(job_metadata.delete().where(job_metadata.c.job_seq == seq))
    pairs = {_pair(key, value) for key, value in (metadata or {}).items()}
    if pairs:
        await connection.execute(job_metadata.insert(), [{"job_seq": seq, "pair_sha256": pair} for pair in pairs])


async def _received(connection: AsyncConnection, seq: int) -> bytes | None:
    query = select(received.c.body).where(received.c.kind == jobs.name, received.c.seq == seq)
    body: bytes | None = await connection.scalar(query)
    return body
