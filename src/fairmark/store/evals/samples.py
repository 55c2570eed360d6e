"""What models answered for a run's rows: stored before it is graded, so that no row is ever sampled twice."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import runs, samples
from fairmark.store.evals.items import marked
from fairmark.store.evals.runs import Run, Runs


class Samples:
    def __init__(self, database: Database, of_runs: Runs) -> None:
        self._database = database
        self._runs = of_runs
        insert = sqlite.insert if database.is_sqlite else postgresql.insert
        # An answer that is there stays: it may have been graded already.
        self._insert = insert(samples).on_conflict_do_nothing()

    @uninterrupted
    async def add(self, run: Run, bodies: Sequence[tuple[int, bytes]]) -> bool:
        """By the rows' indexes. False, and nothing is stored, where the run is not in progress or another server's."""
        rows = [{"run_seq": run.seq, "idx": idx, "body": body} for idx, body in bodies]
        async with self._database.write() as connection:
            held = select(runs.c.seq).where(self._runs.working_on(run)).with_for_update()
            if await connection.scalar(held) is None:
                return False
            if rows:
                await connection.execute(self._insert, rows)
            return True

    @uninterrupted
    async def get(self, run: Run, first: int, last: int) -> dict[int, bytes]:
        """Those of the rows from `first` to `last`, both included."""
        query = select(samples.c.idx, samples.c.body).where(
            samples.c.run_seq == run.seq, samples.c.idx.between(first, last)
        )
        async with self._database.read() as connection:
            return {row.idx: row.body for row in await connection.execute(query)}

    @uninterrupted
    async def indexes(self, run: Run) -> bytearray:
        """Which rows have a sample: 1 at their index. At least as long as the run's total, where that is known."""
        async with self._database.read() as connection:
            return await marked(connection, samples, run)
