"""Two runs of an eval side by side: what differs for each criterion, how sure that is, and which rows flipped."""

import math
from collections import OrderedDict
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.data import intervals
from fairmark.errors import InvalidCursor
from fairmark.refusals import invalid, not_found
from fairmark.serving.named import named_eval
from fairmark.serving.wire import project, state
from fairmark.store import Eval, Run
from fairmark.store.comparison import Change, Pair, Totals
from fairmark.web.evals.detail import pass_rate, share
from fairmark.web.frame import render, show
from fairmark.web.frame.visit import redirect
from fairmark.web.runs.difference import TextDifference, compare
from fairmark.web.runs.outputs import said_in

RUNS_OFFERED = 200
PAIRS_SHOWN = 10
LONGEST_TEXT = 4_000
"""Of each sample; the row's own page has all of it."""
LONGEST_FIELD = 600
FIELDS_SHOWN = 8
TOTALS_REMEMBERED = 500
SIGNIFICANT = 0.05
CHANGES: tuple[Change, ...] = get_args(Change)
MOVED = "moved"
"""Rows whose rewards differ, whether or not they flipped."""
_BAR, _BAR_HEIGHT = 160, 20


class Verdict(NamedTuple):
    """What can be said about one criterion."""

    number: int
    """Its place among the eval's criteria."""
    name: str
    kind: str
    n: int
    """Rows that both runs graded."""
    first_rate: float | None
    second_rate: float | None
    difference: float | None
    """Of the pass rates, second less first; None where one of them is not known."""
    low: float
    high: float
    words: str
    tone: str
    """pass, fail, or nothing."""
    bar: Markup
    gained: int
    lost: int
    rewards: str
    """What the mean rewards add to that; empty where they say the same."""
    alone: str
    """Which rows have no partner; empty where all have."""


class Side(NamedTuple):
    """One run's view of a row."""

    idx: int
    path: str
    reward: float
    passed: bool
    is_cut: bool


class Row(NamedTuple):
    """A pair as the page shows it."""

    change: Change
    fields: list[tuple[str, str]]
    more_fields: int
    first: Side
    second: Side
    said: TextDifference


async def page(request: Request) -> Response:
    eval_ = await named_eval(request)
    query = request.query_params
    offered = (await state(request).store.history.page(eval_.seq, RUNS_OFFERED)).runs
    if picked := query.getlist("run"):
        return _see(eval_, await _in_order(request, eval_, picked))
    if len(offered) < 2:
        return render.page(request, "runs/compare-none.html", eval=eval_, runs=len(offered))
    if not query.get("a") or not query.get("b"):
        return _see(eval_, _missing_side(offered, query.get("a", ""), query.get("b", "")))
    first, second = await _find(request, eval_, query["a"]), await _find(request, eval_, query["b"])
    chosen, change = _criterion(eval_, query.get("criterion", "")), _change(query.get("change", ""))
    totals = [await _totals(request, first, second, index) for index in range(len(eval_.criteria))]
    verdicts = _verdicts(eval_, first, second, totals)
    try:
        found = await state(request).store.comparison.rows(
            first,
            second,
            (chosen, chosen),
            totals[chosen].matched_by,
            None if change == MOVED else change,
            query.get("at") or None,
            PAIRS_SHOWN,
            only_moved=change == MOVED,
        )
    except InvalidCursor as error:
        raise invalid(str(error), "at") from None

    def address(**changes: str | int | None) -> str:
        """This page with something chosen otherwise, of which the first rows are shown."""
        asked = {"a": first.id, "b": second.id, "criterion": chosen or None, "change": change, **changes}
        return f"/evals/{eval_.id}/compare?{urlencode({name: each for name, each in asked.items() if each})}"

    return render.page(
        request,
        "runs/compare.html",
        eval=eval_,
        first=first,
        second=second,
        runs=[each for each in (first, second) if each.id not in {run.id for run in offered}] + offered,
        verdicts=verdicts,
        chosen=chosen,
        change=change,
        totals=totals[chosen],
        rows=[_row(eval_, first, second, pair) for pair in found.data],
        address=address,
        previous=f"{address(at=found.previous)}#rows" if found.previous else "",
        next=f"{address(at=found.next)}#rows" if found.next else "",
        rate=pass_rate,
    )


def _see(eval_: Eval, sides: tuple[str, str]) -> Response:
    return redirect(f"/evals/{eval_.id}/compare?{urlencode({'a': sides[0], 'b': sides[1]})}")


async def _in_order(request: Request, eval_: Eval, picked: list[str]) -> tuple[str, str]:
    """Two runs that were ticked, the older one first."""
    if len(picked) != 2:
        raise invalid(f"Found {show.plural(len(picked), 'run')}. Choose two runs to compare.", "run")
    runs = sorted([await _find(request, eval_, each) for each in picked], key=lambda run: run.seq)
    return runs[0].id, runs[1].id


def _missing_side(offered: list[Run], first: str, second: str) -> tuple[str, str]:
    """The two newest runs, or the newest that is not the one that was named."""
    others = [run.id for run in offered if run.id not in (first, second)]
    if first:
        return first, others[0]
    return (others[0] if second else others[1]), second or others[0]


async def _find(request: Request, eval_: Eval, run_id: str) -> Run:
    found = await state(request).store.runs.get(project(request), eval_.id, run_id, with_source=False)
    if found is None:
        raise not_found("run", run_id)
    return found


def _criterion(eval_: Eval, given: str) -> int:
    if not given:
        return 0
    if not given.isascii() or not given.isdecimal() or len(given) > 6 or int(given) >= len(eval_.criteria):
        most = len(eval_.criteria) - 1
        raise invalid(f"criterion: found {jsontext.quote(given)}. It takes a number from 0 to {most}.", "criterion")
    return int(given)


def _change(given: str) -> Any:
    if given and given not in (*CHANGES, MOVED):
        allowed = ", ".join((*CHANGES, MOVED))
        raise invalid(f"change: found {jsontext.quote(given)}. Use one of: {allowed}.", "change")
    return given or None


_remembered: OrderedDict[tuple[str, str, int], Totals] = OrderedDict()
"""The last ones of runs that have ended: of long runs they take a second, and every page of rows needs them."""


async def _totals(request: Request, first: Run, second: Run, index: int) -> Totals:
    key = (first.id, second.id, index)
    known = _remembered.get(key)
    if known is None:
        known = await state(request).store.comparison.totals(first, second, (index, index))
        if not {first.status, second.status} & {"queued", "in_progress"}:
            _remembered[key] = known
            while len(_remembered) > TOTALS_REMEMBERED:
                _remembered.popitem(last=False)
    return known


def _verdicts(eval_: Eval, first: Run, second: Run, totals: list[Totals]) -> list[Verdict]:
    found = [
        _verdict(index, criterion, _graded(first, criterion), _graded(second, criterion), totals[index])
        for index, criterion in enumerate(eval_.criteria)
    ]
    ends = [abs(end) for each in found if each.difference is not None for end in (each.low, each.high)]
    scale = min(1.0, max([0.05, *ends]))
    return [
        each if each.difference is None else each._replace(bar=_bar(each.difference, each.low, each.high, scale))
        for each in found
    ]


def _verdict(
    index: int, criterion: dict[str, Any], first: tuple[int, int], second: tuple[int, int], totals: Totals
) -> Verdict:
    n = totals.n
    first_rate, second_rate = share(*first), share(*second)
    if n:
        first_rate, second_rate = ((totals.both_passed + only) / n for only in (totals.only_first, totals.only_second))
        measured = _paired(totals)
    else:
        measured = intervals.two_proportions(first[0], sum(first), second[0], sum(second))
    known = first_rate is not None and second_rate is not None
    words, tone = _words(measured, totals, known)
    return Verdict(
        index,
        criterion["name"],
        criterion["type"],
        n,
        first_rate,
        second_rate,
        measured.mean if known else None,
        max(-1.0, measured.low),
        min(1.0, measured.high),
        words,
        tone,
        Markup(""),
        totals.only_second,
        totals.only_first,
        _rewards(totals, first_rate, second_rate),
        _alone(sum(first) - n, sum(second) - n) if n else "",
    )


def _paired(totals: Totals) -> intervals.Difference:
    """The difference of the pass rates over the same rows, with the test that looks at flipped rows only."""
    n, gained, lost = totals.n, totals.only_second, totals.only_first
    mean = (gained - lost) / n
    spread = math.sqrt(max(0.0, (gained + lost) - n * mean * mean) / (n - 1)) if n > 1 else 0.0
    measured = intervals.paired_difference(n, mean, spread)
    return measured._replace(p=intervals.mcnemar(lost, gained))


def _words(measured: intervals.Difference, totals: Totals, is_known: bool) -> tuple[str, str]:
    if not is_known:
        return "Not graded in both runs, so that nothing can be said.", ""
    if measured.p < SIGNIFICANT:
        better = measured.mean > 0
        return f"B is {'better' if better else 'worse'}, {_p(measured.p)}", "pass" if better else "fail"
    if totals.n and not totals.only_first and not totals.only_second:
        return "The same on every row.", ""
    if totals.n:
        return f"No difference that {show.plural(totals.n, 'row')} could show, {_p(measured.p)}", ""
    return f"No difference that this many rows could show, {_p(measured.p)}", ""


def _rewards(totals: Totals, first_rate: float | None, second_rate: float | None) -> str:
    """Rewards of 0 and 1 say what the pass rates say already."""
    if totals.n < 2 or (
        math.isclose(totals.mean_first, first_rate or 0, abs_tol=1e-9)
        and math.isclose(totals.mean_second, second_rate or 0, abs_tol=1e-9)
    ):
        return ""
    measured = intervals.paired_difference(totals.n, totals.mean_difference, totals.sd_difference)
    means = f"Mean reward {show.reward(totals.mean_first)} and {show.reward(totals.mean_second)}"
    sure = f"a difference, {_p(measured.p)}" if measured.p < SIGNIFICANT else f"no sure difference, {_p(measured.p)}"
    return f"{means}: {sure}"


def _alone(first: int, second: int) -> str:
    told = [f"{show.plural(count, 'row')} of {side}" for count, side in ((first, "A"), (second, "B")) if count > 0]
    return f"{' and '.join(told)} without a partner" if told else ""


def _p(p: float) -> str:
    """On one line, whatever happens to the words around."""
    told = "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    return told.replace(" ", "\N{NO-BREAK SPACE}")


def _bar(mean: float, low: float, high: float, scale: float) -> Markup:
    """Where the difference lies, and where it may lie, around nothing in the middle."""

    def x(value: float) -> float:
        return _BAR / 2 + (_BAR / 2 - 4) * max(-1.0, min(1.0, value / scale))

    middle = _BAR_HEIGHT / 2
    tone = "up" if low > 0 else "down" if high < 0 else "open"
    return Markup(
        '<svg class="whisker whisker--{}" viewBox="0 0 {} {}" aria-hidden="true">'
        '<line class="whisker__zero" x1="{:.1f}" x2="{:.1f}" y1="1" y2="{}"/>'
        '<line class="whisker__range" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>'
        '<circle class="whisker__mean" cx="{:.1f}" cy="{}" r="4"/></svg>'
    ).format(
        tone, _BAR, _BAR_HEIGHT, _BAR / 2, _BAR / 2, _BAR_HEIGHT - 1, x(low), x(high), middle, middle, x(mean), middle
    )


def _row(eval_: Eval, first: Run, second: Run, pair: Pair) -> Row:
    one, other = jsontext.decode(pair.first.body), jsontext.decode(pair.second.body)
    fields = list(one["datasource_item"].items())
    texts = [said_in(body["sample"]) for body in (one, other)]
    sides = [
        Side(
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
    return Row(
        pair.change,
        [(jsontext.shorten(name, 80), show.compact(value, LONGEST_FIELD)) for name, value in fields[:FIELDS_SHOWN]],
        max(0, len(fields) - FIELDS_SHOWN),
        sides[0],
        sides[1],
        compare(texts[0][:LONGEST_TEXT], texts[1][:LONGEST_TEXT]),
    )


def _graded(run: Run, criterion: dict[str, Any]) -> tuple[int, int]:
    """How many rows passed and failed."""
    passed, failed, *_ = run.criteria_counts.get(criterion["id"], (0, 0))
    return passed, failed
