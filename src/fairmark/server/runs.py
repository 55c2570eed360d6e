"""Runs of an eval, and their output items. Creating one only stores it; the engine works it off."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.regrade import regrade as grade_again
from fairmark.evals.run_calls import (
    ITEM_STATUSES,
    STATUSES,
    cancel_run,
    columns_of,
    delete_run,
    new_run,
    run_wire,
)
from fairmark.longjson import LONG
from fairmark.refusals import not_found
from fairmark.serving.lists import read_query
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import (
    answer,
    base_url,
    decode_object,
    key_id,
    page,
    project,
    read_object,
    state,
    whole_body,
)
from fairmark.store import Run, View
from fairmark.store.views.choosing import ANY, Choice, choose
from fairmark.store.views.rows import Outcome


async def create(request: Request) -> Response:
    shared, eval_ = state(request), await named_eval(request)
    body = await read_object(request, rows=True)
    await shared.keeper.settled(project(request))  # it may be about what was asked just now
    run = await new_run(shared.store, shared.registry, shared.engine, project(request), eval_, body, key_id(request))
    return answer(await _shown(run, base_url(request)), 201)


async def regrade(request: Request) -> Response:
    """A body is not needed: without one the criteria stay the same."""
    shared, eval_, run = state(request), await named_eval(request), await named_run(request)
    sent = await whole_body(request.receive)
    body = await asyncio.to_thread(decode_object, sent) if sent.strip() else {}
    made = await grade_again(
        shared.store, shared.registry, shared.engine, project(request), eval_, run, body, key_id(request)
    )
    return answer(await _shown(made, base_url(request)), 201)


async def retrieve(request: Request) -> Response:
    return answer(await _shown(await named_run(request), base_url(request)))


async def cancel(request: Request) -> Response:
    """By both paths; the body, where there is one, is not looked at. A run that has ended stays as it is."""
    shared = state(request)
    run = await cancel_run(shared.store, shared.engine, project(request), await named_run(request))
    return answer(await _shown(run, base_url(request)))


async def delete(request: Request) -> Response:
    shared, run = state(request), await named_run(request)
    await delete_run(shared.store, shared.engine, project(request), run)
    return answer({"object": "eval.run.deleted", "deleted": True, "run_id": run.id})


async def list_(request: Request) -> Response:
    eval_ = await named_eval(request)
    query = read_query(request, limit=20, order="asc")
    status = query.choice("status", STATUSES, "completed") if query.params.get("status") else None
    store, base = state(request).store, base_url(request)
    listed = await store.runs.list(
        project(request), eval_.id, query.limit, query.after, query.order, status, query.before
    )
    return page([(run.id, await _shown(run, base)) for run in listed.data], listed.has_more)


async def _shown(run: Run, base: str) -> dict[str, Any]:
    """One that was made elsewhere may hold all its rows."""
    if run.received is None or len(run.received) <= LONG:
        return run_wire(run, base)
    return await asyncio.to_thread(run_wire, run, base)


async def list_items(request: Request) -> Response:
    run = await named_run(request, with_source=False)
    query = read_query(request, limit=20, order="asc")
    status = None
    if query.params.get("status"):
        status = ITEM_STATUSES[query.choice("status", tuple(ITEM_STATUSES), "pass")]
    among = None
    if query.params.get("split"):
        query.choice("split", ("true",), "true")
        among = await _split_rows(request, run, status)
    listed = await state(request).store.items.list(
        run, query.limit, query.after, query.order, status, query.before, among
    )
    return page([(item.id, msgspec.Raw(item.body)) for item in listed.data], listed.has_more)


async def _split_rows(request: Request, run: Run, status: Outcome | None) -> Sequence[int]:
    """The rows on which judges were not of one mind, by index. Raises ApiError."""
    columns = await columns_of(state(request).store, run)
    return await asyncio.to_thread(choose, columns, Choice(View(status), split=ANY))


async def retrieve_item(request: Request) -> Response:
    run = await named_run(request, with_source=False)
    item_id = request.path_params["output_item_id"]
    item = await state(request).store.items.get(run, item_id)
    if item is None:
        raise not_found("output item", item_id)
    return answer(msgspec.Raw(item.body))
