"""The calls about imports that the API and the web page share: ask for one, continue, cancel, and how one is shown."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.moving.import_requests import Asking, ImportRequest, read_on_clash, read_request
from fairmark.moving.imports import ImportEngine, upload_path
from fairmark.refusals import check_name, invalid, missing, not_found
from fairmark.store import Import, Store, ids


async def find_import(store: Store, project: str, import_id: str) -> Import:
    """Raises ApiError where the project has none of this id."""
    import_ = await store.imports.get(project, import_id)
    if import_ is None:
        raise not_found("import", import_id)
    return import_


async def new_import(store: Store, engine: ImportEngine, asking: Asking, body: Mapping[str, Any]) -> Import:
    """The import that a body asks for, begun. Raises ApiError."""
    import_id = ids.new("import_")
    return await begin_import(store, engine, asking.project, import_id, read_request(body, asking, import_id))


async def begin_import(
    store: Store, engine: ImportEngine, project: str, import_id: str, request: ImportRequest
) -> Import:
    """Raises ApiError where one of the project is under way."""
    made = await store.imports.create(project, request.dump(), import_id)
    if made is None:
        raise _is_under_way()
    await engine.begin(made)
    return made


async def import_file(
    store: Store,
    engine: ImportEngine,
    project: str,
    receive: Callable[[Path], Awaitable[tuple[str | None, Mapping[str, Any]]]],
) -> Import:
    """The import of a file, begun. `receive` puts it where it is told to, and gives its name and the other fields:
    `name`, `on_clash`, `accept_drafts`, `judge`. Where
    anything is wrong nothing is left of it. Raises ApiError, and as `receive` does."""
    import_id = ids.new("import_")
    first = upload_path(engine.folder(project), import_id, "file")
    await asyncio.to_thread(first.parent.mkdir, parents=True, exist_ok=True)
    try:
        filename, fields = await receive(first)
        if not filename:
            raise missing("file", "It takes a file, with a filename.")
        name = fields.get("name") or None
        check_name(name)
        request = ImportRequest(
            source="file",
            archive=import_id,
            on_clash=read_on_clash(fields),
            file=filename,
            name=name or PurePath(filename).stem,
            **_accepted(fields),
        )
        await asyncio.to_thread(first.rename, upload_path(engine.folder(project), import_id, filename))
        return await begin_import(store, engine, project, import_id, request)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, first.parent, ignore_errors=True)
        raise


def _accepted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ApiError."""
    said, judge = fields.get("accept_drafts") or "false", fields.get("judge") or None
    if said not in ("true", "false"):
        raise invalid(f"accept_drafts: found {jsontext.quote(str(said))}. It takes true or false.", "accept_drafts")
    if judge is not None and said == "false":
        raise invalid("judge: it is for drafts that are accepted: accept_drafts is missing.", "judge")
    return {"accept_drafts": said == "true", "judge": judge}


async def continue_import(store: Store, engine: ImportEngine, asking: Asking, import_: Import) -> Import:
    """Goes on with one that ended, however it did: what is there is not read again. Raises ApiError, also where its key
    may no longer be used."""
    request = ImportRequest.read(import_.request)
    if request.key_env is not None:
        asking.check_key(request.key_env)
        asking.check_address(request.door(), request.key_env)
    if request.source == "file" and import_.status != "interrupted":
        raise ApiError(409, "its file was not kept. Upload it again.", code="file_not_here")
    await engine.interrupt_lost()
    started = await store.imports.restart(import_)
    if started is None:
        raise _is_under_way()
    await engine.begin(started)
    return started


async def cancel_import(store: Store, engine: ImportEngine, import_: Import) -> Import:
    """What was read and loaded stays. Raises ApiError where it has ended already."""
    if not import_.is_active:
        raise ApiError(409, f"The import is not under way: it is {import_.status}.", code="import_ended")
    await engine.cancel(import_)
    return await find_import(store, import_.project, import_.id)


def import_wire(import_: Import, *, whole: bool = True) -> dict[str, Any]:
    """`whole`: with its report, which lists leave out."""
    request = import_.request
    shown: dict[str, Any] = {
        "object": "import",
        "id": import_.id,
        "status": import_.status,
        "source": request["source"],
        **{name: request.get(name) for name in ("base_url", "key_env", "archive", "file", "only", "since", "on_clash")},
        "created_at": import_.created_at,
        "ended_at": None if import_.is_active else import_.updated_at,
        "progress": import_.progress,
        "error": None if import_.error is None else {"message": import_.error},
    }
    return {**shown, "report": import_.report} if whole else shown


def _is_under_way() -> ApiError:
    return ApiError(409, "An import of this project is under way. Wait for it, or cancel it.", code="import_under_way")
