"""The list of reinforcement jobs, and one of them: how it stands, its curves, what it told, what it made."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError, UnknownCursor
from fairmark.finetuning.job_calls import cancel_job, find_job, job_wire, pause_job
from fairmark.serving.wire import project, state
from fairmark.store import Job
from fairmark.store.jobs.entries import Entry
from fairmark.web.frame import render
from fairmark.web.frame.visit import is_partial, redirect
from fairmark.web.jobs.curves import read_points

SHOWN = 25
EVENTS = 30
CHECKPOINTS = 10
STEPS = 8


async def list_(request: Request) -> Response:
    store, owner = state(request).store, project(request)
    after = request.query_params.get("after") or None
    try:
        page = await store.jobs.list(owner, SHOWN, after)
    except UnknownCursor:
        return redirect("/jobs")
    return render.page(
        request,
        "jobs/listing.html",
        jobs=[_line(job) for job in page.data],
        models=sorted(await store.leases.models(owner)),
        first="/jobs" if after else "",
        next=f"/jobs?after={page.data[-1].id}" if page.has_more else "",
    )


async def show(request: Request) -> Response:
    """The page, or the part of it that changes. Where there is no more to come, the page is loaded anew."""
    job = await _named(request)
    store = state(request).store
    events = (await store.jobs.events(job, EVENTS)).data
    checkpoints = (await store.jobs.checkpoints(job, CHECKPOINTS)).data
    wire = job_wire(job)
    reinforcement = _reinforcement(wire)
    context: dict[str, Any] = {
        "job": job,
        "wire": wire,
        "path": f"/jobs/{job.id}",
        "is_active": job.is_active,
        "name": _name(wire),
        "grader": reinforcement.get("grader"),
        "hyperparameters": _object(reinforcement.get("hyperparameters")),
        "error": _object(wire.get("error")),
        "events": await asyncio.to_thread(_decoded, events),
        "steps": await asyncio.to_thread(lambda: list(read_points(events))[::-1][:STEPS]),
        "checkpoints": await asyncio.to_thread(_decoded, checkpoints),
        "has_worker": wire.get("model") in await store.leases.models(job.project),
    }
    if is_partial(request):
        if request.query_params.get("part") == "steps":
            return render.part(request, "jobs/detail.html", "steps_told", **context)
        part = render.part(request, "jobs/detail.html", "live", **context)
        if not job.is_active or request.query_params.get("paused") != str(job.paused):
            part.headers["hx-refresh"] = "true"
        return part
    return render.page(request, "jobs/detail.html", **context)


async def cancel(request: Request) -> Response:
    shared, job = state(request), await _named(request)
    await cancel_job(shared.store, shared.engine, shared.jobs, job)
    return redirect(f"/jobs/{job.id}")


async def pause(request: Request) -> Response:
    return await _pause(request, True)


async def resume(request: Request) -> Response:
    return await _pause(request, False)


async def _pause(request: Request, paused: bool) -> Response:
    shared, job = state(request), await _named(request)
    try:
        await pause_job(shared.store, shared.jobs, job, paused)
    except ApiError as error:
        return redirect(f"/jobs/{job.id}", error.message)
    return redirect(f"/jobs/{job.id}")


async def _named(request: Request) -> Job:
    return await find_job(state(request).store, project(request), request.path_params["job_id"])


def _line(job: Job) -> dict[str, Any]:
    wire = job_wire(job)
    grader = _object(_reinforcement(wire).get("grader"))
    return {"wire": wire, "job": job, "name": _name(wire), "grader": grader.get("name")}


def _name(wire: dict[str, Any]) -> str:
    suffix = wire.get("user_provided_suffix")
    return f"{wire.get('model') or wire['id']}{f' · {suffix}' if suffix else ''}"


def _reinforcement(wire: dict[str, Any]) -> dict[str, Any]:
    """What the method of a reinforcement job says; of others, made elsewhere, nothing."""
    return _object(_object(wire.get("method")).get("reinforcement"))


def _decoded(entries: list[Entry]) -> list[dict[str, Any]]:
    """What is no object, of jobs that were made elsewhere, is left out."""
    decoded = [jsontext.decode(entry.body) for entry in entries]
    return [entry for entry in decoded if isinstance(entry, dict)]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
