"""Fine-tuning jobs: reinforcement jobs, checked to the last row, graded before training, and trained where workers ask
for them. Nothing is pretended."""

import re

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from fairmark.finetuning.job_calls import cancel_job, find_job, job_wire, new_job, pause_job
from fairmark.finetuning.worker_calls import note_progress, take_job
from fairmark.refusals import invalid
from fairmark.serving.lists import read_query
from fairmark.serving.wire import answer, page, project, read_object, state
from fairmark.store import Job

_PAIR = re.compile(r"metadata\[(.*)\]", re.DOTALL)


async def create(request: Request) -> Response:
    shared = state(request)
    body = await read_object(request)
    job = await new_job(shared.store, shared.registry, shared.engine, shared.jobs, project(request), body)
    return answer(job_wire(job))


async def retrieve(request: Request) -> Response:
    return answer(job_wire(await _named(request)))


async def list_(request: Request) -> Response:
    query = read_query(request, limit=20, order="desc")
    pairs, without = _metadata(query.params)
    jobs = state(request).store.jobs
    listed = await jobs.list(project(request), query.limit, query.after, pairs, without_metadata=without)
    return page([(job.id, job_wire(job)) for job in listed.data], listed.has_more)


async def cancel(request: Request) -> Response:
    shared = state(request)
    return answer(job_wire(await cancel_job(shared.store, shared.engine, shared.jobs, await _named(request))))


async def pause(request: Request) -> Response:
    shared = state(request)
    return answer(job_wire(await pause_job(shared.store, shared.jobs, await _named(request), True)))


async def resume(request: Request) -> Response:
    shared = state(request)
    return answer(job_wire(await pause_job(shared.store, shared.jobs, await _named(request), False)))


async def take(request: Request) -> Response:
    """For workers."""
    return answer(await take_job(state(request).store, project(request), await read_object(request)))


async def progress(request: Request) -> Response:
    """For workers."""
    body = await read_object(request)
    return answer(job_wire(await note_progress(state(request).store, await _named(request), body)))


async def list_events(request: Request) -> Response:
    job = await _named(request)
    query = read_query(request, limit=20, order="desc")
    events = await state(request).store.jobs.events(job, query.limit, query.after)
    return page([(event.id, msgspec.Raw(event.body)) for event in events.data], events.has_more)


async def list_checkpoints(request: Request) -> Response:
    job = await _named(request)
    query = read_query(request, limit=10, order="desc")
    checkpoints = await state(request).store.jobs.checkpoints(job, query.limit, query.after)
    return page(
        [(checkpoint.id, msgspec.Raw(checkpoint.body)) for checkpoint in checkpoints.data], checkpoints.has_more
    )


async def _named(request: Request) -> Job:
    return await find_job(state(request).store, project(request), request.path_params["fine_tuning_job_id"])


def _metadata(params: QueryParams) -> tuple[dict[str, str], bool]:
    """The pairs that are asked for; and whether those jobs are that have none."""
    pairs = {match[1]: value for name, value in params.multi_items() if (match := _PAIR.fullmatch(name))}
    plain = params.get("metadata") or None
    if plain not in (None, "null", "{}"):
        raise invalid("metadata: write metadata[key]=value, or metadata=null for jobs without any.", "metadata")
    if plain == "null" and pairs:
        raise invalid("metadata: metadata=null and metadata[key]=value exclude each other.", "metadata")
    return pairs, plain == "null"
