"""A run's rows as columns in memory: what they are chosen and grouped by, some bytes a row.

They come out of the packets that are written with the items; rows that are in none are read themselves. The last runs
that somebody looked at are kept, as long as their counters do not move.
"""

import asyncio
from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec
from sqlalchemy import and_, select

from fairmark import jsontext
from fairmark.outcomes import OUTCOMES
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import facets, items, runs, scores
from fairmark.store.evals.facets import LONG, UNKNOWN, FacetRow, Packet, Value, fields_of, numbers, pack, unpack
from fairmark.store.evals.runs import Run

ROWS_KEPT = 1_000_000
"""Of all runs together whose columns are kept."""
PACKETS_A_LOOK = 16
ROWS_A_LOOK = 2000
MOST_TEXTS = 20_000
"""Different texts of a field that are told apart: of more, nobody reads a list."""
MISSING, TOO_LONG = 0, 1


class FieldColumn:
    """One field: of every row the number of its value. 0 is none, 1 one that is too long or one too many."""

    def __init__(self) -> None:
        self.values: list[Value] = [None, LONG]
        self.codes = array("I")
        self._numbers: dict[tuple[type, Value], int] = {}
        self._texts = 0

    @property
    def has_long(self) -> bool:
        return self.sizes[TOO_LONG] > 0

    @cached_property
    def sizes(self) -> Counter[int]:
        """How many rows have each value, by its number. Of a column that is whole."""
        return Counter(self.codes)

    def extend(self, values: Sequence[Value], codes: Sequence[int], rows_before: int) -> None:
        """The next rows' values, by their numbers in `values`; rows that had no such field before are filled up."""
        self.fill(rows_before)
        numbers = [self._number(value) for value in values]
        self.codes.extend([numbers[code] for code in codes])

    def fill(self, rows: int) -> None:
        self.codes.extend([MISSING] * (rows - len(self.codes)))

    def _number(self, value: Any) -> int:
        if value is None:
            return MISSING
        if type(value) is list:
            return TOO_LONG
        number = self._numbers.get((type(value), value))
        if number is None:
            if type(value) is str and self._texts >= MOST_TEXTS:
                return TOO_LONG
            self._texts += type(value) is str
            self.values.append(value)
            number = self._numbers[type(value), value] = len(self.values) - 1
        return number


class Columns:
    """Rows in any order; a row's place is the same in all of them."""

    def __init__(self) -> None:
        self.idx = array("I")
        self.status = bytearray()
        self.outcomes: list[bytearray] = []
        """Of each criterion; `UNKNOWN` where a row has none."""
        self.scores: list[array[float]] = []
        self.fields: dict[str, FieldColumn] = {}
        self.splits: dict[int, bytearray] = {}
        """Of each criterion whose judges split on a row: 1 where they did."""
        self.remembered: dict[Any, Any] = {}
        """What others have worked out of them, for as long as they are kept."""

    def __len__(self) -> int:
        return len(self.idx)

    def add(self, packet: Packet) -> None:
        before = len(self.idx)
        self.idx.extend(numbers("I", packet.idx))
        self.status += packet.status
        for criterion, (outcomes, rewards) in enumerate(zip(packet.outcomes, packet.scores, strict=True)):
            if criterion == len(self.outcomes):
                self.outcomes.append(bytearray([UNKNOWN]) * before)
                self.scores.append(array("d", bytes(8 * before)))
            self.outcomes[criterion] += outcomes
            self.scores[criterion].extend(numbers("d", rewards))
        for name, (values, codes) in packet.fields.items():
            self.fields.setdefault(name, FieldColumn()).extend(values, codes, before)
        for criterion, split in packet.splits.items():
            column = self.splits.setdefault(criterion, bytearray())
            column += bytes(before - len(column)) + split
        self._fill()

    def _fill(self) -> None:
        """What this packet says nothing about."""
        rows = len(self.idx)
        for outcomes, rewards in zip(self.outcomes, self.scores, strict=True):
            outcomes.extend([UNKNOWN] * (rows - len(outcomes)))
            rewards.extend([0.0] * (rows - len(rewards)))
        for column in self.fields.values():
            column.fill(rows)
        for split in self.splits.values():
            split += bytes(rows - len(split))


class _Body(msgspec.Struct):
    """What of an item is needed here: the rest is skipped."""

    datasource_item: msgspec.Raw = msgspec.Raw(b"{}")
    results: msgspec.Raw = msgspec.Raw(b"[]")


class _Spread(msgspec.Struct):
    split: bool = False


class _Result(msgspec.Struct):
    spread: _Spread | None = None


class RunColumns:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[tuple[Any, ...], asyncio.Task[Columns]] = OrderedDict()

    async def of(self, run: Run) -> Columns:
        """As they are now, or were when its counters last moved. Whoever asks meanwhile waits for the same."""
        # A run whose errors were retried may have the same counters again, but has ended at another time.
        key = (run.id, run.passed, run.failed, run.errored, run.skipped, run.ended_at)
        task = self._kept.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            for old in [old for old in self._kept if old[0] == run.id and self._kept[old].done()]:
                del self._kept[old]
            task = self._kept[key] = asyncio.create_task(self._load(run))
        self._kept.move_to_end(key)
        columns = await asyncio.shield(task)
        self._let_go()
        return columns

    def _let_go(self) -> None:
        rows = 0
        for key in reversed(list(self._kept)):
            task = self._kept[key]
            if not task.done() or task.cancelled() or task.exception() is not None:
                continue
            rows += len(task.result())
            if rows > ROWS_KEPT and key != next(reversed(self._kept)):
                del self._kept[key]

    async def _load(self, run: Run) -> Columns:
        columns = Columns()
        last = -1
        while bodies := await self._packets(run, last):
            last = bodies[-1][0]
            await asyncio.to_thread(_add_all, columns, [body for _, body in bodies])
        if len(columns) < run.passed + run.failed + run.errored + run.skipped:
            await self._read_others(run, columns)
        return columns

    @uninterrupted
    async def _packets(self, run: Run, last: int) -> list[tuple[int, bytes]]:
        query = select(facets.c.first, facets.c.body).where(facets.c.run_seq == run.seq, facets.c.first > last)
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(facets.c.first).limit(PACKETS_A_LOOK))
            return [(row.first, row.body) for row in rows]

    async def _read_others(self, run: Run, columns: Columns) -> None:
        """Rows of old versions or from elsewhere: out of the items themselves. What was read is kept for others."""
        known = bytearray(1 + max([run.total or 0, *columns.idx]))
        for idx in columns.idx:
            known[idx] = 1
        last = -1
        while rows := await self._rows(run, last):
            last = rows[-1][0]
            fresh = [row for row in rows if row[0] >= len(known) or not known[row[0]]]
            if not fresh:
                continue
            of_rows = await self._scores(run, fresh[0][0], fresh[-1][0])
            body = await asyncio.to_thread(_packed, fresh, of_rows)
            await asyncio.to_thread(_add_all, columns, [body])
            if run.status not in ("queued", "in_progress"):
                await self._keep(run, fresh[0][0], len(fresh), body)

    @uninterrupted
    async def _rows(self, run: Run, last: int) -> list[tuple[int, str, bytes]]:
        query = select(items.c.idx, items.c.status, items.c.body).where(items.c.run_seq == run.seq, items.c.idx > last)
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(items.c.idx).limit(ROWS_A_LOOK))
            return [(row.idx, row.status, row.body) for row in rows]

    @uninterrupted
    async def _scores(self, run: Run, first: int, last: int) -> dict[int, dict[int, tuple[str, float]]]:
        """Of each row, by its index, what each criterion said."""
        query = select(scores.c.idx, scores.c.criterion, scores.c.outcome, scores.c.score)
        query = query.where(scores.c.run_seq == run.seq, scores.c.idx.between(first, last))
        of_rows: dict[int, dict[int, tuple[str, float]]] = {}
        async with self._database.read() as connection:
            for idx, criterion, outcome, score in await connection.execute(query):
                of_rows.setdefault(idx, {})[criterion] = OUTCOMES[outcome], score
        return of_rows

    @uninterrupted
    async def _keep(self, run: Run, first: int, count: int, body: bytes) -> None:
        """Unless somebody else did, or the run has gone on or is gone: then its rows may be others."""
        ended_then = runs.c.ended_at.is_(None) if run.ended_at is None else runs.c.ended_at == run.ended_at
        same = and_(runs.c.seq == run.seq, runs.c.status == run.status, ended_then)
        async with self._database.write() as connection:
            there = select(facets.c.first).where(facets.c.run_seq == run.seq, facets.c.first == first)
            if await connection.scalar(select(runs.c.seq).where(same).with_for_update()) is None:
                return
            if await connection.scalar(there) is None:
                values = {"run_seq": run.seq, "first": first, "count": count, "body": body}
                await connection.execute(facets.insert().values(values))


def _add_all(columns: Columns, bodies: Sequence[bytes]) -> None:
    for body in bodies:
        columns.add(unpack(body))


def _packed(rows: Sequence[tuple[int, str, bytes]], of_rows: dict[int, dict[int, tuple[str, float]]]) -> bytes:
    return pack(list(_facet_rows(rows, of_rows)))


def _facet_rows(
    rows: Sequence[tuple[int, str, bytes]], of_rows: dict[int, dict[int, tuple[str, float]]]
) -> Iterator[FacetRow]:
    for idx, status, body in rows:
        said = of_rows.get(idx, {})
        in_order = [said.get(criterion) for criterion in range(1 + max(said, default=-1))]
        yield FacetRow(idx, status, in_order, *_looked_into(body))


def _looked_into(body: bytes) -> tuple[dict[str, Value], list[int]]:
    """The fields of an item, and which criteria's judges split on it. What was made elsewhere may be anything."""
    try:
        parts = msgspec.json.decode(body, type=_Body)
        item = jsontext.decode(bytes(parts.datasource_item))
    except (msgspec.DecodeError, jsontext.NotJson):
        return {}, []
    return fields_of(item) if isinstance(item, dict) else {}, _splits(parts.results)


def _splits(results: msgspec.Raw) -> list[int]:
    try:
        read = msgspec.json.decode(results, type=list[_Result])
    except msgspec.DecodeError:
        return []
    return [index for index, result in enumerate(read) if result.spread is not None and result.spread.split]
