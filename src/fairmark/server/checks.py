"""Judge checks and hacking reports: planned, begun, worked off in the background, and what came of them."""

from starlette.requests import Request
from starlette.responses import Response

from fairmark.checks.check_calls import (
    begin_check,
    cancel_check,
    check_wire,
    delete_check,
    find_check,
    find_page,
    plan_check,
)
from fairmark.checks.report_calls import begin_report, plan_report, report_wire
from fairmark.refusals import not_found
from fairmark.serving.lists import read_query
from fairmark.serving.wire import answer, key_id, page, project, read_object, state
from fairmark.store import StoredCheck

PAGE_HEADERS = {
    # The page brings its style along and nothing else, whatever stands in it.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
    "x-content-type-options": "nosniff",
}


async def create(request: Request) -> Response:
    shared, body = state(request), await read_object(request)
    planned = await plan_check(shared.store, shared.registry, shared.checks, project(request), body)
    if body.get("dry_run"):
        return answer(planned.wire())
    made = await begin_check(shared.store, shared.checks, project(request), planned, key_id(request))
    return answer(check_wire(made), 201)


async def list_(request: Request) -> Response:
    query = read_query(request, limit=20, order="desc")
    shared, wanted = state(request), query.params.get("grader") or None
    grader_id = None
    if wanted is not None:
        grader = await shared.store.graders.get(project(request), wanted)
        if grader is None:
            raise not_found("grader", wanted)
        grader_id = grader.id
    listed = await shared.store.checks.list(
        project(request), "judge_check", query.limit, query.after, query.order, query.before, grader_id=grader_id
    )
    return page([(check.id, check_wire(check)) for check in listed.data], listed.has_more)


async def retrieve(request: Request) -> Response:
    check = await _check(request)
    return answer(check_wire(check, await state(request).store.checks.report(check)))


async def report(request: Request) -> Response:
    return await _page(request, await _check(request))


async def cancel(request: Request) -> Response:
    shared = state(request)
    return answer(check_wire(await cancel_check(shared.store, shared.checks, await _check(request))))


async def delete(request: Request) -> Response:
    return await _delete(request, await _check(request))


async def create_report(request: Request) -> Response:
    shared, body = state(request), await read_object(request)
    planned = await plan_report(shared.store, shared.registry, shared.checks, project(request), body)
    if body.get("dry_run"):
        return answer(planned.wire())
    made = await begin_report(shared.store, shared.checks, project(request), planned, key_id(request))
    return answer(report_wire(made), 201)


async def list_reports(request: Request) -> Response:
    query = read_query(request, limit=20, order="desc")
    listed = await state(request).store.checks.list(
        project(request),
        "hacking_report",
        query.limit,
        query.after,
        query.order,
        query.before,
        eval_id=query.params.get("eval_id") or None,
    )
    return page([(check.id, report_wire(check)) for check in listed.data], listed.has_more)


async def retrieve_report(request: Request) -> Response:
    check = await _report(request)
    return answer(report_wire(check, await state(request).store.checks.report(check)))


async def report_page(request: Request) -> Response:
    return await _page(request, await _report(request))


async def cancel_report(request: Request) -> Response:
    shared = state(request)
    return answer(report_wire(await cancel_check(shared.store, shared.checks, await _report(request))))


async def delete_report(request: Request) -> Response:
    return await _delete(request, await _report(request))


async def _check(request: Request) -> StoredCheck:
    return await find_check(state(request).store, project(request), request.path_params["check_id"])


async def _report(request: Request) -> StoredCheck:
    return await find_check(state(request).store, project(request), request.path_params["report_id"], "hacking_report")


async def _page(request: Request, check: StoredCheck) -> Response:
    content = await find_page(state(request).store, check)
    return Response(content, 200, PAGE_HEADERS, "text/html")


async def _delete(request: Request, check: StoredCheck) -> Response:
    shared = state(request)
    await delete_check(shared.store, shared.checks, check)
    return answer({"object": f"{check.kind}.deleted", "deleted": True, "id": check.id})
