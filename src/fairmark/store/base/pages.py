"""Pages of a list: by position, so that the last page is as fast as the first and an insert shifts none."""

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Row, Select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.errors import UnknownCursor

PAGE_BYTES = 32_000_000
"""A page of bodies ends behind so many bytes, however many entries were asked for: it has one at least."""
Order = Literal["asc", "desc"]
Record = TypeVar("Record")


class Page(msgspec.Struct, Generic[Record], frozen=True):
    data: list[Record]
    has_more: bool
    """Behind the last entry; or in front of the first, where the page was asked for by `before` alone."""


class Span(NamedTuple):
    """A part of a list, between two positions of which neither belongs to it."""

    after: int | None = None
    before: int | None = None

    @property
    def backward(self) -> bool:
        """Whether the page is the end of the span, and not its start."""
        return self.before is not None and self.after is None

    def part_of(self, positions: Sequence[int], limit: int, order: Order) -> Sequence[int]:
        """Of ascending positions those that a page of the span can show: so many from its start, or from its end."""
        low, high = (self.after, self.before) if order == "asc" else (self.before, self.after)
        start = 0 if low is None else bisect_right(positions, low)
        end = len(positions) if high is None else bisect_left(positions, high)
        if (order == "asc") != self.backward:
            return positions[start : min(end, start + limit)]
        return positions[max(start, end - limit) : end]


async def read_span(after: str | None, before: str | None, find: Callable[[str], Awaitable[int | None]]) -> Span:
    """The span between two ids. `find` tells the position of one. Raises UnknownCursor."""
    positions: list[int | None] = []
    for name, id_ in (("after", after), ("before", before)):
        position = None if id_ is None else await find(id_)
        if id_ is not None and position is None:
            raise UnknownCursor(id_, name)
        positions.append(position)
    return Span(*positions)


def page_query(query: Select[Any], position: ColumnElement[int], span: Span, limit: int, order: Order) -> Select[Any]:
    """The rows of a span, as many as a page has, and one more, which tells whether there are more."""
    ascending = order == "asc"
    if span.after is not None:
        query = query.where(position > span.after if ascending else position < span.after)
    if span.before is not None:
        query = query.where(position < span.before if ascending else position > span.before)
    return query.order_by(position.asc() if ascending != span.backward else position.desc()).limit(limit + 1)


def make_page(rows: Sequence[Row[Any]], span: Span, limit: int, record: Callable[..., Record]) -> Page[Record]:
    """The page of what `page_query` found, in the order of the list."""
    records = [record(*row) for row in rows[:limit]]
    return Page(records[::-1] if span.backward else records, len(rows) > limit)


async def bounded_page(
    connection: AsyncConnection,
    query: Select[Any],
    position: ColumnElement[int],
    size: ColumnElement[int],
    span: Span,
    limit: int,
    order: Order,
    record: Callable[..., Record],
) -> Page[Record]:
    """The page of a list whose entries may be megabytes each. `size`: how many bytes one has, which is asked first, so
    that no more of them are in memory than a page holds."""
    sizes: Any = query.with_only_columns(position, size)
    sized = page_query(sizes, position, span, limit, order)
    while True:
        found = (await connection.execute(sized)).all()
        fit = _fitting([in_bytes for _, in_bytes in found[:limit]])
        places = [place for place, _ in found[:fit]]
        shown = query.where(position.in_(places)).order_by(position.asc() if order == "asc" else position.desc())
        rows = (await connection.execute(shown)).all() if fit else []
        # Where all of them went away just now, an empty page would be taken for the end of the list.
        if rows or not fit:
            return Page([record(*row) for row in rows], len(found) > fit)


def _fitting(sizes: Sequence[int]) -> int:
    """How many of them a page has room for."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if count and total > PAGE_BYTES:
            return count
    return len(sizes)
