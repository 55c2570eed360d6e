"""The page of a run: how far it is, how it went, criterion by criterion and row by row. `report_url` leads here."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.criteria import DEFAULT_THRESHOLD, grader_of, load_criteria
from fairmark.evals.run_calls import COLUMNS_WITHIN_S, cancel_run, delete_run, errs_much, told
from fairmark.graders.judging import asks_several
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import project, state
from fairmark.store import Eval, Run
from fairmark.store.views.choosing import splits
from fairmark.store.views.columns import Columns
from fairmark.web.evals.criteria import SentencePart, checks
from fairmark.web.evals.judged import JudgeStanding, judged
from fairmark.web.frame import render, show
from fairmark.web.frame.visit import is_partial, redirect
from fairmark.web.runs import outputs, rowpages, view
from fairmark.web.runs.distribution import Rate, distribution, rate
from fairmark.web.runs.histograms import histogram
from fairmark.web.runs.progress import ACTIVE, Progress, live, reasons_of
from fairmark.web.runs.regrading import agreements, judges_of

FIELDS_OFFERED = 30
ITEM_FIELD = "item."
RUNS_LOOKED_AT = 20
"""How far back another run is looked for, to compare with."""
PLOTS_WITHIN_S = 0.15
"""The page does not wait longer for them: of many rows they are asked for once it is there."""


class Card(NamedTuple):
    """A criterion on the page of a run."""

    number: int
    id: str
    name: str
    kind: str
    checks: list[SentencePart]
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
    has_jury: bool
    """Whether several judges, or several answers of one, make a grade."""
    split: int | None
    """On how many rows they were not of one mind; None where that takes longer, or the run goes on."""
    judge: JudgeStanding = JudgeStanding()


async def page(request: Request) -> Response:
    """The whole page, or for HTMX the rows or the criteria alone."""
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    criteria = run.criteria or eval_.criteria
    chosen = view.read(request)
    is_active = run.status in ACTIVE and run.imported is None
    part = request.headers.get("hx-target") if is_partial(request) else None
    if part == "results":
        return render.part(request, "runs/detail.html", part, **await _rows(request, run, criteria, chosen))
    if part == "criteria":
        cards = await _cards(request, run, criteria)
        return render.part(request, "runs/detail.html", part, cards=cards, is_active=is_active, path=path_of(run))
    rows, cards, other, old, has_labels = await asyncio.gather(
        _rows(request, run, criteria, chosen),
        _cards(request, run, criteria, PLOTS_WITHIN_S),
        _other_run(request, eval_, run),
        _old_run(request, run),
        _has_labels(request, run),
    )
    return render.page(
        request,
        "runs/detail.html",
        eval=eval_,
        title=run.name or run.id,
        is_active=is_active,
        live=Markup(live(Progress(run))),  # noqa: S704  # a template's
        cards=cards,
        late=any(card.plot is None or (card.has_jury and card.split is None and not is_active) for card in cards),
        juries=[card for card in cards if card.has_jury],
        usage=sorted(run.usage.items()),
        left_out=left_out(run),
        reasons=reasons_of(run),
        warnings=told(run.warnings),
        errs_much=errs_much(run),
        done=run.passed + run.failed + run.errored + run.skipped,
        judges=judges_of(criteria),
        old=old,
        agreements=await agreements(request, eval_, old, run) if old is not None and not is_active else [],
        other=other,
        has_labels=has_labels,
        **rows,
    )


async def _has_labels(request: Request, run: Run) -> bool:
    """Whether people, or custom graders of the project, may have something to say of its rows."""
    store = state(request).store
    if await store.labels.count(run):
        return True
    return any(grader.grader.get("type") == "custom" for grader in await store.graders.all(run.project))


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


async def _rows(
    request: Request, run: Run, criteria: Sequence[dict[str, Any]], chosen: view.RowChoice
) -> dict[str, Any]:
    path = path_of(run)
    shown = await rowpages.find(request, run, criteria, chosen)
    own = [key.removeprefix(ITEM_FIELD) for key in chosen.show if key.startswith(ITEM_FIELD)]
    rows = await asyncio.to_thread(lambda: [outputs.brief(row, criteria, own) for row in shown.data])
    fields = list(dict.fromkeys([*own, *(name for row in rows for name in row.names)]))[:FIELDS_OFFERED]
    usual = ["item", "sample", *(str(number) for number in range(1, len(criteria) + 1))]
    return {
        "own_fields": own,
        "columns": set(chosen.show or usual),
        "offered_columns": [
            ("item", "Item"),
            ("sample", "Sample"),
            *((str(number), criterion["name"]) for number, criterion in enumerate(criteria, 1)),
            *((f"{ITEM_FIELD}{name}", f"item.{name}") for name in fields),
        ],
        "run": run,
        "path": path,
        "chosen": chosen,
        "criteria": [criterion["name"] for criterion in criteria],
        "rows": rows,
        "shown": shown,
        "filters": rowpages.shown_filters(chosen, path, [criterion["name"] for criterion in criteria]),
        "sorts": _sorts(chosen, path, len(criteria)),
    }


def _sorts(chosen: view.RowChoice, path: str, criteria: int) -> list[dict[str, str]]:
    """Of each column that can be sorted by, the rows' own order first: how it is now, and what a click does."""
    sorts = []
    for number in range(criteria + 1):
        up, down = (str(number), f"-{number}") if number else ("", "-row")
        now = {up: "ascending", down: "descending"}.get(chosen.sort, "none")
        # Rewards: the worst rows are what people look for first.
        sorts.append({"now": now, "to": chosen.address(path, sort=down if now == "ascending" else up)})
    return sorts


async def _cards(
    request: Request, run: Run, criteria: Sequence[dict[str, Any]], wait_s: float | None = None
) -> list[Card]:
    """With the plots that are there after a while; without `wait_s`, with all of them."""
    plots = [histogram(request, run, index, criterion["id"]) for index, criterion in enumerate(criteria)]
    late = (await asyncio.wait(plots, timeout=wait_s))[1] if plots else set()
    loaded_criteria = load_criteria(criteria)
    juries = [loaded.spec is not None and asks_several(loaded.spec) for loaded in loaded_criteria]
    split = await _split(request, run, wait_s) if any(juries) else None
    cards = []
    judges = await judged(request, [loaded.spec for loaded in loaded_criteria])
    for index, (loaded, drawn) in enumerate(zip(loaded_criteria, plots, strict=True)):
        spread = None if drawn in late else drawn.result()
        passed, failed, errored, skipped = run.criteria_counts.get(loaded.id, [0] * 4)
        threshold = loaded.spec.threshold if loaded.spec is not None else None
        threshold = DEFAULT_THRESHOLD if threshold is None else threshold
        grader = grader_of(criteria[index])
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
                mean=spread.mean if spread is not None and spread.count else None,
                plot=None if spread is None else distribution(spread, threshold),
                has_jury=juries[index],
                split=None if split is None else sum(splits(split, index)),
                judge=judges[index],
            )
        )
    return cards


async def _split(request: Request, run: Run, wait_s: float | None) -> Columns | None:
    """The columns of a run that has ended, where rows on which judges split are counted; None where they are not there
    yet. They are read on all the same."""
    if run.status in ACTIVE and run.imported is None:
        return None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(COLUMNS_WITHIN_S if wait_s is None else wait_s):
            return await state(request).store.columns.of(run)
    return None


async def _old_run(request: Request, run: Run) -> Run | None:
    """The run whose answers it grades again; None where there is none, or none any more."""
    if run.regraded_from is None:
        return None
    runs = state(request).store.runs
    return await runs.get(project(request), run.eval_id, run.regraded_from, with_source=False)


async def _other_run(request: Request, eval_: Eval, run: Run) -> str:
    """Which run to compare with first: the one before, or else the latest; empty where there is none."""
    recent = (await state(request).store.recent.of([eval_.seq], RUNS_LOOKED_AT)).get(eval_.seq)
    ids = [recent_run.id for recent_run in recent.runs] if recent is not None else []
    if run.regraded_from in ids:
        return str(run.regraded_from)
    before = ids[: ids.index(run.id)] if run.id in ids else ids
    others = before or [run_id for run_id in ids if run_id != run.id]
    return others[-1] if others else ""
