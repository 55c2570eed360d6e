"""Two runs side by side, by one criterion: rows of equal items are pairs, by the rule of `fairmark.outcomes`, and a
pair may have flipped."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import Select, and_, case, func, literal, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.errors import InvalidCursor
from fairmark.outcomes import FAIL, GRADED, PASS, MatchedBy, PairTotals
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import scores
from fairmark.store.evals.items import Item
from fairmark.store.evals.runs import Run
from fairmark.store.evals.scores import Scale, only_at, score_range
from fairmark.store.views.places import beyond, read_index, read_place
from fairmark.store.views.rows import items_at

Change = Literal["lost", "gained", "failed", "passed"]
# Flipped rows first: what the second run lost, and what it gained.
_OUTCOMES: dict[Change, tuple[int, int]] = {
    "lost": (PASS, FAIL),
    "gained": (FAIL, PASS),
    "failed": (FAIL, FAIL),
    "passed": (PASS, PASS),
}


class DataSet(msgspec.Struct, frozen=True):
    """What a run's rows come down to. Runs of equal ones have the same items, in whatever order."""

    rows: int
    sums: tuple[int, int]
    """Of the items' hashes, each less some multiple of a prime, so that no database's numbers overflow."""


class Pair(msgspec.Struct, frozen=True):
    """One row, as both runs have it."""

    change: Change
    first: Item
    second: Item
    first_score: float
    second_score: float


class PairPage(msgspec.Struct, frozen=True):
    data: list[Pair]
    previous: str | None
    next: str | None
    """Places to ask for the pages beside this one; None where there is none."""


_PRIMES = (2_147_483_647, 2_147_483_629)


class _PairKey(NamedTuple):
    change: Change
    first_idx: int
    second_idx: int
    first_score: float
    second_score: float


def shared_criteria(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """The criteria of two evals, by index, that have one name; of several of one name the first ones, and so on."""
    left: dict[str, list[int]] = {}
    for index, criterion in enumerate(second):
        left.setdefault(str(criterion.get("name")), []).append(index)
    return [
        (index, left[name].pop(0))
        for index, criterion in enumerate(first)
        if left.get(name := str(criterion.get("name")))
    ]


class StoredComparison:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def totals(self, first: Run, second: Run, criteria: tuple[int, int]) -> PairTotals:
        """By a criterion of each run, as `shared_criteria` pairs them."""
        async with self._database.read() as connection:
            ends: list[float | None] = []
            graded = []
            for run, criterion in zip((first, second), criteria, strict=True):
                ends += await score_range(connection, run, criterion)
                graded.append(await _graded(connection, run, criterion))
            scale = Scale.of(*(end for end in ends if end is not None))
            totals = await _totals(connection, "row", first, second, criteria, scale)
            if totals.n < min(graded):
                by_item = await _totals(connection, "item", first, second, criteria, scale)
                totals = by_item if by_item.n > totals.n else totals
        return totals

    @uninterrupted
    async def data_set(self, run: Run) -> DataSet:
        """Of all rows that it has by now, also of those that could not be graded."""
        sums = [func.coalesce(func.sum(scores.c.item_hash % prime), 0) for prime in _PRIMES]
        query = select(func.count(), *sums).where(scores.c.run_seq == run.seq, scores.c.criterion == 0)
        async with self._database.read() as connection:
            rows, first, second = (await connection.execute(query)).one()
        return DataSet(rows, (int(first), int(second)))

    @uninterrupted
    async def partners(self, first: Run, second: Run) -> dict[int, int]:
        """Of each row of the first run, the second's row of the same item: of the same number, else the next of that
        item that nobody has."""
        sides: list[dict[int, int]] = []
        async with self._database.read() as connection:
            for run in (first, second):
                query = select(scores.c.idx, scores.c.item_hash).where(scores.c.run_seq == run.seq)
                rows = await connection.execute(query.where(scores.c.criterion == 0).order_by(scores.c.idx))
                sides.append({row.idx: row.item_hash for row in rows})
        ours, theirs = sides
        partners = {idx: idx for idx, item in ours.items() if theirs.get(idx) == item}
        free: dict[int, list[int]] = {}
        for idx in reversed(theirs):
            if idx not in partners:
                free.setdefault(theirs[idx], []).append(idx)
        for idx, item in ours.items():
            if idx not in partners and free.get(item):
                partners[idx] = free[item].pop()
        return partners

    @uninterrupted
    async def rows(
        self,
        first: Run,
        second: Run,
        criteria: tuple[int, int],
        matched_by: MatchedBy,
        change: Change | None = None,
        at: str | None = None,
        limit: int = 20,
        only_moved: bool = False,
    ) -> PairPage:
        """Flipped rows first; by the first run's row numbers among those that changed alike, or `change` alone.

        `only_moved` leaves out pairs of equal scores. `matched_by` is what `totals` told, `at` a place as a page named
        it, or "last". Raises InvalidCursor.
        """
        place = read_place(at)
        start = _read_key(place.row)
        changes = [kind for kind in _OUTCOMES if change in (None, kind)]
        if place.row and (start is None or start[0] not in changes):
            raise InvalidCursor(at or "")
        if place.backward:
            changes.reverse()
        if start is not None:
            changes = changes[changes.index(start[0]) :]
        keys: list[_PairKey] = []
        async with self._database.read() as connection:
            for kind in changes:
                pairs = _PAIRS[matched_by](first, second, criteria, kind).subquery()
                query = select(pairs).where(pairs.c.second_score.is_not(None))
                if start is not None and start[0] == kind:
                    query = query.where(beyond(pairs.c.first_idx, start[1], not place.backward, place.inclusive))
                if only_moved:
                    query = query.where(pairs.c.first_score != pairs.c.second_score)
                order = pairs.c.first_idx.desc() if place.backward else pairs.c.first_idx.asc()
                rows = await connection.execute(query.order_by(order).limit(limit + 1 - len(keys)))
                keys += [_PairKey(kind, *row) for row in rows]
                if len(keys) > limit:
                    break
            shown = keys[:limit]
            firsts = await items_at(self._database, connection, first, [key.first_idx for key in shown])
            seconds = await items_at(self._database, connection, second, [key.second_idx for key in shown])
        last = f"{shown[-1].change}_{shown[-1].first_idx}" if len(keys) > limit else None
        pairs_shown = [
            Pair(key.change, firsts[key.first_idx], seconds[key.second_idx], key.first_score, key.second_score)
            for key in (reversed(shown) if place.backward else shown)
            if key.first_idx in firsts and key.second_idx in seconds  # neither run was deleted meanwhile
        ]
        return PairPage(pairs_shown, *place.beside(last))


def _by_row(first: Run, second: Run, criteria: tuple[int, int], change: Change) -> Select[Any]:
    """Pairs of the same row number and the same item. Where there is no second row, its score is NULL.

    It is looked up for each first row, not joined: before PostgreSQL has counted a table it takes it for empty, and
    joins by trying each row with each.
    """
    outcome, other_outcome = _OUTCOMES[change]
    other = scores.alias("other")
    rows = select(other.c.score).where(
        other.c.run_seq == second.seq,
        other.c.criterion == criteria[1],
        other.c.outcome == other_outcome,
        other.c.item_hash == scores.c.item_hash,
    )
    second_score = only_at(scores.c.idx, rows, other.c.idx)
    return select(
        scores.c.idx.label("first_idx"),
        scores.c.idx.label("second_idx"),
        scores.c.score.label("first_score"),
        second_score.scalar_subquery().label("second_score"),
    ).where(scores.c.run_seq == first.seq, scores.c.criterion == criteria[0], scores.c.outcome == outcome)


def _by_item(first: Run, second: Run, criteria: tuple[int, int], change: Change) -> Select[Any]:
    """Pairs of the same item, from one sorted list of both runs' rows."""
    sides = [
        select(
            literal(side).label("side"),
            scores.c.idx,
            scores.c.outcome,
            scores.c.score,
            scores.c.item_hash,
            func.row_number().over(partition_by=scores.c.item_hash, order_by=scores.c.idx).label("nth"),
        ).where(scores.c.run_seq == run.seq, scores.c.criterion == criterion)
        for side, (run, criterion) in enumerate(zip((first, second), criteria, strict=True))
    ]
    rows = union_all(*sides).subquery()

    def of(side: int, name: str) -> Any:
        return func.max(case((rows.c.side == side, rows.c[name])))

    outcome, other_outcome = _OUTCOMES[change]
    return (
        select(
            of(0, "idx").label("first_idx"),
            of(1, "idx").label("second_idx"),
            of(0, "score").label("first_score"),
            of(1, "score").label("second_score"),
        )
        .group_by(rows.c.item_hash, rows.c.nth)
        .having(and_(of(0, "outcome") == outcome, of(1, "outcome") == other_outcome))
    )


_PAIRS = {"row": _by_row, "item": _by_item}


async def _graded(connection: AsyncConnection, run: Run, criterion: int) -> int:
    graded = and_(scores.c.run_seq == run.seq, scores.c.criterion == criterion, scores.c.outcome.in_(GRADED))
    return await connection.scalar(select(func.count()).select_from(scores).where(graded)) or 0


async def _totals(
    connection: AsyncConnection,
    matched_by: MatchedBy,
    first: Run,
    second: Run,
    criteria: tuple[int, int],
    scale: Scale,
) -> PairTotals:
    totals = {}
    for change in _OUTCOMES:
        # With an offset it is worked out once, and not again wherever one of its columns is named.
        pairs = _PAIRS[matched_by](first, second, criteria, change).offset(0).subquery()
        one, other = scale.down(pairs.c.first_score), scale.down(pairs.c.second_score)
        sums = select(func.count(), func.sum(one), func.sum(other), func.sum((other - one) * (other - one)))
        row = (await connection.execute(sums.where(pairs.c.second_score.is_not(None)))).one()
        totals[change] = [value or 0 for value in row]
    n, one_sum, other_sum, squares = (math.fsum(column) for column in zip(*totals.values(), strict=True))
    mean_first, mean_second = one_sum / max(n, 1), other_sum / max(n, 1)
    difference = mean_second - mean_first
    return PairTotals.of(
        matched_by,
        both_passed=totals["passed"][0],
        only_first=totals["lost"][0],
        only_second=totals["gained"][0],
        both_failed=totals["failed"][0],
        mean_first=mean_first,
        mean_second=mean_second,
        squares=max(0.0, squares - n * difference * difference),
        unit=scale.unit,
    )


def _read_key(row: str) -> tuple[Change, int] | None:
    name, _, digits = row.partition("_")
    idx = read_index(digits)
    changes: dict[str, Change] = {change: change for change in _OUTCOMES}
    return None if idx is None or name not in changes else (changes[name], idx)
