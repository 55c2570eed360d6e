"""The tab Judge of a registered grader: how far it can be trusted, a check planned before anything is asked, its
progress, its report, and those before it."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from fairmark.checks.check_calls import (
    PlannedCheck,
    begin_check,
    cancel_check,
    delete_check,
    find_check,
    plan_check,
)
from fairmark.checks.standing import mark_of
from fairmark.errors import ApiError
from fairmark.refusals import invalid, not_found
from fairmark.serving.wire import key_id, project, state
from fairmark.store import Grader, StoredCheck
from fairmark.trust import figures
from fairmark.trust.probes import PROBES
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
from fairmark.web.frame.visit import redirect
from fairmark.web.graders.registered import about, address, find

_NUMBERS = ("max_calls", "tokens", "dollars")
_TEXTS = ("file_id", "reference", "question", "pair_labels", *_NUMBERS)


async def show(request: Request) -> Response:
    """The tab. `?file_id=…` and the other fields fill in the form, so that a check can be made again."""
    filled = {name: request.query_params.get(name, "") for name in _TEXTS}
    chosen = [probe for probe in request.query_params.getlist("probes") if probe in PROBES]
    return await _page(request, await find(request), PlanForm(filled, chosen or None))


async def plan(request: Request) -> Response:
    """What the form asks for, and what it would take."""
    grader = await find(request)
    asked = read_form(request, _TEXTS, "probes")
    return await _page(request, grader, await plan_form(request, asked, partial(_plan, request, grader)))


async def start(request: Request) -> Response:
    grader = await find(request)
    asked = read_form(request, _TEXTS, "probes")
    shared = state(request)
    try:
        planned = await _plan(request, grader, asked)
        check = await begin_check(shared.store, shared.checks, project(request), planned, key_id(request))
    except ApiError as error:
        return await _page(request, grader, asked._replace(wrong=error))
    return redirect(f"{address(grader)}/judge/{check.id}")


async def detail(request: Request) -> Response:
    """One check: the page, or the part of it that changes."""
    grader, check = await _named(request)
    part = progress_part(request, "graders/check.html", check)
    if part is not None:
        return part
    report = await find_report(request, check)
    return render.page(
        request,
        "graders/check.html",
        **await about(request, grader),
        check=check,
        report=report,
        path=f"{address(grader)}/judge/{check.id}",
        again=_again(grader, check),
        is_current=report is not None and check.fingerprint == await _current(request, grader),
        **({} if report is None else _figures(report)),
    )


async def report(request: Request) -> Response:
    grader, check = await _named(request)
    return await report_file(request, check, grader.key)


async def cancel(request: Request) -> Response:
    grader, check = await _named(request)
    await cancel_check(state(request).store, state(request).checks, check)
    return redirect(f"{address(grader)}/judge/{check.id}")


async def delete(request: Request) -> Response:
    grader, check = await _named(request)
    await delete_check(state(request).store, state(request).checks, check)
    return redirect(f"{address(grader)}/judge", "The check is deleted.")


async def _page(request: Request, grader: Grader, asked: PlanForm[PlannedCheck]) -> Response:
    shown = await about(request, grader)
    if shown["standing"] is None:
        raise ApiError(404, "This grader asks no model: there is no judge to check.", code="not_found")
    listed = await state(request).store.checks.list(project(request), "judge_check", HISTORY, grader_id=grader.id)
    return render.page(
        request,
        "graders/judge.html",
        asked.status,
        **shown,
        checks=listed.data,
        files=await uploads.choices(request),
        chosen=list(PROBES) if asked.chosen is None else asked.chosen,
        probes=[(probe.name, probe.finds) for probe in PROBES.values() if probe.name != "base"],
        **asked.shown(),
    )


async def _plan(request: Request, grader: Grader, asked: PlanForm[PlannedCheck]) -> PlannedCheck:
    """Raises ApiError."""
    filled, chosen = asked.filled, asked.chosen or []
    if not filled["file_id"]:
        raise invalid("Choose a file of rows that people have judged.", "file_id")
    shared = state(request)
    body: dict[str, Any] = {
        "grader": {"type": "registered", "key": grader.key, "version": grader.version},
        "file_id": filled["file_id"],
        "probes": None if set(chosen) >= set(PROBES) - {"base"} else chosen,
    }
    body |= {name: filled[name] for name in ("reference", "question") if filled[name]}
    if filled["pair_labels"]:
        body["pair_labels"] = [label.strip() for label in filled["pair_labels"].split(",")]
    numbers = read_numbers(filled, _NUMBERS)
    if "max_calls" in numbers:
        body["max_calls"] = numbers.pop("max_calls")
    if numbers:
        body["budget"] = numbers
    return await plan_check(shared.store, shared.registry, shared.checks, project(request), body)


async def _named(request: Request) -> tuple[Grader, StoredCheck]:
    grader = await find(request)
    check = await find_check(state(request).store, project(request), request.path_params["check_id"])
    if check.grader_id != grader.id:
        raise not_found("judge check", check.id)
    return grader, check


async def _current(request: Request, grader: Grader) -> str | None:
    """The fingerprint of the grader as it is now."""
    return await mark_of(state(request).registry, project(request), grader)


def _again(grader: Grader, check: StoredCheck) -> str:
    """Where the same check is asked for once more; empty where its rows were not in a file."""
    asked = check.request
    if asked.get("file_id") is None:
        return ""
    query: list[tuple[str, Any]] = [("file_id", asked["file_id"])]
    query += [("probes", probe) for probe in asked.get("probes") or ()]
    query += [(name, value) for name, value in asked["places"].items() if name in _TEXTS]
    query += [("max_calls", asked["max_calls"])] if asked.get("max_calls") else []
    query += [(name, value) for name, value in asked["budget"].items()]
    return f"{address(grader)}/judge?{urlencode(query)}"


def _figures(report: dict[str, Any]) -> dict[str, Any]:
    agreement, probes = figures.agreement(report), figures.probes(report)
    return {
        "agreement": None if agreement is None else drawn(agreement),
        "scores": [drawn(figure) for figure in figures.scores(report)],
        "probe_figure": None if probes is None else drawn(probes),
    }
