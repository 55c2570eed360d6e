"""What the query of a list says: how many, after or before which, in which order."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar, get_args

from starlette.datastructures import QueryParams
from starlette.requests import Request

from fairmark import jsontext
from fairmark.refusals import invalid
from fairmark.store.base.pages import Order

Word = TypeVar("Word", bound=str)
MOST = 100
"""How many entries a list gives at once, but for the list of files."""
ORDERS: tuple[Order, ...] = get_args(Order)


class Query(NamedTuple):
    limit: int
    after: str | None
    before: str | None
    order: Order
    params: QueryParams

    def choice(self, name: str, allowed: Sequence[Word], default: Word) -> Word:
        return _choice(self.params, name, allowed, default)


def read_query(request: Request, *, limit: int, most: int = MOST, order: Order) -> Query:
    """The query of a list with these defaults. Raises ApiError."""
    params = request.query_params
    text = params.get("limit")
    if text:
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= most or len(text) > 9:
            raise invalid(f"limit: found {jsontext.quote(text)}. It takes a number from 1 to {most}.", "limit")
        limit = int(text)
    after, before = params.get("after") or None, params.get("before") or None
    return Query(limit, after, before, _choice(params, "order", ORDERS, order), params)


def _choice(params: QueryParams, name: str, allowed: Sequence[Word], default: Word) -> Word:
    text = params.get(name) or default
    for word in allowed:
        if word == text:
            return word
    raise invalid(f"{name}: found {jsontext.quote(text)}. Use one of: {', '.join(allowed)}.", name)
