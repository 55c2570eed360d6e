"""Imports: a hosted service, an archive on the server or an uploaded file, moved into the project that asks."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from fairmark.moving.import_calls import (
    cancel_import,
    continue_import,
    find_import,
    import_file,
    import_wire,
    new_import,
)
from fairmark.serving.importing import asking
from fairmark.serving.lists import read_query
from fairmark.serving.upload import Upload
from fairmark.serving.wire import answer, page, project, read_object, state
from fairmark.store import Import


async def create(request: Request) -> Response:
    shared, body = state(request), await read_object(request)
    made = await new_import(shared.store, shared.imports, await asking(request), body)
    return answer(import_wire(made), 201)


async def create_from_file(request: Request) -> Response:
    shared = state(request)

    async def receive(path: Path) -> tuple[str | None, dict[str, str]]:
        upload = Upload(request.headers.get("content-type", ""), path, shared.settings.max_file_mb * 1_000_000)
        await upload.receive(request.receive)
        return upload.filename, upload.fields

    return answer(import_wire(await import_file(shared.store, shared.imports, project(request), receive)), 201)


async def list_(request: Request) -> Response:
    query = read_query(request, limit=20, order="desc")
    listed = await state(request).store.imports.list(project(request), query.limit, query.after)
    return page([(import_.id, import_wire(import_, whole=False)) for import_ in listed.data], listed.has_more)


async def retrieve(request: Request) -> Response:
    return answer(import_wire(await _named(request)))


async def cancel(request: Request) -> Response:
    shared = state(request)
    return answer(import_wire(await cancel_import(shared.store, shared.imports, await _named(request))))


async def continue_(request: Request) -> Response:
    shared = state(request)
    started = await continue_import(shared.store, shared.imports, await asking(request), await _named(request))
    return answer(import_wire(started))


async def _named(request: Request) -> Import:
    return await find_import(state(request).store, project(request), request.path_params["import_id"])
