"""Runs of an eval, and their output items. Creating one only stores it; the engine works it off."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.run_calls import ITEM_STATUSES, STATUSES, cancel_run, delete_run, new_run, run_wire
from fairmark.refusals import not_found
from fairmark.serving.lists import read_query
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import answer, base_url, page, project, read_object, state


async def create(request: Request) -> Response:
    shared, eval_ = state(request), await named_eval(request)
    body = await read_object(request)
    run = await new_run(shared.store, shared.registry, shared.engine, project(request), eval_, body)
    return answer(run_wire(run, base_url(request)), 201)


async def retrieve(request: Request) -> Response:
    return answer(run_wire(await named_run(request), base_url(request)))


async def cancel(request: Request) -> Response:
    """By both paths; the body, where there is one, is not looked at. A run that has ended stays as it is."""
    shared = state(request)
    run = await cancel_run(shared.store, shared.engine, project(request), await named_run(request))
    return answer(run_wire(run, base_url(request)))


async def delete(request: Request) -> Response:
    shared, run = state(request), await named_run(request)
    await delete_run(shared.store, shared.engine, project(request), run)
    return answer({"object": "eval.run.deleted", "deleted": True, "run_id": run.id})


async def list_(request: Request) -> Response:
    eval_ = await named_eval(request)
    query = read_query(request, limit=20, order="asc")
    status = query.choice("status", STATUSES, "completed") if query.params.get("status") else None
    store, base = state(request).store, base_url(request)
    found = await store.runs.list(
        project(request), eval_.id, query.limit, query.after, query.order, status, query.before
    )
    return page([(run.id, run_wire(run, base)) for run in found.data], found.has_more)


async def list_items(request: Request) -> Response:
    run = await named_run(request, with_source=False)
    query = read_query(request, limit=20, order="asc")
    status = None
    if query.params.get("status"):
        status = ITEM_STATUSES[query.choice("status", tuple(ITEM_STATUSES), "pass")]
    found = await state(request).store.items.list(run, query.limit, query.after, query.order, status, query.before)
    return page([(item.id, msgspec.Raw(item.body)) for item in found.data], found.has_more)


async def retrieve_item(request: Request) -> Response:
    run = await named_run(request, with_source=False)
    item_id = request.path_params["output_item_id"]
    item = await state(request).store.items.get(run, item_id)
    if item is None:
        raise not_found("output item", item_id)
    return answer(msgspec.Raw(item.body))
