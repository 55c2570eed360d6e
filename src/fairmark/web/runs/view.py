"""Which rows of a run are shown, and in which order, as the address of a page says it.

    ?status=fail &criterion=2-fail &q=Paris &sort=-1 &at=after_120
    ?reason=-123456

Criteria are numbered from 1, in their order on the page; a minus is the other direction, `-row` the last row first.
A reason is why rows could not be graded, by its number in the store; it goes with no status and no criterion.
"""

import re
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

from starlette.requests import Request

from fairmark import jsontext
from fairmark.refusals import invalid
from fairmark.store import InvalidView, View
from fairmark.store.rows import Outcome

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
LONGEST_SEARCH = 200


class Chosen(NamedTuple):
    """What the address says, each as it stands there; empty where it says nothing."""

    status: str = ""
    criterion: str = ""
    q: str = ""
    sort: str = ""
    at: str = ""
    reason: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.status or self.criterion or self.q or self.reason)

    def address(self, path: str, **changes: str) -> str:
        """The path with this choice, or with a changed one, of which the first page is shown."""
        chosen = self._replace(**{"at": "", **changes}) if changes else self
        query = {name: value for name, value in chosen._asdict().items() if value}
        return f"{path}?{urlencode(query)}" if query else path

    def view(self, criteria: int) -> View:
        """For the store, of a run of so many criteria. Raises ApiError."""
        values: dict[str, Any] = {"status": self.status or None, "text": self.q}
        if self.reason:
            if not re.fullmatch("-?[0-9]{1,19}", self.reason) or not -(2**63) <= int(self.reason) < 2**63:
                raise invalid(f"reason: found {jsontext.quote(self.reason)}. It takes a whole number.", "reason")
            values["reason"] = int(self.reason)
        if self.criterion:
            number, _, values["outcome"] = self.criterion.partition("-")
            values["criterion"] = _index("criterion", number, criteria)
        if self.sort:
            values["descending"] = self.sort.startswith("-")
            key = self.sort.removeprefix("-")
            values["sort"] = None if key == "row" else _index("sort", key, criteria)
        try:
            return View(**values)
        except InvalidView as error:
            raise invalid(str(error)) from None


def read(request: Request) -> Chosen:
    given = request.query_params
    return Chosen(
        given.get("status", ""),
        given.get("criterion", ""),
        given.get("q", "").strip()[:LONGEST_SEARCH],
        given.get("sort", ""),
        given.get("at", ""),
        given.get("reason", ""),
    )


def _index(name: str, number: str, criteria: int) -> int:
    if not re.fullmatch("[1-9][0-9]{0,5}", number) or int(number) > criteria:
        allowed = f"a number from 1 to {criteria}" if criteria > 1 else "1"
        raise invalid(f"{name}: there is no criterion {jsontext.quote(number)}. Use {allowed}.", name)
    return int(number) - 1
