"""Judge checks and hacking reports: asked for, queued, in progress, and how they ended.

Who works on one has claimed it, and a claim ends with the process that holds it, so that a dead one's check is free at
once. What judges answered is stored as it comes, and whoever goes on asks for the rest. Rows and answers are kept until
the check has ended, the report until it is deleted.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from sqlalchemy import ColumnElement, and_, false, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base import ids, positions
from fairmark.store.base.claims import CHECKS, Waiting
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Order, Page, make_page, page_query, read_span
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import check_answers, check_reports, check_rows, checks

CheckKind = Literal["judge_check", "hacking_report"]
CheckStatus = Literal["queued", "in_progress", "completed", "failed", "canceled"]
CHECK_STATUSES: tuple[CheckStatus, ...] = get_args(CheckStatus)
UNDER_WAY = ("queued", "in_progress")
_PREFIXES: Mapping[CheckKind, str] = {"judge_check": "jcheck_", "hacking_report": "hackrep_"}


class StoredCheck(msgspec.Struct, frozen=True):
    seq: int
    id: str
    project: str
    kind: CheckKind
    status: CheckStatus
    request: dict[str, Any]
    plan: dict[str, Any]
    progress: dict[str, Any]
    error: dict[str, Any] | None
    grader_id: str | None
    fingerprint: str | None
    eval_id: str | None
    grade: str | None
    created_at: int
    started_at: float | None
    ended_at: float | None
    created_by: str | None

    @property
    def is_active(self) -> bool:
        return self.status in UNDER_WAY


class LastCheck(NamedTuple):
    """In short, for whoever uses the judge."""

    id: str
    grader_id: str | None
    fingerprint: str | None
    grade: str
    ended_at: float


_COLUMNS = [checks.c[name] for name in StoredCheck.__struct_fields__]
_WAITING = checks.c.status.in_(UNDER_WAY)


class Checks:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: Waiting[StoredCheck] = Waiting(database, CHECKS, checks, _one)
        self.owner = self._waiting.owner
        insert = sqlite.insert if database.is_sqlite else postgresql.insert
        # An answer that is there stays.
        self._insert = insert(check_answers).on_conflict_do_nothing()

    @uninterrupted
    async def create(
        self,
        project: str,
        kind: CheckKind,
        request: dict[str, Any],
        plan: dict[str, Any],
        rows: bytes | None = None,
        *,
        grader_id: str | None = None,
        fingerprint: str | None = None,
        eval_id: str | None = None,
        created_by: str | None = None,
    ) -> StoredCheck:
        values: dict[str, Any] = {
            "id": ids.new(_PREFIXES[kind]),
            "project": project,
            "kind": kind,
            "status": "queued",
            "request": request,
            "plan": plan,
            "progress": {},
            "error": None,
            "grader_id": grader_id,
            "fingerprint": fingerprint,
            "eval_id": eval_id,
            "grade": None,
            "created_at": int(time.time()),
            "started_at": None,
            "ended_at": None,
            "created_by": created_by,
        }
        async with self._database.write_in_order() as connection:
            made = StoredCheck(seq=new_seq(await connection.execute(checks.insert().values(values))), **values)
            if rows is not None:
                await connection.execute(check_rows.insert().values(check_seq=made.seq, body=rows))
        return made

    @uninterrupted
    async def get(self, project: str, kind: CheckKind, check_id: str) -> StoredCheck | None:
        async with self._database.read() as connection:
            return await _one(connection, _named(project, kind, check_id))

    @uninterrupted
    async def list(
        self,
        project: str,
        kind: CheckKind,
        limit: int = 20,
        after: str | None = None,
        order: Order = "desc",
        before: str | None = None,
        *,
        grader_id: str | None = None,
        eval_id: str | None = None,
    ) -> Page[StoredCheck]:
        """`grader_id`, `eval_id`: of these alone."""
        query = select(*_COLUMNS).where(checks.c.project == project, checks.c.kind == kind)
        if grader_id is not None:
            query = query.where(checks.c.grader_id == grader_id)
        if eval_id is not None:
            query = query.where(checks.c.eval_id == eval_id if ids.plausible(eval_id) else false())
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                there = select(checks.c.seq).where(_named(project, kind, id_))
                return await positions.find(connection, id_, there, kind, project)

            span = await read_span(after, before, find)
            rows = (await connection.execute(page_query(query, checks.c.seq, span, limit, order))).all()
        return make_page(rows, span, limit, StoredCheck)

    @uninterrupted
    async def under_way(self, project: str) -> int:
        """How many of the project have not ended."""
        query = select(func.count()).where(checks.c.project == project, _WAITING)
        async with self._database.read() as connection:
            return int(await connection.scalar(query) or 0)

    @uninterrupted
    async def cancel(self, project: str, kind: CheckKind, check_id: str) -> StoredCheck | None:
        """One that has ended stays as it is. Once this has returned, nothing more is written to it."""
        named = _named(project, kind, check_id)
        async with self._database.write() as connection:
            seq = await connection.scalar(select(checks.c.seq).where(named, _WAITING).with_for_update())
            if seq is not None:
                await _end(connection, seq, {"status": "canceled", "owner": None})
            return await _one(connection, named)

    @uninterrupted
    async def delete(self, project: str, kind: CheckKind, check_id: str) -> bool:
        """With all that belongs to it, also while it is worked on. False where there is none."""
        async with self._database.write() as connection:
            query = select(checks.c.seq).where(_named(project, kind, check_id)).with_for_update()
            seq = await connection.scalar(query)
            if seq is None:
                return False
            await connection.execute(checks.delete().where(checks.c.seq == seq))
            for table in (check_rows, check_answers, check_reports):
                await connection.execute(table.delete().where(table.c.check_seq == seq))
            await positions.leave(connection, kind, [Deleted(check_id, project, seq)])
        return True

    @uninterrupted
    async def last(
        self, project: str, fingerprints: Collection[str], grader_ids: Collection[str]
    ) -> Sequence[LastCheck]:
        """Of each of these fingerprints, and of each of these graders, the judge check that ended with a grade last."""
        last: list[LastCheck] = []
        async with self._database.read() as connection:
            for column, wanted in ((checks.c.fingerprint, fingerprints), (checks.c.grader_id, grader_ids)):
                if not wanted:
                    continue
                newest = (
                    select(func.max(checks.c.seq))
                    .where(
                        checks.c.project == project,
                        column.in_(wanted),
                        checks.c.kind == "judge_check",
                        checks.c.grade.is_not(None),
                    )
                    .group_by(column)
                )
                columns = [checks.c[name] for name in LastCheck._fields]
                rows = await connection.execute(select(*columns).where(checks.c.seq.in_(newest)))
                last += [LastCheck(*row) for row in rows]
        return last

    @uninterrupted
    async def report(self, check: StoredCheck) -> bytes | None:
        """As JSON; None where there is none."""
        query = select(check_reports.c.report).where(check_reports.c.check_seq == check.seq)
        async with self._database.read() as connection:
            report: bytes | None = await connection.scalar(query)
        return report

    @uninterrupted
    async def page(self, check: StoredCheck) -> bytes | None:
        """As a page that stands alone; None where there is none."""
        query = select(check_reports.c.page).where(check_reports.c.check_seq == check.seq)
        async with self._database.read() as connection:
            page: bytes | None = await connection.scalar(query)
        return page

    # For the engine.

    async def claim(self, but_not: Collection[str] = ()) -> StoredCheck | None:
        """The oldest that is to be worked on and that nobody works on, but for these projects'. It is ours until it is
        released."""
        return await self._waiting.claim(_WAITING, but_not)

    async def release(self, check: StoredCheck) -> None:
        """Never fails: a claim that cannot be given back has ended."""
        await self._waiting.release(check)

    @uninterrupted
    async def start(self, check: StoredCheck) -> bool:
        """Puts it in progress. False where it has ended or is another's."""
        values: dict[str, Any] = {"status": "in_progress", "owner": self.owner}
        values["started_at"] = func.coalesce(checks.c.started_at, time.time())
        ours = or_(
            and_(checks.c.status == "queued", or_(checks.c.owner.is_(None), checks.c.owner == self.owner)),
            and_(checks.c.status == "in_progress", checks.c.owner == self.owner),
        )
        async with self._database.write() as connection:
            done = await connection.execute(checks.update().where(checks.c.seq == check.seq, ours).values(values))
        return bool(done.rowcount)

    @uninterrupted
    async def rows(self, check: StoredCheck) -> bytes | None:
        query = select(check_rows.c.body).where(check_rows.c.check_seq == check.seq)
        async with self._database.read() as connection:
            body: bytes | None = await connection.scalar(query)
        return body

    @uninterrupted
    async def answers(self, check: StoredCheck) -> dict[str, bytes]:
        """What is known, by the key of the question."""
        query = select(check_answers.c.key, check_answers.c.body).where(check_answers.c.check_seq == check.seq)
        async with self._database.read() as connection:
            return {row.key: row.body for row in await connection.execute(query)}

    @uninterrupted
    async def keep(self, check: StoredCheck, answers: Mapping[str, bytes], progress: dict[str, Any]) -> bool:
        """More answers, and how far it is now. False, and nothing is stored, where it has ended or is another's."""
        rows = [{"check_seq": check.seq, "key": key, "body": body} for key, body in answers.items()]
        async with self._database.write() as connection:
            done = await connection.execute(
                checks.update().where(self._working_on(check)).values({"progress": progress})
            )
            if not done.rowcount:
                return False
            if rows:
                await connection.execute(self._insert, rows)
        return True

    @uninterrupted
    async def finish(
        self,
        check: StoredCheck,
        status: CheckStatus,
        *,
        error: dict[str, Any] | None = None,
        grade: str | None = None,
        progress: dict[str, Any] | None = None,
        report: bytes | None = None,
        page: bytes | None = None,
    ) -> bool:
        """Ends one that is in progress and ours. False, and nothing changes, where it is not."""
        values: dict[str, Any] = {"status": status, "error": error, "grade": grade}
        if progress is not None:
            values["progress"] = progress
        async with self._database.write() as connection:
            held = select(checks.c.seq).where(self._working_on(check)).with_for_update()
            if await connection.scalar(held) is None:
                return False
            await _end(connection, check.seq, values)
            if report is not None:
                await connection.execute(
                    check_reports.insert().values(check_seq=check.seq, report=report, page=page or b"")
                )
        return True

    def _working_on(self, check: StoredCheck) -> ColumnElement[bool]:
        return and_(checks.c.seq == check.seq, checks.c.status == "in_progress", checks.c.owner == self.owner)

    async def close(self) -> None:
        await self._waiting.close()


def _named(project: str, kind: CheckKind, check_id: str) -> ColumnElement[bool]:
    if not ids.plausible(check_id):
        return false()
    return and_(checks.c.id == check_id, checks.c.project == project, checks.c.kind == kind)


async def _end(connection: AsyncConnection, seq: int, values: Mapping[str, Any]) -> None:
    ended = checks.update().where(checks.c.seq == seq).values({**values, "ended_at": time.time()})
    await connection.execute(ended)
    for table in (check_rows, check_answers):
        await connection.execute(table.delete().where(table.c.check_seq == seq))


async def _one(connection: AsyncConnection, which: ColumnElement[bool]) -> StoredCheck | None:
    row = (await connection.execute(select(*_COLUMNS).where(which))).one_or_none()
    return None if row is None else StoredCheck(*row)
