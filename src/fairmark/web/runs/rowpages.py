"""A page of a run's rows: found by the database's own order, or among the columns of the run where fields choose."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.requests import Request

from fairmark.evals.run_calls import columns_of
from fairmark.refusals import invalid
from fairmark.serving.wire import state
from fairmark.store import InvalidCursor, InvalidView, Item, Run, View
from fairmark.store.views.choosing import ANY, OPERATIONS, choose
from fairmark.store.views.rows import Neighbours
from fairmark.web.runs import view

ROWS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class ShownPage:
    """Some rows, where they stand among all that were chosen, and the addresses of the pages beside them."""

    data: list[Item]
    count: int | None
    """How many rows the choice has; None where only reading them would tell."""
    first: int
    """The place of the first one among them, from 1."""
    unfinished: bool
    previous: str
    next: str
    last: str

    @property
    def until(self) -> int:
        return self.first + len(self.data) - 1


class ShownFilter(NamedTuple):
    """One filter in words, and the address without it."""

    words: str
    without: str


async def find(request: Request, run: Run, criteria: Sequence[dict[str, Any]], chosen: view.RowChoice) -> ShownPage:
    """Raises ApiError."""
    path = f"/evals/{run.eval_id}/runs/{run.id}"
    only = await indexes(request, run, len(criteria), chosen) if chosen.by_columns else None
    if only is not None and not chosen.q:
        return await _sliced(request, run, only, chosen, path)
    wanted, store = chosen.view(len(criteria)), state(request).store
    among = None if only is None else set(only)
    try:
        listed = await store.rows.page(run, wanted, chosen.at or None, ROWS_SHOWN, among)
    except InvalidCursor as error:
        raise invalid(str(error), "at") from None
    count = await _count(request, run, [criterion["id"] for criterion in criteria], wanted)
    before = chosen.before
    if chosen.at == "last":
        before = max(0, (count or 0) - len(listed.data))
    back, on = str(max(0, before - ROWS_SHOWN)), str(before + len(listed.data))
    return ShownPage(
        listed.data,
        count,
        before + 1,
        listed.unfinished,
        chosen.address(path, at=listed.previous, n=back) if listed.previous else "",
        chosen.address(path, at=listed.next, n=on) if listed.next else "",
        chosen.address(path, at="last") if listed.next and not chosen.q else "",
    )


async def _sliced(request: Request, run: Run, order: Sequence[int], chosen: view.RowChoice, path: str) -> ShownPage:
    """A page of rows whose order is known: `at` is how many come before it."""
    last = max(0, (len(order) - 1) // ROWS_SHOWN * ROWS_SHOWN)
    if chosen.at and not re.fullmatch("[0-9]{1,9}|last", chosen.at):
        raise invalid(f"at: found {chosen.at[:40]!r}. It takes the number of rows before the page.", "at")
    start = min(last, last if chosen.at == "last" else int(chosen.at or 0))
    data = await state(request).store.rows.at(run, order[start : start + ROWS_SHOWN])
    following = start + ROWS_SHOWN
    return ShownPage(
        data,
        len(order),
        start + 1,
        False,
        chosen.address(path, at=str(max(0, start - ROWS_SHOWN))) if start else "",
        chosen.address(path, at=str(following)) if following < len(order) else "",
        chosen.address(path, at="last") if following < len(order) else "",
    )


async def indexes(request: Request, run: Run, criteria: int, chosen: view.RowChoice) -> Sequence[int]:
    """Of all rows that were chosen, in their order. Raises ApiError."""
    choice = chosen.choice(criteria)
    choice = choice._replace(
        view=View(
            choice.view.status, choice.view.criterion, choice.view.outcome, "", choice.view.sort, choice.view.descending
        )
    )
    columns = await columns_of(state(request).store, run)
    try:
        return await asyncio.to_thread(choose, columns, choice)
    except InvalidView as error:
        raise invalid(str(error), "where") from None


async def neighbours(request: Request, run: Run, criteria: int, chosen: view.RowChoice, idx: int) -> Neighbours:
    """The rows before and after one, in the choice."""
    if not chosen.by_columns or chosen.q:
        return await state(request).store.rows.neighbours(run, chosen.view(criteria), idx)
    order = await indexes(request, run, criteria, chosen)
    place = next((place for place, other in enumerate(order) if other == idx), None)
    if place is None:
        return Neighbours(None, None)
    return Neighbours(order[place - 1] if place else None, order[place + 1] if place + 1 < len(order) else None)


def shown_filters(chosen: view.RowChoice, path: str, criteria: Sequence[str]) -> list[ShownFilter]:
    """What is asked of fields and rewards, in words."""
    shown = []
    for part in chosen.where:
        asked = view.read_where(part)
        words = f"{asked.field} {OPERATIONS[asked.operation]}{f' {asked.value}' if asked.value else ''}"
        shown.append(ShownFilter(words, chosen.without(path, part)))
    if chosen.score:
        score = chosen.choice(len(criteria)).score
        if score is not None:
            low = "" if score.low == float("-inf") else f"{score.low:g} ≤ "
            high = "" if score.high == float("inf") else f" ≤ {score.high:g}"
            shown.append(ShownFilter(f"{low}{criteria[score.criterion]}{high}", chosen.address(path, score="")))
    if chosen.split:
        split = chosen.choice(len(criteria)).split
        of = "" if split is None or split == ANY else f" of {criteria[split]}"
        shown.append(ShownFilter(f"the judges{of} split", chosen.address(path, split="")))
    return shown


async def _count(request: Request, run: Run, ids: Sequence[str], wanted: View) -> int | None:
    if wanted.criterion is None or wanted.outcome is None or wanted.text:
        return await state(request).store.rows.count(run, wanted)
    if wanted.status is not None:
        return None
    return run.criteria_counts.get(ids[wanted.criterion], [0] * 4)[view.OUTCOMES.index(wanted.outcome)]
