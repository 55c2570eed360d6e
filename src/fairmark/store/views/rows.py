"""The rows of a run as its page shows them: chosen, sorted, searched, and paged by position.

A page is found by an index and costs the same wherever it is. Two kinds of views look at rows in vain: those sorted by
one criterion and chosen by another, of which each row is one more look into an index; and those that search a text,
which read rows until their page is full or their time is up, and then tell where to go on.
"""

import math
import time
from collections.abc import AsyncIterator, Container, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Text,
    and_,
    cast,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark import jsontext
from fairmark.errors import InvalidCursor, InvalidView
from fairmark.outcomes import ERROR, GRADED, OUTCOMES, SKIP
from fairmark.store.base import ids
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import error_rows, items, scores
from fairmark.store.evals.items import Item
from fairmark.store.evals.runs import Run
from fairmark.store.evals.scores import STATUSES, only_at
from fairmark.store.views.places import MOST_ROWS, PagePlace, beyond, read_index, read_place
from fairmark.store.views.search import ESCAPE, Needle

SEARCH_S = 0.5
"""After this time a search says what it has found so far."""
MOST_ROWS_A_LOOK = 4000
MOST_CANDIDATES = 500
"""More items that may hold the text than this, from one look, and the next look is at fewer rows."""
ROWS_A_CHUNK = 200

Outcome = Literal["pass", "fail", "error", "skip"]
# What was not graded has no score to sort by, and comes last in both directions.
_UNGRADED = ("error", "skip")
_SEGMENTS = [GRADED, (ERROR,), (SKIP,)]
_STORED = select(items.c.idx, items.c.status, items.c.body)


class View(msgspec.Struct, frozen=True):
    """Which rows of a run, and in which order. Criteria are named by their index in the eval's list.

    Raises InvalidView.
    """

    status: Outcome | None = None
    """The whole row's."""
    criterion: int | None = None
    outcome: Outcome | None = None
    """Only rows for which that criterion had this outcome."""
    text: str = ""
    """Only rows in which a person reads this, in upper or lower case."""
    sort: int | None = None
    """By this criterion's score; None is by the rows' own order. Rows that it could not grade come last."""
    descending: bool = False
    reason: int | None = None
    """Only rows that could not be graded for this reason, by its `reason_key`. It goes with no criterion."""

    def __post_init__(self) -> None:
        for name, value in (("status", self.status), ("outcome", self.outcome)):
            if value is not None and value not in OUTCOMES:
                raise InvalidView(f"{name}: unknown {name} {jsontext.quote(value)}. Use one of: {', '.join(OUTCOMES)}.")
        for name, number in (("criterion", self.criterion), ("sort", self.sort)):
            if number is not None and not 0 <= number < MOST_ROWS:
                raise InvalidView(f"{name}: there is no criterion {number}. They are numbered from 0.")
        if (self.criterion is None) != (self.outcome is None):
            raise InvalidView("criterion and outcome go together: give both, or neither.")
        if self.reason is not None and (self.criterion is not None or self.status not in (None, "error")):
            raise InvalidView("reason: it chooses among errors of all criteria. Leave out status and criterion.")


class RowPage(msgspec.Struct, frozen=True):
    data: list[Item]
    previous: str | None
    next: str | None
    """Places to ask for the pages beside this one; None where there is none."""
    unfinished: bool
    """The time of a search was up before the page was full: the one beside it goes on."""


class Neighbours(msgspec.Struct, frozen=True):
    """The rows before and after one, by index."""

    previous: int | None
    next: int | None


class _RowKey(NamedTuple):
    """A row's place in a view."""

    segment: int
    score: float
    idx: int

    def text(self, view: View) -> str:
        if view.sort is None:
            return str(self.idx)
        return f"{_UNGRADED[self.segment - 1] if self.segment else self.score}_{self.idx}"


class _Found(NamedTuple):
    rows: list[tuple[_RowKey, Item]]
    stopped_at: _RowKey | None
    """The last row that was looked at when the time was up."""


class Rows:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def page(
        self, run: Run, view: View, at: str | None = None, limit: int = 50, only: Container[int] | None = None
    ) -> RowPage:
        """From the place `at`: None is the start, "last" the end, and every page names the ones beside it. `only`: a
        search looks at rows of these indexes alone.

        In a run that is in progress rows may still come in before those that were seen. Raises InvalidCursor.
        """
        place = read_place(at)
        start = _read_key(place.row, view) if place.row else None
        if place.row and start is None:
            raise InvalidCursor(at or "")
        matches = await self._find(run, view, place, start, limit + 1, only)
        rows = matches.rows[:limit]
        last = rows[-1][0] if len(matches.rows) > limit else matches.stopped_at
        shown = [item for _, item in (reversed(rows) if place.backward else rows)]
        return RowPage(shown, *place.beside(last and last.text(view)), matches.stopped_at is not None)

    @uninterrupted
    async def neighbours(self, run: Run, view: View, idx: int) -> Neighbours:
        """Of a row of this view; of one that is not in it, those between which it would be. What a search does not
        find in its time is not told."""
        key = await self._key_of(run, view, idx)
        if key is None:
            return Neighbours(None, None)
        sides = [await self._find(run, view, PagePlace(side), key, 1) for side in ("before", "after")]
        return Neighbours(*(side.rows[0][0].idx if side.rows else None for side in sides))

    @uninterrupted
    async def count(self, run: Run, view: View) -> int | None:
        """How many rows a view has; None where only reading all of them would tell, for it searches a text."""
        if view.text:
            return None
        if view.criterion is None and view.reason is None:
            counts = dict(zip(OUTCOMES, (run.passed, run.failed, run.errored, run.skipped), strict=True))
            return sum(counts[outcome] for outcome in (OUTCOMES if view.status is None else [view.status]))
        async with self._database.read() as connection:
            count = await connection.scalar(select(func.count()).select_from(_chosen(run, view).subquery()))
        return count or 0

    async def stream(self, run: Run, status: str | None = None) -> AsyncIterator[list[Item]]:
        """All of them by index, some at a time. It ends early where the run is deleted meanwhile."""
        last = -1
        while chunk := await self.chunk(run, status, last):
            yield chunk
            last = chunk[-1].idx

    @uninterrupted
    async def chunk(self, run: Run, status: str | None, last: int) -> list[Item]:
        """Some of them, behind the one of this index."""
        query = _STORED.where(items.c.run_seq == run.seq, items.c.idx > last)
        if status is not None:
            query = query.where(items.c.status == status)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(items.c.idx).limit(ROWS_A_CHUNK))).all()
        return [Item(ids.of_item(run.id, row.idx), *row) for row in rows]

    async def _key_of(self, run: Run, view: View, idx: int) -> _RowKey | None:
        if not 0 <= idx < MOST_ROWS:
            return None
        if view.sort is None:
            return _RowKey(0, 0.0, idx)
        query = select(scores.c.outcome, scores.c.score).where(
            scores.c.run_seq == run.seq,
            scores.c.criterion == view.sort,
            scores.c.outcome.in_(STATUSES),
            scores.c.idx == idx,
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            return None
        segment = next(at for at, outcomes in enumerate(_SEGMENTS) if row.outcome in outcomes)
        return _RowKey(segment, row.score, idx)

    @uninterrupted
    async def at(self, run: Run, indexes: Sequence[int]) -> list[Item]:
        """The rows of these indexes, in this order, as far as they are there."""
        async with self._database.read() as connection:
            known = await items_at(self._database, connection, run, indexes)
        return [known[idx] for idx in indexes if idx in known]

    async def _find(
        self,
        run: Run,
        view: View,
        place: PagePlace,
        start: _RowKey | None,
        want: int,
        only: Container[int] | None = None,
    ) -> _Found:
        """Up to `want` rows of the view, from the start on, in the order of their direction."""
        async with self._database.read() as connection:
            walk = _Walk(connection, run, view, place, start)
            if view.text:
                return await self._search(connection, run, walk, Needle(view.text), want, only)
            keys = await walk.take(want)
            known = await items_at(self._database, connection, run, [key.idx for key in keys])
        return _Found([(key, known[key.idx]) for key in keys if key.idx in known], None)

    async def _search(
        self,
        connection: AsyncConnection,
        run: Run,
        walk: "_Walk",
        needle: Needle,
        want: int,
        only: Container[int] | None,
    ) -> _Found:
        until = time.monotonic() + SEARCH_S
        matches: list[tuple[_RowKey, Item]] = []
        look_at = want
        while True:
            keys = await walk.take(look_at)
            indexes = [key.idx for key in keys if only is None or key.idx in only]
            known = await items_at(self._database, connection, run, indexes, needle.patterns)
            matches += [(key, item) for key in keys if (item := known.get(key.idx)) and needle.found_in(item.body)]
            if len(matches) >= want or len(keys) < look_at:
                return _Found(matches[:want], None)
            if time.monotonic() > until:
                return _Found(matches, keys[-1])
            look_at = max(1, look_at // 2) if len(known) > MOST_CANDIDATES else min(look_at * 2, MOST_ROWS_A_LOOK)


class _Walk:
    """Goes through a view from a place on, a few keys at a time."""

    def __init__(
        self, connection: AsyncConnection, run: Run, view: View, place: PagePlace, start: _RowKey | None
    ) -> None:
        self._connection = connection
        self._run = run
        self._view = view
        self._ascending = view.descending == place.backward
        self._inclusive = place.inclusive
        self._last = start
        segments = list(range(1 if view.sort is None else len(_SEGMENTS)))
        if place.backward:
            segments.reverse()
        self._segments = segments if start is None else segments[segments.index(start.segment) :]

    async def take(self, count: int) -> list[_RowKey]:
        """The next ones; fewer where there are no more."""
        keys: list[_RowKey] = []
        while self._segments:
            keys += await self._keys(self._segments[0], count - len(keys))
            self._inclusive = False
            if len(keys) == count:
                self._last = keys[-1]
                break
            self._segments.pop(0)
            self._last = None
        return keys

    async def _keys(self, segment: int, count: int) -> list[_RowKey]:
        view = self._view
        if view.sort is None:
            streams = [self._by_index()]
        else:
            streams = [
                self._by_score(view.sort, outcome, status)
                for outcome in _SEGMENTS[segment]
                for status in STATUSES[outcome]
                if _may_hold(view, outcome, status)
            ]
        if not streams:
            return []
        rows: Any = self._sorted(streams[0]).limit(count)
        if len(streams) > 1:
            # As many of each, then the first of all: no database has to find out that it could merge them.
            limited = [select(self._sorted(stream).limit(count).subquery()) for stream in streams]
            rows = self._sorted(union_all(*limited)).limit(count)
        return [_RowKey(segment, row[0], row[1]) for row in (await self._connection.execute(rows)).all()]

    def _sorted(self, rows: Any) -> Any:
        selected = rows.selected_columns
        columns = [selected.idx] if self._view.sort is None else [selected.score, selected.idx]
        return rows.order_by(*(column.asc() if self._ascending else column.desc() for column in columns))

    def _by_index(self) -> Select[Any]:
        chosen = _chosen(self._run, self._view)
        if self._last is None:
            return chosen
        return chosen.where(self._beyond(chosen.selected_columns.idx, self._last.idx))

    def _by_score(self, criterion: int, outcome: int, status: int) -> Select[Any]:
        rows = select(scores.c.score, scores.c.idx).where(
            scores.c.run_seq == self._run.seq,
            scores.c.criterion == criterion,
            scores.c.outcome == outcome,
            scores.c.status == status,
        )
        if self._last is not None:
            place = tuple_(scores.c.score, scores.c.idx)
            rows = rows.where(self._beyond(place, (self._last.score, self._last.idx)))
        if self._view.reason is not None:
            failed = only_at(scores.c.idx, _failed(self._run, self._view), error_rows.c.idx)
            return rows.where(failed.scalar_subquery().is_not(None))
        if self._view.criterion in (None, criterion):
            return rows
        # Looked up row by row. An EXISTS would be joined, and before PostgreSQL has counted a table it takes it for
        # empty, and joins by trying each row with each.
        other = scores.alias("other")
        judged = only_at(scores.c.idx, select(other.c.idx).where(_judged(other, self._run, self._view)), other.c.idx)
        return rows.where(judged.scalar_subquery().is_not(None))

    def _beyond(self, column: Any, value: Any) -> ColumnElement[bool]:
        return beyond(column, value, self._ascending, self._inclusive)


async def items_at(
    database: Database, connection: AsyncConnection, run: Run, indexes: Sequence[int], patterns: Sequence[str] = ()
) -> dict[int, Item]:
    """The items of these rows, by index; of those only what matches one of the patterns, where there are any."""
    if not indexes:
        return {}
    if database.is_sqlite:
        wanted = func.json_each(jsontext.encode(indexes).decode()).table_valued("value")
        query = _STORED.where(items.c.run_seq == run.seq, items.c.idx.in_(select(wanted.c.value)))
        body: ColumnElement[str] = cast(items.c.body, Text)
        matches = [body.like(pattern, escape=ESCAPE) for pattern in patterns]
    else:
        # One by one, because of the limit: a table that was not counted yet would be read as a whole.
        wanted = func.unnest(literal(list(indexes), ARRAY(Integer))).table_valued("idx", name="wanted").render_derived()
        one = _STORED.where(items.c.run_seq == run.seq, items.c.idx == wanted.c.idx).limit(1).lateral()
        query = select(one).select_from(wanted).join(one, true())
        matches = [func.convert_from(one.c.body, "UTF8").ilike(pattern, escape=ESCAPE) for pattern in patterns]
    if matches:
        query = query.where(or_(*matches))
    return {row.idx: Item(ids.of_item(run.id, row.idx), *row) for row in await connection.execute(query)}


def _chosen(run: Run, view: View) -> Select[Any]:
    """The rows of a view by index, without regard to its text and its order."""
    if view.reason is not None:
        return _failed(run, view).with_only_columns(literal(0.0).label("score"), error_rows.c.idx)
    if view.criterion is None:
        rows = select(literal(0.0).label("score"), items.c.idx).where(items.c.run_seq == run.seq)
        return rows if view.status is None else rows.where(items.c.status == view.status)
    rows = select(literal(0.0).label("score"), scores.c.idx).where(_judged(scores, run, view))
    return rows if view.status is None else rows.where(scores.c.status == OUTCOMES.index(view.status))


def _failed(run: Run, view: View) -> Select[Any]:
    return select(error_rows.c.idx).where(error_rows.c.run_seq == run.seq, error_rows.c.reason == view.reason)


def _may_hold(view: View, outcome: int, status: int) -> bool:
    """Whether rows with this outcome, by the criterion that a view is sorted by, and this status may be in the view."""
    if view.status not in (None, OUTCOMES[status]):
        return False
    if view.outcome is None:
        return True
    wanted = OUTCOMES.index(view.outcome)
    return outcome == wanted if view.criterion == view.sort else status in STATUSES[wanted]


def _judged(table: Any, run: Run, view: View) -> ColumnElement[bool]:
    """Whether the view's criterion had the view's outcome."""
    outcome = OUTCOMES.index(view.outcome or "")
    return and_(table.c.run_seq == run.seq, table.c.criterion == view.criterion, table.c.outcome == outcome)


def _read_key(row: str, view: View) -> _RowKey | None:
    """A key from its text; None where it is none of this view's."""
    score, _, digits = row.rpartition("_")
    idx = read_index(digits)
    if idx is None:
        return None
    if view.sort is None:
        return None if score else _RowKey(0, 0.0, idx)
    if score in _UNGRADED:
        return _RowKey(_UNGRADED.index(score) + 1, 0.0, idx)
    try:
        number = float(score)
    except ValueError:
        return None
    return _RowKey(0, number, idx) if math.isfinite(number) else None
