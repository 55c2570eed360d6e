"""An eval's runs, the newest first, by page numbers: for people, who want to know how many there are."""

import msgspec
from sqlalchemy import func, select

from fairmark.store.database import Database, uninterrupted
from fairmark.store.runs import Run, select_without_source
from fairmark.store.tables import runs


class RunList(msgspec.Struct, frozen=True):
    runs: list[Run]
    """Without their sources: `data_source` is empty."""
    count: int
    """How many there are in all, on other pages too."""


class History:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def page(self, eval_seq: int, limit: int, offset: int = 0) -> RunList:
        query = select_without_source().where(runs.c.eval_seq == eval_seq).order_by(runs.c.seq.desc())
        counted = select(func.count()).select_from(runs).where(runs.c.eval_seq == eval_seq)
        async with self._database.read() as connection:
            count = await connection.scalar(counted) or 0
            found = await connection.execute(query.limit(limit).offset(offset))
            return RunList([Run(*row) for row in found], count)
