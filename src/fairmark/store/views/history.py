"""An eval's runs, the newest first, by page numbers: for people, who want to know how many there are."""

import msgspec
from sqlalchemy import func, select

from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import evals, runs
from fairmark.store.evals.runs import Run, select_without_source


class RunList(msgspec.Struct, frozen=True):
    runs: list[Run]
    """Without their sources: `data_source` is empty."""
    count: int
    """How many there are in all, on other pages too."""


MOST_LISTED = 1_000


class History:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def page(self, eval_seq: int, limit: int, offset: int = 0) -> RunList:
        query = select_without_source().where(runs.c.eval_seq == eval_seq).order_by(runs.c.seq.desc())
        counted = select(func.count()).select_from(runs).where(runs.c.eval_seq == eval_seq)
        async with self._database.read() as connection:
            count = await connection.scalar(counted) or 0
            rows = await connection.execute(query.limit(limit).offset(offset))
            return RunList([Run(*row) for row in rows], count)

    @uninterrupted
    async def of_project(
        self,
        project: str,
        limit: int = MOST_LISTED,
        *,
        name: str | None = None,
        start: str | None = None,
    ) -> list[tuple[str, Run]]:
        """Runs of all evals, the newest first, each with its eval's name: of a name, or whose ids begin so."""
        query = select(evals.c.name, *select_without_source().selected_columns)
        query = query.select_from(select_without_source().get_final_froms()[0]).join(
            evals, evals.c.seq == runs.c.eval_seq
        )
        query = query.where(runs.c.project == project)
        if name is not None:
            query = query.where(runs.c.name == name)
        if start is not None:
            query = query.where(runs.c.id.startswith(start, autoescape=True))
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(runs.c.created_at.desc(), runs.c.seq.desc()).limit(limit))
            return [(eval_name, Run(*run)) for eval_name, *run in rows]
