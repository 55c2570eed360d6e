"""Evals: what is to be graded and by which criteria."""

from typing import get_args

from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.eval_calls import delete_eval, eval_wire, new_eval, read_metadata, read_name, warnings_about
from fairmark.refusals import not_found
from fairmark.serving.lists import read_query
from fairmark.serving.named import named_eval
from fairmark.serving.wire import answer, page, project, read_object, state
from fairmark.store.evals.evals import OrderBy

ORDERED_BY: tuple[OrderBy, ...] = get_args(OrderBy)


async def create(request: Request) -> Response:
    shared = state(request)
    owner = project(request)
    eval_ = await new_eval(shared.store, shared.registry, owner, await read_object(request))
    warnings = await warnings_about(eval_, shared.registry, owner)
    return answer({**eval_wire(eval_), **({"warnings": warnings} if warnings else {})}, 201)


async def retrieve(request: Request) -> Response:
    return answer(eval_wire(await named_eval(request)))


async def update(request: Request) -> Response:
    body = await read_object(request)
    name: str | UnsetType = (read_name(body) or "") if "name" in body else UNSET
    metadata: dict[str, str] | UnsetType = (read_metadata(body) or {}) if "metadata" in body else UNSET
    eval_id = request.path_params["eval_id"]
    updated = await state(request).store.evals.update(project(request), eval_id, name=name, metadata=metadata)
    if updated is None:
        raise not_found("eval", eval_id)
    return answer(eval_wire(updated))


async def delete(request: Request) -> Response:
    shared, eval_ = state(request), await named_eval(request)
    await delete_eval(shared.store, shared.engine, project(request), eval_)
    return answer({"object": "eval.deleted", "deleted": True, "eval_id": eval_.id})


async def list_(request: Request) -> Response:
    query = read_query(request, limit=20, order="asc")
    order_by = query.choice("order_by", ORDERED_BY, "created_at")
    store = state(request).store
    evals = await store.evals.list(project(request), query.limit, query.after, query.order, order_by, query.before)
    return page([(eval_.id, eval_wire(eval_)) for eval_ in evals.data], evals.has_more)
