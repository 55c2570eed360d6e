"""Pages of a list: by position, so that the last page is as fast as the first and an insert shifts none."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Row, Select

from fairmark import jsontext
from fairmark.errors import FairmarkError

Order = Literal["asc", "desc"]
Record = TypeVar("Record")


class UnknownCursor(FairmarkError, ValueError):
    """`after` names nothing in this list."""

    def __init__(self, after: str) -> None:
        super().__init__(f"after: there is no {jsontext.quote(after)} in this list. Use the id of the last entry seen.")


class Page(msgspec.Struct, Generic[Record], frozen=True):
    data: list[Record]
    has_more: bool


def page_query(
    query: Select[Any], position: ColumnElement[int], after: int | None, limit: int, order: Order
) -> Select[Any]:
    """The rows behind a position, and one more, which tells whether there are more."""
    if after is not None:
        query = query.where(position > after if order == "asc" else position < after)
    return query.order_by(position.asc() if order == "asc" else position.desc()).limit(limit + 1)


def make_page(rows: Sequence[Row[Any]], limit: int, record: Callable[..., Record]) -> Page[Record]:
    return Page([record(*row) for row in rows[:limit]], len(rows) > limit)
