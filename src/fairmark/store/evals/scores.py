"""What each criterion made of each item of a run: written with the items, read by what sorts, sums and compares."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Integer, Select, bindparam, case, cast, func, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.outcomes import ERROR, FAIL, GRADED, OUTCOMES, PASS, SKIP
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import scores
from fairmark.store.evals.runs import Run

STATUSES = {PASS: (PASS, FAIL, ERROR, SKIP), FAIL: (FAIL, ERROR, SKIP), ERROR: (ERROR,), SKIP: (ERROR, SKIP)}
"""Which status an item may have that has this outcome by one criterion. Its status is its worst outcome: an error is
worse than a skip, and that than a failure."""

MOST_BINS = 1000
_ROWS_A_PAGE = 50_000

_COLUMNS = ("criterion", "outcome", "idx", "status", "score", "item_hash")
# As for items: the quick way into each of the two databases.
_INSERT_ROWS = f"INSERT INTO scores (run_seq, {', '.join(_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_INSERT_COLUMNS = text(
    f"INSERT INTO scores (run_seq, {', '.join(_COLUMNS)}) "  # noqa: S608  # names of ours
    f"SELECT :run_seq, * FROM unnest({', '.join(f':{name}' for name in _COLUMNS)})"
).bindparams(
    bindparam("run_seq", type_=scores.c.run_seq.type),
    *(bindparam(name, type_=ARRAY(scores.c[name].type)) for name in _COLUMNS),
)


class CriterionScore(NamedTuple):
    """What one criterion made of one item."""

    outcome: str
    """pass, fail, error or skip."""
    score: float


class Bin(msgspec.Struct, frozen=True):
    """Scores from `low` up to `high`, which belongs to the next bin; the last one holds its `high` too."""

    low: float
    high: float
    passed: int
    failed: int


class Histogram(msgspec.Struct, frozen=True):
    """How the scores of what a criterion graded are spread. Without any, `count` is 0 and there are no bins."""

    count: int
    mean: float
    min: float
    max: float
    bins: list[Bin]


_EMPTY = Histogram(0, 0.0, 0.0, 0.0, [])


class Scores:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def graded(self, run: Run, criterion: int, outcome: int, after: int = -1) -> list[tuple[int, int, float]]:
        """Rows of this outcome, by number, from the one after on: number, hash of the item, score. Empty at the end."""
        query = select(scores.c.idx, scores.c.item_hash, scores.c.score).where(
            scores.c.run_seq == run.seq,
            scores.c.criterion == criterion,
            scores.c.outcome == outcome,
            scores.c.idx > after,
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(scores.c.idx).limit(_ROWS_A_PAGE))
            return [(row.idx, row.item_hash, row.score) for row in rows]

    @uninterrupted
    async def histogram(self, run: Run, criterion: int, bins: int = 20) -> Histogram:
        """Over 0 to 1 where every score lies in there, else from the least to the greatest.

        Scores that are all the same are one bin. Errors and skips are no scores.
        """
        graded = (scores.c.run_seq == run.seq, scores.c.criterion == criterion, scores.c.outcome.in_(GRADED))
        bins = min(max(bins, 1), MOST_BINS)
        async with self._database.read() as connection:
            low, high = await score_range(connection, run, criterion)
            if low is None or high is None:
                return _EMPTY
            edges = _edges(low, high, bins)
            scale = Scale.of(edges[0], edges[-1])
            score = scale.down(scores.c.score)
            start, end = edges[0] / scale.unit, edges[-1] / scale.unit
            place = self._whole((score - start) / (end - start) * bins) if end > start else literal(0)
            by_bin = select(place.label("place"), scores.c.outcome, func.count(), func.sum(score)).where(*graded)
            counted = (await connection.execute(by_bin.group_by("place", scores.c.outcome))).all()
        counts = [[0, 0] for _ in edges[1:]]
        for at, outcome, number, _ in counted:
            counts[min(at, len(counts) - 1)][outcome] += number
        made = [Bin(edges[at], edges[at + 1], passed, failed) for at, (passed, failed) in enumerate(counts)]
        count = sum(number for _, _, number, _ in counted)
        mean = math.fsum(total for *_, total in counted) / count * scale.unit
        # The mean of equal numbers may be a hair beside them.
        return Histogram(count, min(max(mean, low), high), low, high, made)

    def _whole(self, number: Any) -> Any:
        # A cast cuts in SQLite and rounds in PostgreSQL; SQLite may have no floor().
        return cast(number if self._database.is_sqlite else func.floor(number), Integer)


class ItemScores(NamedTuple):
    """What all criteria made of one item."""

    idx: int
    status: str
    scores: Sequence[CriterionScore | None]
    item_hash: int


async def insert(connection: AsyncConnection, is_sqlite: bool, run_seq: int, new: Sequence[ItemScores]) -> None:
    """Within a transaction."""
    rows = [
        (criterion, OUTCOMES.index(made.outcome), item.idx, OUTCOMES.index(item.status), made.score, item.item_hash)
        for item in new
        for criterion, made in enumerate(item.scores)
        if made is not None
    ]
    if not rows:
        return
    if is_sqlite:
        await connection.exec_driver_sql(_INSERT_ROWS, [(run_seq, *row) for row in rows])
    else:
        columns = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        await connection.execute(_INSERT_COLUMNS, {"run_seq": run_seq, **columns})


def only_at(idx: ColumnElement[int], rows: Select[Any], column: ColumnElement[int]) -> Select[Any]:
    """The one of an outcome's rows that has this index, looked up by the key.

    It is in the key's order, and not said to be equal, because the other index has the same columns: taken for this,
    it would be read from end to end each time.
    """
    return rows.where(column >= idx, column <= idx).order_by(column).limit(1)


async def score_range(connection: AsyncConnection, run: Run, criterion: int) -> tuple[float, float] | tuple[None, None]:
    """The least and the greatest score of what was graded, by a look at each end of each part of the index."""
    ends = [
        select(end(scores.c.score))
        .where(scores.c.run_seq == run.seq, scores.c.criterion == criterion)
        .where(scores.c.outcome == outcome, scores.c.status == status)
        .scalar_subquery()
        for end in (func.min, func.max)
        for outcome in GRADED
        for status in STATUSES[outcome]
    ]
    bounds = [end for end in (await connection.execute(select(*ends))).one() if end is not None]
    return (min(bounds), max(bounds)) if bounds else (None, None)


class Scale(NamedTuple):
    """What scores are divided by before they are added or squared: 1, but for very large or very small ones.

    PostgreSQL fails where a number leaves the range of its type, at either end, and a grader may well answer 1e308.
    """

    unit: float

    @classmethod
    def of(cls, *numbers: float) -> "Scale":
        """The one for scores whose least and greatest are among these numbers."""
        largest = max(map(abs, numbers), default=0.0)
        return cls(1.0 if largest == 0 or 1e-50 < largest < 1e100 else largest)

    def down(self, score: ColumnElement[float]) -> ColumnElement[float]:
        """What is nothing beside the largest score becomes 0: its square would be out of range too."""
        return case((func.abs(score) > self.unit * 1e-100, score / self.unit), else_=0.0)


def _edges(low: float, high: float, bins: int) -> list[float]:
    if low == high:
        return [low, high]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    return [low * (1 - at / bins) + high * (at / bins) for at in range(bins + 1)]
