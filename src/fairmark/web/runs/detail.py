"""The page of a run: how far it is, how it went, criterion by criterion and row by row. `report_url` leads here."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.criteria import DEFAULT_THRESHOLD, load_criteria
from fairmark.evals.run_calls import cancel_run, delete_run, errs_much, told
from fairmark.refusals import invalid
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import project, state
from fairmark.store import Eval, InvalidCursor, Run, View, reason_key
from fairmark.store.scores import Histogram
from fairmark.web.evals.criteria import Word, checks
from fairmark.web.frame import render, show
from fairmark.web.frame.visit import is_partial, redirect
from fairmark.web.runs import outputs, view
from fairmark.web.runs.distribution import Rate, distribution, rate
from fairmark.web.runs.progress import ACTIVE, Progress, live

ROWS_SHOWN = 50
BARS = 20
RUNS_LOOKED_AT = 20
"""How far back another run is looked for, to compare with."""
PLOTS_KEPT = 512
PLOTS_WITHIN_S = 0.15
"""The page does not wait longer for them: of many rows they are asked for once it is there."""


class Card(NamedTuple):
    """A criterion on the page of a run."""

    number: int
    id: str
    name: str
    kind: str
    checks: list[Word]
    passed: int
    failed: int
    errored: int
    skipped: int
    threshold: float
    registered: list[dict[str, Any]]
    broken: str | None
    grader: dict[str, Any]
    rate: Rate | None
    mean: float | None
    plot: Markup | None
    """None where it takes longer than the page can wait."""


class Reason(NamedTuple):
    """Why rows could not be graded."""

    text: str
    rows: int
    key: str


async def page(request: Request) -> Response:
    """The whole page, or for HTMX the rows or the criteria alone."""
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    criteria = run.criteria or eval_.criteria
    chosen = view.read(request)
    is_active = run.status in ACTIVE
    part = request.headers.get("hx-target") if is_partial(request) else None
    if part == "results":
        return render.part(request, "runs/detail.html", part, **await _rows(request, run, criteria, chosen))
    if part == "criteria":
        cards = await _cards(request, run, criteria)
        return render.part(request, "runs/detail.html", part, cards=cards, is_active=is_active, path=path_of(run))
    rows, cards, other = await asyncio.gather(
        _rows(request, run, criteria, chosen),
        _cards(request, run, criteria, PLOTS_WITHIN_S),
        _other_run(request, eval_, run),
    )
    return render.page(
        request,
        "runs/detail.html",
        eval=eval_,
        title=run.name or run.id,
        is_active=is_active,
        live=Markup(live(Progress(run))),  # noqa: S704  # a template's
        cards=cards,
        late=any(each.plot is None for each in cards),
        usage=sorted(run.usage.items()),
        left_out=left_out(run),
        reasons=[Reason(text, count, str(reason_key(text))) for text, count in told(run.reasons)],
        warnings=told(run.warnings),
        errs_much=errs_much(run),
        other=other,
        **rows,
    )


async def cancel(request: Request) -> Response:
    run = await named_run(request, with_source=False)
    await cancel_run(state(request).store, state(request).engine, project(request), run)
    said = "The run is canceled. What was graded is kept." if run.status in ACTIVE else "The run had already ended."
    return redirect(path_of(run), said)


async def delete(request: Request) -> Response:
    run = await named_run(request, with_source=False)
    await delete_run(state(request).store, state(request).engine, project(request), run)
    return redirect(f"/evals/{run.eval_id}", f"The run “{show.short(run.name or run.id, 60)}” is deleted.")


def path_of(run: Run) -> str:
    return f"/evals/{run.eval_id}/runs/{run.id}"


def left_out(run: Run) -> str:
    """Why rows were skipped, as far as the run itself tells; empty where none was."""
    if not run.skipped:
        return ""
    budget, deadline = run.options.get("budget") or {}, run.options.get("deadline_s")
    limits = []
    if "dollars" in budget:
        limits.append(f"a budget of {show.money(budget['dollars'])}")
    if "tokens" in budget:
        limits.append(f"a budget of {show.number(budget['tokens'])} tokens")
    if deadline is not None:
        limits.append(f"a deadline of {show.duration(deadline)}")
    count = show.plural(run.skipped, "row was", "rows were")
    if not limits:
        return f"{count} skipped: a criterion had nothing to say about it. Each row's page tells why."
    named = limits[0] if len(limits) == 1 else f"{', '.join(limits[:-1])} and {limits[-1]}"
    return f"{count} skipped. The run had {named}; what came after was left out. Each row's page tells why."


async def _rows(request: Request, run: Run, criteria: Sequence[dict[str, Any]], chosen: view.Chosen) -> dict[str, Any]:
    store, path = state(request).store, path_of(run)
    wanted = chosen.view(len(criteria))
    try:
        found = await store.rows.page(run, wanted, chosen.at or None, ROWS_SHOWN)
    except InvalidCursor as error:
        raise invalid(str(error), "at") from None
    ids = [each["id"] for each in criteria]
    return {
        "run": run,
        "path": path,
        "chosen": chosen,
        "criteria": [each["name"] for each in criteria],
        "rows": await asyncio.to_thread(lambda: [outputs.brief(each, ids) for each in found.data]),
        "count": await _count(request, run, ids, wanted),
        "unfinished": found.unfinished,
        "previous": chosen.address(path, at=found.previous) if found.previous else "",
        "next": chosen.address(path, at=found.next) if found.next else "",
        "sorts": _sorts(chosen, path, len(criteria)),
    }


async def _count(request: Request, run: Run, ids: Sequence[str], wanted: View) -> int | None:
    """How many rows a choice has; None where only reading them would tell."""
    if wanted.criterion is None or wanted.outcome is None or wanted.text:
        return await state(request).store.rows.count(run, wanted)
    if wanted.status is not None:
        return None
    return run.criteria_counts.get(ids[wanted.criterion], [0] * 4)[view.OUTCOMES.index(wanted.outcome)]


def _sorts(chosen: view.Chosen, path: str, criteria: int) -> list[dict[str, str]]:
    """Of each column that can be sorted by, the rows' own order first: how it is now, and what a click does."""
    found = []
    for number in range(criteria + 1):
        up, down = (str(number), f"-{number}") if number else ("", "-row")
        now = {up: "ascending", down: "descending"}.get(chosen.sort, "none")
        # Rewards: the worst rows are what people look for first.
        found.append({"now": now, "to": chosen.address(path, sort=down if now == "ascending" else up)})
    return found


async def _cards(
    request: Request, run: Run, criteria: Sequence[dict[str, Any]], wait_s: float | None = None
) -> list[Card]:
    """With the plots that are there after a while; without `wait_s`, with all of them."""
    plots = [_plot(request, run, index, each["id"]) for index, each in enumerate(criteria)]
    late: set[asyncio.Task[Histogram]] = (await asyncio.wait(plots, timeout=wait_s))[1] if plots else set()
    cards = []
    for index, (loaded, plot) in enumerate(zip(load_criteria(criteria), plots, strict=True)):
        histogram = None if plot in late else plot.result()
        passed, failed, errored, skipped = run.criteria_counts.get(loaded.id, [0] * 4)
        threshold = loaded.spec.threshold if loaded.spec is not None else None
        threshold = DEFAULT_THRESHOLD if threshold is None else threshold
        grader = {name: value for name, value in criteria[index].items() if name != "id"}
        cards.append(
            Card(
                number=index + 1,
                id=loaded.id,
                name=loaded.name,
                kind=loaded.type,
                checks=list(checks(grader)),
                passed=passed,
                failed=failed,
                errored=errored,
                skipped=skipped,
                threshold=threshold,
                registered=loaded.spec.registered if loaded.spec is not None else [],
                broken=loaded.broken,
                grader=outputs.Room().fit(grader),
                rate=rate(passed, failed),
                mean=histogram.mean if histogram is not None and histogram.count else None,
                plot=None if histogram is None else distribution(histogram, threshold),
            )
        )
    return cards


_plots: OrderedDict[tuple[str, int, tuple[int, ...]], asyncio.Task[Histogram]] = OrderedDict()
"""The last ones, some still to come. A criterion whose counters have not moved has graded no other row."""


def _plot(request: Request, run: Run, criterion: int, criterion_id: str) -> asyncio.Task[Histogram]:
    key = (run.id, criterion, tuple(run.criteria_counts.get(criterion_id, ())))
    found = _plots.get(key)
    if found is None or (found.done() and (found.cancelled() or found.exception() is not None)):
        found = asyncio.create_task(state(request).store.scores.histogram(run, criterion, BARS))
        _plots[key] = found
        while len(_plots) > PLOTS_KEPT:
            _plots.popitem(last=False)
    return found


async def _other_run(request: Request, eval_: Eval, run: Run) -> str:
    """Which run to compare with first: the one before, or else the latest; empty where there is none."""
    recent = (await state(request).store.recent.of([eval_.seq], RUNS_LOOKED_AT)).get(eval_.seq)
    ids = [each.id for each in recent.runs] if recent is not None else []
    before = ids[: ids.index(run.id)] if run.id in ids else ids
    others = before or [each for each in ids if each != run.id]
    return others[-1] if others else ""
