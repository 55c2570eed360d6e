"""Reward against gold: the runs of an eval as the steps of a training, planned, asked and shown as a curve of both."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.checks.check_calls import cancel_check, delete_check, find_check
from fairmark.checks.report_calls import PlannedReport, begin_report, plan_report
from fairmark.checks.requests import MOST_RUNS
from fairmark.checks.steps import completed_runs
from fairmark.errors import ApiError
from fairmark.refusals import invalid, not_found
from fairmark.serving.named import named_eval
from fairmark.serving.wire import key_id, project, state
from fairmark.store import Eval, StoredCheck
from fairmark.trust import figures
from fairmark.trust.gold import ITEMS
from fairmark.web.evals.charting import pass_rate
from fairmark.web.frame import render, uploads
from fairmark.web.frame.checkpages import (
    HISTORY,
    PlanForm,
    drawn,
    find_report,
    plan_form,
    progress_part,
    read_form,
    read_numbers,
    report_file,
)
from fairmark.web.frame.show import short
from fairmark.web.frame.visit import redirect

_NUMBERS = ("items", "tokens", "dollars")
_TEXTS = ("criterion", "gold", "file_id", "grader", *_NUMBERS)


async def show(request: Request) -> Response:
    filled = {**dict.fromkeys(_TEXTS, ""), "gold": "labels", "items": str(ITEMS)}
    return await _page(request, await named_eval(request), PlanForm(filled, None))


async def plan(request: Request) -> Response:
    """What the form asks for, and what it would take."""
    eval_ = await named_eval(request)
    asked = read_form(request, _TEXTS, "runs")
    planned = await plan_form(request, asked, partial(_plan, request, eval_), beside_file={"gold": "labels"})
    return await _page(request, eval_, planned)


async def start(request: Request) -> Response:
    eval_ = await named_eval(request)
    asked = read_form(request, _TEXTS, "runs")
    shared = state(request)
    try:
        planned = await _plan(request, eval_, asked)
        report = await begin_report(shared.store, shared.checks, project(request), planned, key_id(request))
    except ApiError as error:
        return await _page(request, eval_, asked._replace(wrong=error))
    return redirect(f"/evals/{eval_.id}/gold/{report.id}")


async def detail(request: Request) -> Response:
    """One report: the page, or the part of it that changes."""
    eval_, check = await _named(request)
    part = progress_part(request, "evals/gold-report.html", check)
    if part is not None:
        return part
    report = await find_report(request, check)
    return render.page(
        request,
        "evals/gold-report.html",
        eval=eval_,
        check=check,
        report=report,
        path=f"/evals/{eval_.id}/gold/{check.id}",
        curve=None if report is None else drawn(figures.reward_and_gold(report)),
        signs=[] if report is None else list(dict.fromkeys(name for step in report["steps"] for name in step["signs"])),
        gaps=[] if report is None else [_gap(gap) for gap in report["largest_gaps"]],
    )


async def report(request: Request) -> Response:
    _, check = await _named(request)
    return await report_file(request, check, "reward-against-gold")


async def cancel(request: Request) -> Response:
    eval_, check = await _named(request)
    await cancel_check(state(request).store, state(request).checks, check)
    return redirect(f"/evals/{eval_.id}/gold/{check.id}")


async def delete(request: Request) -> Response:
    eval_, check = await _named(request)
    await delete_check(state(request).store, state(request).checks, check)
    return redirect(f"/evals/{eval_.id}/gold", "The report is deleted.")


async def _page(request: Request, eval_: Eval, asked: PlanForm[PlannedReport]) -> Response:
    shared = state(request)
    runs = await completed_runs(shared.store, eval_, MOST_RUNS)
    listed = await shared.store.checks.list(project(request), "hacking_report", HISTORY, eval_id=eval_.id)
    graders = await shared.store.graders.all(project(request))
    return render.page(
        request,
        "evals/gold.html",
        asked.status,
        eval=eval_,
        name=eval_.name or eval_.id,
        path=f"/evals/{eval_.id}/gold",
        runs=[(run, pass_rate(run)) for run in runs],
        chosen=[run.id for run in runs] if asked.chosen is None else asked.chosen,
        criteria=[(criterion["id"], short(criterion["name"], 60)) for criterion in eval_.criteria],
        graders=[(grader.key, f"{short(grader.name, 60)} ({grader.key})") for grader in graders],
        files=await uploads.choices(request),
        reports=listed.data,
        **asked.shown(),
    )


async def _plan(request: Request, eval_: Eval, asked: PlanForm[PlannedReport]) -> PlannedReport:
    """Raises ApiError."""
    shared = state(request)
    filled = asked.filled
    body: dict[str, Any] = {"eval_id": eval_.id, "runs": asked.chosen, "criterion": filled["criterion"] or None}
    if filled["gold"] == "grader":
        if not filled["grader"]:
            raise invalid("Choose the grader whose judgement is gold.", "grader")
        body["gold"] = {"grader": {"type": "registered", "key": filled["grader"]}}
    elif filled["gold"] == "labels":
        if not filled["file_id"]:
            raise invalid("Choose a file of what people said of the answers, or a gold grader.", "file_id")
        body["gold"] = {"file_id": filled["file_id"]}
    numbers = read_numbers(filled, _NUMBERS)
    body["items"] = numbers.pop("items", None)
    if numbers:
        body["budget"] = numbers
    return await plan_report(shared.store, shared.registry, shared.checks, project(request), body)


async def _named(request: Request) -> tuple[Eval, StoredCheck]:
    eval_ = await named_eval(request)
    report_id = request.path_params["report_id"]
    check = await find_check(state(request).store, project(request), report_id, "hacking_report")
    if check.eval_id != eval_.id:
        raise not_found("hacking report", report_id)
    return eval_, check


def _gap(gap: dict[str, Any]) -> dict[str, Any]:
    return {**gap, "text": short(gap["text"], 500), "item": short(jsontext.write(gap["item"]), 300)}
