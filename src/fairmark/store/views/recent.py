"""The last runs of many evals, in one query: what a list of evals shows beside their names."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import func, select

from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import run_notes, runs
from fairmark.store.evals.runs import Status


class RunSummary(msgspec.Struct, frozen=True):
    """As much of a run as a list shows."""

    eval_seq: int
    id: str
    name: str
    status: Status
    created_at: int
    total: int | None
    passed: int
    failed: int
    errored: int
    skipped: int
    imported: dict[str, Any] | None

    @property
    def is_active(self) -> bool:
        """Whether it goes on here: nobody works on one that was made elsewhere, whatever its status."""
        return self.status in ("queued", "in_progress") and self.imported is None

    @property
    def pass_rate(self) -> float | None:
        """Of the rows that were graded: an error is no failure. None where there are none."""
        graded = self.passed + self.failed
        return self.passed / graded if graded else None


class RecentRuns(msgspec.Struct, frozen=True):
    count: int
    """How many runs the eval has in all."""
    runs: list[RunSummary]
    """The last ones, the oldest of them first."""


_COLUMNS = [runs.c[name] for name in RunSummary.__struct_fields__]


class Recent:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def of(self, eval_seqs: Sequence[int], limit: int) -> dict[int, RecentRuns]:
        """By the eval's number; an eval without runs is not in it."""
        # Only what the index holds, so that an eval of ten thousand runs costs no more than reading their numbers.
        ranked = (
            select(
                runs.c.seq,
                func.row_number().over(partition_by=runs.c.eval_seq, order_by=runs.c.seq.desc()).label("place"),
                func.count().over(partition_by=runs.c.eval_seq).label("count"),
            )
            .where(runs.c.eval_seq.in_(eval_seqs))
            .subquery()
        )
        query = (
            select(ranked.c.count, *_COLUMNS)
            .join_from(ranked, runs, runs.c.seq == ranked.c.seq)
            .where(ranked.c.place <= limit)
            .order_by(runs.c.seq)
        )
        by_eval: dict[int, RecentRuns] = {}
        async with self._database.read() as connection:
            for count, *values in (await connection.execute(query)).all():
                run = RunSummary(*values)
                by_eval.setdefault(run.eval_seq, RecentRuns(count, [])).runs.append(run)
        return by_eval

    async def warnings(self, run_ids: Sequence[str]) -> dict[str, int]:
        """How many warnings a run has, each as often as it has rows; a run without any is not in it."""
        query = (
            select(runs.c.id, run_notes.c.warnings)
            .join_from(runs, run_notes, run_notes.c.run_seq == runs.c.seq)
            .where(runs.c.id.in_(run_ids))
        )
        async with self._database.read() as connection:
            found = (await connection.execute(query)).all()
        return {run_id: sum(told.values()) for run_id, told in found if told}
