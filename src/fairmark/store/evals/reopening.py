"""A run that has ended goes on: with the rows that it has not graded, or with those that could not be graded too."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import and_, bindparam, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.outcomes import ERROR, OUTCOMES
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import error_rows, facets, items, run_notes, runs, samples, scores
from fairmark.store.evals.notes import OTHERS, reason_key
from fairmark.store.evals.runs import Run
from fairmark.text.alike import alike

_ENDED = ("completed", "canceled", "failed")
ROWS_A_LOOK = 500
"""That are taken out of a run at once: meanwhile nobody else writes to the database, or to the run."""
INTERRUPTED = {
    "code": "retry_interrupted",
    "message": "The rows with errors were being taken out to be graded once more, and that was interrupted. Retry the "
    "errors again, or go on with the rows that are not graded.",
}
"""Why a run has failed of whose rows with errors only some are taken out."""

Refresh = Callable[[bytes], bytes | None]
"""A stored sample as it is to be graded again; None where it is to be asked for anew."""


class _Result(msgspec.Struct):
    warnings: list[str] = msgspec.field(default_factory=list)


class _Body(msgspec.Struct):
    """What of an item is needed here: the rest is not even read."""

    results: list[_Result] = msgspec.field(default_factory=list)


class Reopening:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def reopen(self, run: Run, criteria: Sequence[str], refresh: Refresh | None = None) -> bool:
        """Puts a run that has ended into the queue again. With `refresh`, the rows that could not be graded are taken
        out of it first, so that they are done once more. `criteria`: the ids, in their order.

        False, and nothing changes, where the run is active, gone, or was made elsewhere. What the rows have cost stays
        counted. Many rows are taken out some at a time, each with all that belongs to it: who is killed in between
        leaves a run that has failed and says so, and that can be reopened.
        """
        while True:
            queued = await self._step(run, criteria, refresh)
            if queued is not None:
                return queued

    async def _step(self, run: Run, criteria: Sequence[str], refresh: Refresh | None) -> bool | None:
        """Whether the run is in the queue; None where there may be more rows to take out before."""
        ended = and_(runs.c.seq == run.seq, runs.c.status.in_(_ENDED), runs.c.imported.is_(None))
        async with self._database.write() as connection:
            held = select(runs.c.errored, runs.c.criteria_counts).where(ended).with_for_update()
            row = (await connection.execute(held)).one_or_none()
            if row is None:
                return False
            values: dict[str, Any] = {"status": "queued", "error": None, "owner": None, "ended_at": None}
            taken = 0
            if refresh is not None:
                some = await _Some.find(connection, run, len(criteria))
                if some is not None:
                    taken = len(some.bodies)
                    counts = await some.without(connection, criteria, row.criteria_counts)
                    values |= {"errored": row.errored - taken, "criteria_counts": counts}
                    await some.forget(connection, refresh)
            if taken == ROWS_A_LOOK:
                values |= {"status": "failed", "error": INTERRUPTED, "ended_at": time.time()}
            await connection.execute(runs.update().where(runs.c.seq == run.seq).values(values))
        return None if taken == ROWS_A_LOOK else True


class _Some:
    """The first rows of a run that could not be graded, within a transaction that holds the run's row."""

    def __init__(self, run: Run, criteria: int, bodies: dict[int, bytes]) -> None:
        self._run = run
        self.bodies = bodies
        """By the rows' indexes."""
        first, last = min(bodies), max(bodies)
        self._items = and_(
            items.c.run_seq == run.seq, items.c.status == OUTCOMES[ERROR], items.c.idx.between(first, last)
        )
        # With all columns of the key: the rows of a whole run would be looked through otherwise, for each few.
        self._scores = and_(
            scores.c.run_seq == run.seq,
            scores.c.criterion.in_(range(criteria)),
            scores.c.outcome.in_(range(len(OUTCOMES))),
            scores.c.idx.between(first, last),
            scores.c.status == ERROR,
        )
        self._error_rows = and_(error_rows.c.run_seq == run.seq, error_rows.c.idx.between(first, last))

    @classmethod
    async def find(cls, connection: AsyncConnection, run: Run, criteria: int) -> "_Some | None":
        failed = and_(items.c.run_seq == run.seq, items.c.status == OUTCOMES[ERROR])
        query = select(items.c.idx, items.c.body).where(failed).order_by(items.c.idx).limit(ROWS_A_LOOK)
        bodies = {row.idx: row.body for row in await connection.execute(query)}
        return cls(run, criteria, bodies) if bodies else None

    async def without(
        self, connection: AsyncConnection, criteria: Sequence[str], counts: dict[str, list[int]]
    ) -> dict[str, list[int]]:
        """The criteria's counters without these rows: by some criteria they may have passed."""
        query = select(scores.c.criterion, scores.c.outcome, func.count()).where(self._scores)
        left = {criterion: list(numbers) for criterion, numbers in counts.items()}
        by_outcome = await connection.execute(query.group_by(scores.c.criterion, scores.c.outcome))
        for criterion, outcome, count in by_outcome.all():
            left[criteria[criterion]][outcome] -= count
        return left

    async def forget(self, connection: AsyncConnection, refresh: Refresh) -> None:
        await self._forget_notes(connection)
        await self._refresh_samples(connection, refresh)
        await connection.execute(delete(scores).where(self._scores))
        await connection.execute(delete(error_rows).where(self._error_rows))
        await connection.execute(delete(items).where(self._items))
        # Rows that stay are read themselves.
        await connection.execute(delete(facets).where(facets.c.run_seq == self._run.seq))

    async def _forget_notes(self, connection: AsyncConnection) -> None:
        this = run_notes.c.run_seq == self._run.seq
        noted = (await connection.execute(select(run_notes.c.reasons, run_notes.c.warnings).where(this))).one_or_none()
        if noted is None:
            return
        texts = {reason_key(text): text for text in noted.reasons if text != OTHERS}
        query = select(error_rows.c.reason, func.count()).where(self._error_rows).group_by(error_rows.c.reason)
        reasons: Counter[str] = Counter()
        for key, count in (await connection.execute(query)).all():
            reasons[texts.get(key, OTHERS)] += count
        warnings = await asyncio.to_thread(_count_warnings, list(self.bodies.values()))
        values = {"reasons": _less(noted.reasons, reasons), "warnings": _less(noted.warnings, warnings)}
        await connection.execute(run_notes.update().where(this).values(values))

    async def _refresh_samples(self, connection: AsyncConnection, refresh: Refresh) -> None:
        of_run = samples.c.run_seq == self._run.seq
        of_rows = and_(of_run, samples.c.idx.in_(list(self.bodies)))
        before = (await connection.execute(select(samples.c.idx, samples.c.body).where(of_rows))).all()
        fresh = await asyncio.to_thread(lambda: {row.idx: refresh(row.body) for row in before})
        gone = [idx for idx, body in fresh.items() if body is None]
        changed = [{"of": row.idx, "to": fresh[row.idx]} for row in before if fresh[row.idx] not in (None, row.body)]
        if gone:
            await connection.execute(delete(samples).where(of_run, samples.c.idx.in_(gone)))
        if changed:
            change = samples.update().where(of_run, samples.c.idx == bindparam("of")).values(body=bindparam("to"))
            await connection.execute(change, changed)


def _count_warnings(bodies: Sequence[bytes]) -> Counter[str]:
    """By rows."""
    counts: Counter[str] = Counter()
    for body in bodies:
        results = msgspec.json.decode(body, type=_Body).results
        counts.update({alike(warning) for result in results for warning in result.warnings})
    return counts


def _less(counts: Mapping[str, int], gone: Mapping[str, int]) -> dict[str, int]:
    """Texts that were not told apart from others are taken off what is counted together."""
    left = Counter(counts)
    for text, count in gone.items():
        left[text if text in counts else OTHERS] -= count
    return {text: count for text, count in left.items() if count > 0}
