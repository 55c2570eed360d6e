"""What labels say of a run: how far raters and judge agree, the corrected rate, and where raters disagree."""

import asyncio
import time
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fairmark.labelling import answers, pushed, rows
from fairmark.labelling.question import criteria_of, questions
from fairmark.labelling.standing import LabelStanding, standing, with_pushed
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import state
from fairmark.store import Eval, Run
from fairmark.trust.statistics import Statistic
from fairmark.web.frame import render
from fairmark.web.runs.detail import path_of

MOST_SPLIT = 200
"""Rows on which raters disagree that are listed."""


class PushedBy(NamedTuple):
    """A custom grader that has scores of this run's rows."""

    key: str
    rows: int
    mean: float
    with_judge: str


async def page(request: Request) -> Response:
    """A page of its own; the run's page shows the part `labels-summary` of it."""
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    store = state(request).store
    standings = [await standing(store, eval_, run, ours) for ours in await rows.run_labels(store, eval_, run)]
    return render.page(
        request,
        "labels/summary.html",
        eval=eval_,
        run=run,
        path=path_of(run),
        standings=[_shown(one) for one in standings],
        pushed=await _pushed(request, eval_, run),
        most=MOST_SPLIT,
    )


class ShownStanding(NamedTuple):
    name: str
    kind: str
    criterion: str
    key: str
    """How the form that begins to label names what is asked."""
    other: str
    stands: LabelStanding
    rate: str
    between: str
    themselves: str
    with_judge: str


def _shown(stands: LabelStanding) -> ShownStanding:
    rate = ""
    if stands.rate is not None:
        told = stands.rate.rate
        rate = (
            f"judge says {told.judged:.0%}, corrected {told.rate:.0%} ({100 * told.low:.0f}–{100 * told.high:.0f}), "
            f"from {told.labels} labels"
        )
    same = stands.themselves
    return ShownStanding(
        stands.ours.question.name,
        stands.ours.subject.kind,
        stands.ours.subject.criterion,
        stands.ours.question.key,
        stands.ours.subject.other or "",
        stands,
        rate,
        "" if stands.between is None else words(stands.between),
        "" if same is None or same.value is None else f"the same again in {same.value:.0%} of {same.rows}",
        words(stands.with_judge),
    )


def words(figure: Statistic) -> str:
    """κ 0.71 (0.55 to 0.84), 60 rows; or why it is not known."""
    if figure.value is None:
        return f"not known: {figure.why}"
    sign = {"Cohen's kappa": "κ", "Spearman's rho": "ρ", "Krippendorff's alpha": "α"}.get(figure.name, figure.name)
    within = f" ({figure.interval.low:.2f} to {figure.interval.high:.2f})" if figure.interval is not None else ""
    noun = "row" if figure.rows == 1 else "rows"
    return f"{sign} {figure.value:.2f}{within}, {figure.rows} {noun}"


async def _pushed(request: Request, eval_: Eval, run: Run) -> list[PushedBy]:
    store = state(request).store
    by_grader = await pushed.of_run(store, run)
    if not by_grader:
        return []
    asked = questions(criteria_of(eval_, run))[0]
    judged = await answers.judged(store, run, asked)

    def shown() -> list[PushedBy]:
        return [
            PushedBy(
                key,
                len(scores),
                sum(score.value for score in scores.values()) / len(scores),
                words(with_pushed(judged, scores)),
            )
            for key, scores in sorted(by_grader.items())
        ]

    return await asyncio.to_thread(shown)


async def jsonl(request: Request) -> Response:
    """The run's labels as a file."""
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    asked = request.query_params
    lines = await rows.label_lines(
        state(request).store, eval_, run, asked.get("criterion") or None, asked.get("kind") or None
    )
    day = time.strftime("%Y-%m-%d", time.gmtime())
    headers = {"content-disposition": f'attachment; filename="labels-{run.id}-{day}.jsonl"'}
    content = await asyncio.to_thread(rows.encode_lines, lines)
    return Response(content, media_type="application/x-ndjson", headers=headers)
