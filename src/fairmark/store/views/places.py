"""Places in a list that is paged both ways: between two rows, named by one of them, readable in a URL.

`after_12` is the page that begins behind row 12, `until_12` the one that ends with it, `before_12` the one that ends in
front of it, `from_12` the one that begins with it.
"""

import operator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement

from fairmark.errors import InvalidCursor

# The page on the other side of the same place.
_OPPOSITE = {"after": "until", "until": "after", "before": "from", "from": "before"}
_COMPARE = {
    (True, True): operator.ge,
    (True, False): operator.gt,
    (False, True): operator.le,
    (False, False): operator.lt,
}
MOST_ROWS = 2**31


class PagePlace(NamedTuple):
    """Where a page begins, and into which direction it goes. Without a row it is one of the ends."""

    side: str = "after"
    row: str = ""

    @property
    def backward(self) -> bool:
        return self.side in ("until", "before")

    @property
    def inclusive(self) -> bool:
        return self.side in ("until", "from")

    def beside(self, onward: str | None) -> tuple[str | None, str | None]:
        """The previous and the next page of the one that begins here, which another one follows after `onward`."""
        on = f"{'before' if self.backward else 'after'}_{onward}" if onward is not None else None
        back = f"{_OPPOSITE[self.side]}_{self.row}" if self.row else None
        return (on, back) if self.backward else (back, on)


def read_place(at: str | None) -> PagePlace:
    """None is the start of the list and "last" its end. What the row is called, the list has to know."""
    if not at:
        return PagePlace()
    if at == "last":
        return PagePlace("before")
    side, _, row = at.partition("_")
    if side not in _OPPOSITE or not row:
        raise InvalidCursor(at)
    return PagePlace(side, row)


def read_index(digits: str) -> int | None:
    """A row's index; None where these are no digits, or more than any row has."""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
        return None
    return idx if (idx := int(digits)) < MOST_ROWS else None


def beyond(column: Any, value: Any, ascending: bool, inclusive: bool) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = _COMPARE[ascending, inclusive](column, value)
    return condition
