"""Output items: many a second are added, in batches, each in one transaction with the run's counters."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Table, bindparam, exc, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store import ids, notes, scores
from fairmark.store.counts import Counts
from fairmark.store.database import Database, uninterrupted
from fairmark.store.notes import RowNotes
from fairmark.store.pages import Order, Page, make_page, page_query, read_span
from fairmark.store.runs import Run, Runs
from fairmark.store.scores import CriterionScore, ItemScores
from fairmark.store.tables import items, runs

_COUNTERS = [runs.c[name] for name in Counts.__struct_fields__]
_INDEXES_A_PAGE = 50_000
# For PostgreSQL: a statement for all rows takes half the time of one for each.
_INSERT_COLUMNS = text(
    "INSERT INTO items (run_seq, idx, status, body) SELECT :run_seq, * FROM unnest(:idx, :status, :body)"
).bindparams(
    bindparam("run_seq", type_=items.c.run_seq.type),
    *(bindparam(name, type_=ARRAY(items.c[name].type)) for name in ("idx", "status", "body")),
)


class NewItem(msgspec.Struct, frozen=True):
    idx: int
    """The row's position in its data source, from 0."""
    status: str
    """pass, fail, error or skip: the worst outcome of its scores, as `scores.STATUSES` has it."""
    body: bytes
    """The whole item in its wire form."""
    scores: tuple[CriterionScore, ...] = ()
    """One for each criterion of the eval, in their order."""
    item_hash: int = 0
    """`hash_item` of the row's item in the data source."""
    reasons: tuple[str, ...] = ()
    """Why criteria could not grade it."""
    warnings: tuple[str, ...] = ()


class Item(msgspec.Struct, frozen=True):
    id: str
    idx: int
    status: str
    body: bytes


_STORED = [items.c.idx, items.c.status, items.c.body]


class Items:
    def __init__(self, database: Database, of_runs: Runs) -> None:
        self._database = database
        self._runs = of_runs

    @uninterrupted
    async def add(self, run: Run, items: Sequence[NewItem], delta: Counts) -> bool:
        """All of them and what they add to the counters, or nothing: False where the run is not in progress, or another
        server's.

        The same batch may be added again, and counts once: so a caller who was told StoreUnavailable just tries again,
        although the database may have committed before its answer was lost.
        """
        try:
            return await self._add(run, items, delta)
        except exc.IntegrityError:
            if await self._all_there(run, [item.idx for item in items]):
                return True
            raise

    async def _add(self, run: Run, new: Sequence[NewItem], delta: Counts) -> bool:
        async with self._database.write() as connection:
            # Whoever cancels or deletes the run waits from here on, or was first and we find nothing.
            now = select(*_COUNTERS).where(self._runs.working_on(run)).with_for_update()
            found = (await connection.execute(now)).one_or_none()
            if found is None:
                return False
            after = Counts(*found).plus(delta)
            await connection.execute(runs.update().where(runs.c.seq == run.seq).values(after.dump()))
            if new:
                await self._insert(connection, run, new)
            return True

    async def _insert(self, connection: AsyncConnection, run: Run, new: Sequence[NewItem]) -> None:
        if self._database.is_sqlite:
            rows = [{"run_seq": run.seq, "idx": each.idx, "status": each.status, "body": each.body} for each in new]
            await connection.execute(items.insert(), rows)
        else:
            columns = {
                "idx": [each.idx for each in new],
                "status": [each.status for each in new],
                "body": [each.body for each in new],
            }
            await connection.execute(_INSERT_COLUMNS, {"run_seq": run.seq, **columns})
        of_items = [ItemScores(each.idx, each.status, each.scores, each.item_hash) for each in new]
        await scores.insert(connection, self._database.is_sqlite, run.seq, of_items)
        with_notes = (each for each in new if each.reasons or each.warnings)
        await notes.insert(
            connection, run.seq, (RowNotes(each.idx, each.reasons, each.warnings) for each in with_notes)
        )

    async def _all_there(self, run: Run, indexes: Sequence[int]) -> bool:
        between = items.c.idx.between(min(indexes), max(indexes))
        async with self._database.read() as connection:
            there = await connection.scalars(select(items.c.idx).where(items.c.run_seq == run.seq, between))
        return set(there) >= set(indexes)

    @uninterrupted
    async def done(self, run: Run) -> bytearray:
        """Which rows have their item: 1 at their index. At least as long as the run's total, where that is known."""
        async with self._database.read() as connection:
            return await marked(connection, items, run)

    @uninterrupted
    async def get(self, run: Run, item_id: str) -> Item | None:
        idx = ids.index_in(run.id, item_id)
        if idx is None:
            return None
        query = select(*_STORED).where(items.c.run_seq == run.seq, items.c.idx == idx)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else Item(item_id, *row)

    @uninterrupted
    async def list(
        self,
        run: Run,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        status: str | None = None,
        before: str | None = None,
    ) -> Page[Item]:
        """By index. In a run that is in progress, items may still come in before those that were seen."""
        query: Any = select(*_STORED).where(items.c.run_seq == run.seq)
        if status is not None:
            query = query.where(items.c.status == status)
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                # None of them is ever deleted alone: who deletes their run ends the list.
                there = select(items.c.idx).where(items.c.run_seq == run.seq, items.c.idx == ids.index_in(run.id, id_))
                found: int | None = await connection.scalar(there)
                return found

            span = await read_span(after, before, find)
            rows = (await connection.execute(page_query(query, items.c.idx, span, limit, order))).all()
        return make_page(rows, span, limit, lambda idx, *more: Item(ids.of_item(run.id, idx), idx, *more))


async def marked(connection: AsyncConnection, table: Table, run: Run) -> bytearray:
    """Which of a run's rows a table holds: 1 at their index. At least as long as the run's total, where it is known."""
    found = bytearray(run.total or 0)
    last = -1
    query = select(table.c.idx).where(table.c.run_seq == run.seq).order_by(table.c.idx).limit(_INDEXES_A_PAGE)
    while page := (await connection.scalars(query.where(table.c.idx > last))).all():
        last = page[-1]
        found.extend(bytes(max(0, last + 1 - len(found))))
        for idx in page:
            found[idx] = 1
    return found
