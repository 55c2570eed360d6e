"""Which rows of a run are shown, and in which order, as the address of a page says it.

    ?status=fail &criterion=2-fail &q=Paris &sort=-1 &at=after_120 &n=50
    ?where=is.language=de &where=gt.turns=3 &score=2_0.25_0.5
    ?split=any  ?split=2
    ?reason=-123456
    ?show=sample &show=item.question &show=1

Criteria are numbered from 1, in their order on the page; a minus is the other direction, `-row` the last row first.
`where` asks something of a field, several times where it stands several times; `score` is a criterion and the least
and the greatest reward. `split` are rows on which the judges of a criterion, or those of any, were not of one mind. `n`
is how many rows come before the page. A reason is why rows could not be graded, by its number in the store; it goes
with nothing else but an order. `show` names the columns of the table.
"""

import math
import re
from typing import Any, NamedTuple, get_args
from urllib.parse import quote, unquote, urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request

from fairmark import jsontext
from fairmark.refusals import invalid
from fairmark.store import InvalidView, View
from fairmark.store.views.choosing import ANY, OPERATIONS, Choice, FieldFilter, ScoreRange
from fairmark.store.views.rows import Outcome

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
LONGEST_SEARCH = 200
MOST_FILTERS = 6
MOST_COLUMNS = 40
_WHERE = re.compile(r"([a-z]+)\.([^=]+)(?:=(.*))?", re.DOTALL)


class RowChoice(NamedTuple):
    """Which rows the address asks for, each part as it stands there; empty where it says nothing."""

    status: str = ""
    criterion: str = ""
    q: str = ""
    sort: str = ""
    at: str = ""
    reason: str = ""
    where: tuple[str, ...] = ()
    score: str = ""
    n: str = ""
    split: str = ""
    show: tuple[str, ...] = ()
    """Which columns the table has: `item`, `sample`, a criterion's number, `item.` and a field; empty for the usual."""

    @property
    def is_filtered(self) -> bool:
        return bool(self.status or self.criterion or self.q or self.reason or self.where or self.score or self.split)

    @property
    def by_columns(self) -> bool:
        """Whether only the columns of a run tell which rows these are."""
        return bool(self.where or self.score or self.split or (self.status and self.criterion))

    @property
    def before(self) -> int:
        """How many rows come before the page, as far as the address tells."""
        return int(self.n) if re.fullmatch("[0-9]{1,9}", self.n) else 0

    def address(self, path: str, **changes: Any) -> str:
        """The path with this choice, or with a changed one, of which the first page is shown."""
        chosen = self._replace(**{"at": "", "n": "", **changes}) if changes else self
        query = {name: value for name, value in chosen._asdict().items() if value}
        return f"{path}?{urlencode(query, doseq=True)}" if query else path

    def without(self, path: str, part: str) -> str:
        """The address without one `where`."""
        return self.address(path, where=tuple(other for other in self.where if other != part))

    def view(self, criteria: int) -> View:
        """For the store, of a run of so many criteria. Raises ApiError."""
        values: dict[str, Any] = {"status": self.status or None, "text": self.q}
        if self.reason:
            if not re.fullmatch("-?[0-9]{1,19}", self.reason) or not -(2**63) <= int(self.reason) < 2**63:
                raise invalid(f"reason: found {jsontext.quote(self.reason)}. It takes a whole number.", "reason")
            values["reason"] = int(self.reason)
        if self.criterion:
            number, _, values["outcome"] = self.criterion.partition("-")
            values["criterion"] = index("criterion", number, criteria)
        if self.sort:
            values["descending"] = self.sort.startswith("-")
            key = self.sort.removeprefix("-")
            values["sort"] = None if key == "row" else index("sort", key, criteria)
        try:
            return View(**values)
        except InvalidView as error:
            raise invalid(str(error)) from None

    def choice(self, criteria: int) -> Choice:
        """For the columns of such a run. Raises ApiError."""
        if self.reason:
            raise invalid("reason: it chooses by itself. Leave out where, score and split.", "reason")
        split = ANY if self.split == "any" else index("split", self.split, criteria) if self.split else None
        return Choice(self.view(criteria), tuple(map(read_where, self.where)), _score(self.score, criteria), split)


def read(request: Request) -> RowChoice:
    query = request.query_params
    return RowChoice(
        query.get("status", ""),
        query.get("criterion", ""),
        query.get("q", "").strip()[:LONGEST_SEARCH],
        query.get("sort", ""),
        query.get("at", ""),
        query.get("reason", ""),
        _wheres(query),
        query.get("score", "") or _entered_score(query),
        query.get("n", ""),
        query.get("split", ""),
        tuple(dict.fromkeys(filter(None, query.getlist("show"))))[:MOST_COLUMNS],
    )


def write_where(field: str, operation: str, value: str = "") -> str:
    return f"{operation}.{quote(field, safe=' .,-_/')}{f'={value}' if value else ''}"


def read_where(text: str) -> FieldFilter:
    """Raises ApiError."""
    parts = _WHERE.fullmatch(text)
    if parts is None or parts[1] not in OPERATIONS:
        shown = jsontext.quote(text)
        raise invalid(
            f"where: found {shown}. It takes is.field=value; others than is: {', '.join(OPERATIONS)}.", "where"
        )
    return FieldFilter(unquote(parts[2]), parts[1], parts[3] or "")


def _wheres(query: QueryParams) -> tuple[str, ...]:
    """Those in the address, and the one that a form has just asked for."""
    wheres = [text for text in query.getlist("where") if text]
    if query.get("field"):
        wheres.append(write_where(query["field"], query.get("op", "is"), query.get("value", "").strip()))
    if len(wheres) > MOST_FILTERS:
        raise invalid(f"where: found {len(wheres)} of them. It takes at most {MOST_FILTERS}.", "where")
    return tuple(dict.fromkeys(wheres))


def _entered_score(query: QueryParams) -> str:
    """The range that a form has just asked for."""
    low, high = query.get("low", "").strip(), query.get("high", "").strip()
    return f"{query.get('of', '1')}_{low}_{high}" if low or high else ""


def _score(text: str, criteria: int) -> ScoreRange | None:
    if not text:
        return None
    number, *limits = text.split("_")
    try:
        low, high = (
            float(limit) if limit else default for limit, default in zip(limits, (-math.inf, math.inf), strict=True)
        )
    except ValueError:
        low = high = math.nan
    if math.isnan(low) or math.isnan(high):
        raise invalid(
            f"score: found {jsontext.quote(text)}. It takes a criterion's number and two rewards: 1_0.2_0.5.", "score"
        )
    return ScoreRange(index("score", number, criteria), low, high)


def index(name: str, number: str, criteria: int) -> int:
    if not re.fullmatch("[1-9][0-9]{0,5}", number) or int(number) > criteria:
        allowed = f"a number from 1 to {criteria}" if criteria > 1 else "1"
        raise invalid(f"{name}: there is no criterion {jsontext.quote(number)}. Use {allowed}.", name)
    return int(number) - 1
