"""Output items: many a second are added, in batches, each in one transaction with the run's counters."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Table, and_, bindparam, exc, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base import ids
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.pages import Order, Page, bounded_page, read_span
from fairmark.store.base.tables import item_ids, items, runs
from fairmark.store.evals import facets, notes, scores
from fairmark.store.evals.counts import Counts
from fairmark.store.evals.facets import FacetRow
from fairmark.store.evals.notes import RowNotes
from fairmark.store.evals.runs import Run, Runs
from fairmark.store.evals.scores import CriterionScore, ItemScores

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
    scores: tuple[CriterionScore | None, ...] = ()
    """One for each criterion of the eval, in their order; None where it has none, of items that were made elsewhere."""
    item_hash: int = 0
    """`hash_item` of the row's item in the data source."""
    reasons: tuple[str, ...] = ()
    """Why criteria could not grade it."""
    warnings: tuple[str, ...] = ()
    fields: facets.Fields | None = None
    """`facets.fields_of` the row's item; None where nobody has looked at it yet."""
    splits: tuple[int, ...] = ()
    """The criteria whose judges were not of one mind about it, by their index."""


class Item(msgspec.Struct, frozen=True):
    id: str
    idx: int
    status: str
    body: bytes


_STORED = [items.c.idx, items.c.status, items.c.body]


_WITH_IDS = select(item_ids.c.id, *_STORED).select_from(
    items.outerjoin(item_ids, and_(item_ids.c.run_seq == items.c.run_seq, item_ids.c.idx == items.c.idx))
)


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
            row = (await connection.execute(now)).one_or_none()
            if row is None:
                return False
            after = Counts(*row).plus(delta)
            await connection.execute(runs.update().where(runs.c.seq == run.seq).values(after.dump()))
            if new:
                await insert_items(connection, self._database.is_sqlite, run.seq, new)
            return True

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
        async with self._database.read() as connection:
            idx = await _index(connection, run, item_id)
            if idx is None:
                return None
            query = select(*_STORED).where(items.c.run_seq == run.seq, items.c.idx == idx)
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else Item(item_id, *row)

    @uninterrupted
    async def indexes(self, run: Run, names: Sequence[str]) -> dict[str, int]:
        """The index of each of them that may be the id of an item of this run; whether it is there is not looked at."""
        by_name = {name: idx for name in names if (idx := ids.index_in(run.id, name)) is not None}
        if run.imported is not None:
            wanted = set(names)
            query = select(item_ids.c.id, item_ids.c.idx).where(item_ids.c.run_seq == run.seq)
            async with self._database.read() as connection:
                by_name |= {row.id: row.idx for row in await connection.execute(query) if row.id in wanted}
        return by_name

    @uninterrupted
    async def list(
        self,
        run: Run,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        status: str | None = None,
        before: str | None = None,
        among: Sequence[int] | None = None,
    ) -> Page[Item]:
        """By index. In a run that is in progress, items may still come in before those that were seen. `among`: of
        these indexes alone, which are in ascending order."""
        is_own = run.imported is None
        query: Any = (select(*_STORED) if is_own else _WITH_IDS).where(items.c.run_seq == run.seq)
        if status is not None:
            query = query.where(items.c.status == status)
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                # None of them is ever deleted alone: who deletes their run ends the list.
                idx = await _index(connection, run, id_)
                there = select(items.c.idx).where(items.c.run_seq == run.seq, items.c.idx == idx)
                seq: int | None = await connection.scalar(there)
                return seq

            span = await read_span(after, before, find)
            if among is not None:
                query = query.where(items.c.idx.in_(span.part_of(among, limit + 1, order)))

            def own(idx: int, *more: Any) -> Item:
                return Item(ids.of_item(run.id, idx), idx, *more)

            def noted(id_: str | None, idx: int, *more: Any) -> Item:
                return Item(id_ or ids.of_item(run.id, idx), idx, *more)

            size = func.length(items.c.body)
            record = own if is_own else noted
            return await bounded_page(connection, query, items.c.idx, size, span, limit, order, record)


async def _index(connection: AsyncConnection, run: Run, item_id: str) -> int | None:
    """The index of the item of this id, as far as the id tells, or was noted: of those that were made elsewhere."""
    if run.imported is not None and ids.plausible(item_id):
        noted: int | None = await connection.scalar(
            select(item_ids.c.idx).where(item_ids.c.run_seq == run.seq, item_ids.c.id == item_id)
        )
        if noted is not None:
            return noted
    return ids.index_in(run.id, item_id)


async def insert_items(connection: AsyncConnection, is_sqlite: bool, run_seq: int, new: Sequence[NewItem]) -> None:
    """With their scores and notes, within a transaction that holds the run's row."""
    if is_sqlite:
        rows = [{"run_seq": run_seq, "idx": item.idx, "status": item.status, "body": item.body} for item in new]
        await connection.execute(items.insert(), rows)
    else:
        columns = {
            "idx": [item.idx for item in new],
            "status": [item.status for item in new],
            "body": [item.body for item in new],
        }
        await connection.execute(_INSERT_COLUMNS, {"run_seq": run_seq, **columns})
    of_items = [ItemScores(item.idx, item.status, item.scores, item.item_hash) for item in new]
    await scores.insert(connection, is_sqlite, run_seq, of_items)
    known = [
        FacetRow(item.idx, item.status, item.scores, item.fields, item.splits)
        for item in new
        if item.fields is not None
    ]
    await facets.insert(connection, run_seq, known)
    with_notes = (item for item in new if item.reasons or item.warnings)
    await notes.insert(connection, run_seq, (RowNotes(item.idx, item.reasons, item.warnings) for item in with_notes))


async def marked(connection: AsyncConnection, table: Table, run: Run) -> bytearray:
    """Which of a run's rows a table holds: 1 at their index. At least as long as the run's total, where it is known."""
    bits = bytearray(run.total or 0)
    last = -1
    query = select(table.c.idx).where(table.c.run_seq == run.seq).order_by(table.c.idx).limit(_INDEXES_A_PAGE)
    while page := (await connection.scalars(query.where(table.c.idx > last))).all():
        last = page[-1]
        bits.extend(bytes(max(0, last + 1 - len(bits))))
        for idx in page:
            bits[idx] = 1
    return bits
