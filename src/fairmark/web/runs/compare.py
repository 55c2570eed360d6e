"""Up to six runs of an eval, each against the first: what differs by criterion, how sure it is, which rows flipped."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.data.warnings import Counted
from fairmark.errors import InvalidCursor
from fairmark.evals.foreign import readable
from fairmark.outcomes import PairTotals
from fairmark.refusals import invalid, not_found
from fairmark.serving.named import named_eval
from fairmark.serving.wire import project, state
from fairmark.store import Eval, Run, shared_criteria
from fairmark.store.views.comparison import Change, DataSet, Pair
from fairmark.web.evals.charting import charted, pass_rate, seconds_a_row
from fairmark.web.frame import render, show
from fairmark.web.frame.visit import redirect
from fairmark.web.runs.difference import TextDifference, compare
from fairmark.web.runs.histograms import histogram
from fairmark.web.runs.outputs import said_in
from fairmark.web.runs.sameness import data_differ, graders_differ
from fairmark.web.runs.verdicts import Beside, CriterionVerdict, told

LETTERS = "abcdef"
"""What the runs are called in the address; the first is the one that the others are compared with."""
RUNS_OFFERED = 200
PAIRS_SHOWN = 10
LONGEST_TEXT = 4_000
"""Of each sample; the row's own page has all of it."""
LONGEST_FIELD = 600
FIELDS_SHOWN = 8
TOTALS_REMEMBERED = 500
CHANGES: tuple[Change, ...] = get_args(Change)
MOVED = "moved"
"""Rows whose rewards differ, whether or not they flipped."""


class RowOfRun(NamedTuple):
    """One run's view of a row."""

    idx: int
    path: str
    reward: float
    passed: bool
    is_cut: bool


class ShownPair(NamedTuple):
    """A pair as the page shows it."""

    change: Change
    fields: list[tuple[str, str]]
    more_fields: int
    first: RowOfRun
    second: RowOfRun
    said: TextDifference


async def page(request: Request) -> Response:
    eval_ = await named_eval(request)
    query = request.query_params
    offered = (await state(request).store.history.page(eval_.seq, RUNS_OFFERED)).runs
    if picked := query.getlist("run"):
        return _see(eval_, await _in_order(request, eval_, picked))
    if len(offered) < 2:
        return render.page(request, "runs/compare-none.html", eval=eval_, runs=len(offered))
    named = [query.get(letter, "") for letter in LETTERS]
    if not named[0] or not named[1]:
        further = [run_id for run_id in named[2:] if run_id]
        return _see(eval_, [*_missing_side(offered, named[0], named[1] or next(iter(further), "")), *further[1:]])
    runs = [await _find(request, eval_, run_id) for run_id in named if run_id]
    criteria = [criteria_of(eval_, run) for run in runs]
    shared = [shared_criteria(criteria[0], other) for other in criteria[1:]]
    letters = LETTERS[: len(runs)]
    if lone := [letter.upper() for letter, pairs in zip(letters[1:], shared, strict=True) if not pairs]:
        which = "These runs have" if len(runs) == 2 else f"A and {lone[0]} have"
        raise invalid(f"{which} no criterion of the same name, so that nothing of them can be compared.", "b")
    beside = _beside(letters, query.get("with", ""))
    pairs = shared[beside - 1]
    chosen, change = _criterion(len(pairs), query.get("criterion", "")), _change(query.get("change", ""))
    others = [
        Beside(letter.upper(), run, own, pairs, [await totals_of(request, runs[0], run, pair) for pair in pairs])
        for letter, run, own, pairs in zip(letters[1:], runs[1:], criteria[1:], shared, strict=True)
    ]
    verdicts = told(runs[0], criteria[0], others)
    totals = others[beside - 1].totals[chosen]
    try:
        rows = await state(request).store.comparison.rows(
            runs[0],
            runs[beside],
            pairs[chosen],
            totals.matched_by,
            None if change == MOVED else change,
            query.get("at") or None,
            PAIRS_SHOWN,
            only_moved=change == MOVED,
        )
    except InvalidCursor as error:
        raise invalid(str(error), "at") from None

    by_age = sorted({run.id: run for run in runs}.values(), key=lambda run: run.seq)
    address = _Address(eval_.id, runs, letters[beside] if beside > 1 else None, chosen or None, change)
    return render.page(
        request,
        "runs/compare.html",
        eval=eval_,
        first=runs[0],
        second=runs[beside],
        letter=letters[beside].upper(),
        sides=[(letter.upper(), letter, run) for letter, run in zip(letters, runs, strict=True)],
        free=LETTERS[len(runs)] if len(runs) < len(LETTERS) else "",
        runs=[run for run in runs if run.id not in {run.id for run in offered}] + offered,
        table=_table(criteria[0], others, verdicts),
        facts=_facts(runs),
        notes=await _notes(request, runs, criteria),
        chart=charted(eval_, by_age, await _means(request, runs, criteria)),
        verdicts=verdicts[beside - 1],
        beside=beside,
        chosen=chosen,
        change=change,
        totals=totals,
        rows=[_row(eval_, runs[0], runs[beside], pair) for pair in rows.data],
        address=address,
        previous=f"{address(at=rows.previous)}#rows" if rows.previous else "",
        next=f"{address(at=rows.next)}#rows" if rows.next else "",
        rate=pass_rate,
    )


_ANEW: dict[str, str | int | None] = {"with": None, "criterion": None, "change": None}
"""Nothing chosen below: what was chosen was of other runs."""


class _Address(NamedTuple):
    """Of this page, and of those that it leads to."""

    eval_id: str
    runs: Sequence[Run]
    beside: str | None
    criterion: int | None
    change: str | None

    def __call__(self, **changes: str | int | None) -> str:
        """With something chosen otherwise, of which the first rows are shown."""
        return self._of(self.runs, changes)

    def without(self, place: int) -> str:
        return self._of([run for at, run in enumerate(self.runs) if at != place], _ANEW)

    def based_on(self, place: int) -> str:
        """With another baseline, the rest in their order."""
        rest = [run for at, run in enumerate(self.runs) if at != place]
        return self._of([self.runs[place], *rest], _ANEW)

    def _of(self, sides: Sequence[Run], changes: Mapping[str, str | int | None]) -> str:
        asked: dict[str, str | int | None] = {letter: run.id for letter, run in zip(LETTERS, sides, strict=False)}
        asked |= {"with": self.beside, "criterion": self.criterion, "change": self.change, **changes}
        return f"/evals/{self.eval_id}/compare?{urlencode({name: value for name, value in asked.items() if value})}"


def _see(eval_: Eval, sides: Sequence[str]) -> Response:
    return redirect(f"/evals/{eval_.id}/compare?{urlencode(dict(zip(LETTERS, sides, strict=False)))}")


async def _in_order(request: Request, eval_: Eval, picked: list[str]) -> list[str]:
    """Runs that were ticked, the oldest one first: it is the baseline."""
    if not 2 <= len(picked) <= len(LETTERS):
        found = show.plural(len(picked), "run")
        raise invalid(f"Found {found}. Choose two to {len(LETTERS)} runs to compare.", "run")
    runs = [await _find(request, eval_, run_id) for run_id in picked]
    return [run.id for run in sorted(runs, key=lambda run: run.seq)]


def _missing_side(offered: list[Run], first: str, second: str) -> tuple[str, str]:
    """The two newest runs, or the newest that is not the one that was named."""
    others = [run.id for run in offered if run.id not in (first, second)]
    if first:
        return first, second or others[0]
    return (others[0] if second else others[1]), second or others[0]


def _beside(letters: str, word: str) -> int:
    """Whose rows are shown beside the baseline's."""
    if not word:
        return 1
    if len(word) != 1 or word not in letters[1:]:
        raise invalid(f"with: found {jsontext.quote(word)}. Use one of: {', '.join(letters[1:])}.", "with")
    return letters.index(word)


class CriterionRow(NamedTuple):
    """A criterion of the baseline in the table of all runs."""

    name: str
    kind: str
    rate: float | None
    """The baseline's own, of all rows that it graded."""
    cells: list[CriterionVerdict | None]
    """Of each other run; None where it has no such criterion."""


def _table(
    criteria: Sequence[dict[str, Any]], others: Sequence[Beside], verdicts: Sequence[Sequence[CriterionVerdict]]
) -> list[CriterionRow]:
    rows = []
    for place, criterion in enumerate(criteria):
        cells: list[CriterionVerdict | None] = []
        for other, of_run in zip(others, verdicts, strict=True):
            places = [one for one, _ in other.shared]
            cells.append(of_run[places.index(place)] if place in places else None)
        rates = [cell.first_rate for cell in cells if cell is not None]
        rows.append(CriterionRow(criterion["name"], criterion["type"], next(iter(rates), None), cells))
    return rows


class Fact(NamedTuple):
    """A number of each run, and by how much it is more than the baseline's."""

    name: str
    values: list[tuple[str, str]]


def _facts(runs: Sequence[Run]) -> list[Fact]:
    """What the runs took, of which no interval is known: each is one number of one run."""
    shown: list[tuple[str, list[float | None], Callable[[float | None], str]]] = [
        ("Rows not graded", [run.errored for run in runs], show.number),
        ("Cost", [run.cost for run in runs], show.money),
        ("Time a row", [seconds_a_row(run) for run in runs], show.duration),
    ]
    return [Fact(name, _against_first(values, words)) for name, values, words in shown if _is_told(values)]


def _is_told(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def _against_first(values: Sequence[float | None], words: Callable[[float | None], str]) -> list[tuple[str, str]]:
    shown = []
    for place, value in enumerate(values):
        more = None if value is None or values[0] is None else value - values[0]
        if not place or more is None:
            shown.append((words(value), ""))
            continue
        size = words(abs(more))
        sign = "±" if size == words(more * 0) else "+" if more > 0 else "−"
        shown.append((words(value), f"{sign}{size}"))
    return shown


async def _notes(request: Request, runs: Sequence[Run], criteria: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """Why a difference may come from elsewhere than the answers."""
    data = [await _data_set(request, run) for run in runs]
    notes = [
        f"{letter.upper()}: {told}"
        for letter, run in zip(LETTERS, runs, strict=False)
        for told in Counted.of(run.warnings or {}).brief()
    ]
    for place in range(1, len(runs)):
        letter = LETTERS[place].upper()
        notes += graders_differ(letter, criteria[0], criteria[place])
        notes += data_differ(letter, data[0], data[place])
        if is_active(runs[place]) or is_active(runs[0]):
            notes.append(f"{letter if is_active(runs[place]) else 'A'} goes on: what is told is of its rows so far.")
    return list(dict.fromkeys(notes))


def is_active(run: Run) -> bool:
    return run.status in ("queued", "in_progress")


_data_sets: OrderedDict[str, DataSet] = OrderedDict()
"""Of runs that have ended."""


async def _data_set(request: Request, run: Run) -> DataSet:
    known = _data_sets.get(run.id)
    if known is None:
        known = await state(request).store.comparison.data_set(run)
        if not is_active(run):
            _data_sets[run.id] = known
            while len(_data_sets) > TOTALS_REMEMBERED:
                _data_sets.popitem(last=False)
    return known


async def _means(
    request: Request, runs: Sequence[Run], criteria: Sequence[Sequence[dict[str, Any]]]
) -> dict[str, dict[str, float]]:
    """A run's id -> the mean reward of each of its criteria, by name."""
    means: dict[str, dict[str, float]] = {}
    for run, own in zip(runs, criteria, strict=True):
        spread = await asyncio.gather(*(histogram(request, run, at, one["id"]) for at, one in enumerate(own)))
        means[run.id] = {one["name"]: scores.mean for one, scores in zip(own, spread, strict=True) if scores.count}
    return means


async def _find(request: Request, eval_: Eval, run_id: str) -> Run:
    run = await state(request).store.runs.get(project(request), eval_.id, run_id, with_source=False)
    if run is None:
        raise not_found("run", run_id)
    return run


def criteria_of(eval_: Eval, run: Run) -> Sequence[dict[str, Any]]:
    """What a run is graded by: its eval's criteria, unless it has its own."""
    return run.criteria or eval_.criteria


def _criterion(count: int, text: str) -> int:
    if not text:
        return 0
    if not text.isascii() or not text.isdecimal() or len(text) > 6 or int(text) >= count:
        most = count - 1
        raise invalid(f"criterion: found {jsontext.quote(text)}. It takes a number from 0 to {most}.", "criterion")
    return int(text)


def _change(word: str) -> Any:
    if word and word not in (*CHANGES, MOVED):
        allowed = ", ".join((*CHANGES, MOVED))
        raise invalid(f"change: found {jsontext.quote(word)}. Use one of: {allowed}.", "change")
    return word or None


_remembered: OrderedDict[tuple[str, str, tuple[int, int]], PairTotals] = OrderedDict()
"""The last ones of runs that have ended: of long runs they take a second, and every page of rows needs them."""


async def totals_of(request: Request, first: Run, second: Run, pair: tuple[int, int]) -> PairTotals:
    """By a criterion of each, as `shared_criteria` pairs them."""
    key = (first.id, second.id, pair)
    known = _remembered.get(key)
    if known is None:
        known = await state(request).store.comparison.totals(first, second, pair)
        if not is_active(first) and not is_active(second):
            _remembered[key] = known
            while len(_remembered) > TOTALS_REMEMBERED:
                _remembered.popitem(last=False)
    return known


def _row(eval_: Eval, first: Run, second: Run, pair: Pair) -> ShownPair:
    one, other = readable(pair.first.body, ()), readable(pair.second.body, ())
    fields = list(one["datasource_item"].items())
    texts = [said_in(body["sample"]) for body in (one, other)]
    sides = [
        RowOfRun(
            item.idx,
            f"/evals/{eval_.id}/runs/{run.id}/rows/{item.idx}",
            reward,
            pair.change in passing,
            len(text) > LONGEST_TEXT,
        )
        for run, item, reward, passing, text in (
            (first, pair.first, pair.first_score, ("lost", "passed"), texts[0]),
            (second, pair.second, pair.second_score, ("gained", "passed"), texts[1]),
        )
    ]
    return ShownPair(
        pair.change,
        [(jsontext.shorten(name, 80), show.compact(value, LONGEST_FIELD)) for name, value in fields[:FIELDS_SHOWN]],
        max(0, len(fields) - FIELDS_SHOWN),
        sides[0],
        sides[1],
        compare(texts[0][:LONGEST_TEXT], texts[1][:LONGEST_TEXT]),
    )
