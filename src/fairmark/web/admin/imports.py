"""Imports: move in what is at a hosted service, in an archive on the server or in a file; how it goes; its report."""

import asyncio
import shutil
from pathlib import Path
from typing import Any, BinaryIO

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError
from fairmark.moving.import_calls import cancel_import, continue_import, find_import, import_file, new_import
from fairmark.moving.import_requests import FOLDER
from fairmark.moving.pull import SECTIONS
from fairmark.serving.importing import asking
from fairmark.serving.wire import project, state
from fairmark.store import Import
from fairmark.web.frame import render
from fairmark.web.frame.visit import field, form, is_partial, redirect

SHOWN = 20
_KINDS = {
    "evals": "Evals",
    "runs": "Runs",
    "items": "Output items",
    "files": "Files",
    "contents": "Contents of files",
    "jobs": "Fine-tuning jobs",
    "completions": "Stored completions",
    "responses": "Responses",
    "graders": "Graders",
}
_SECTIONS = {
    "evals": "Evals, runs, output items",
    "files": "Files",
    "jobs": "Fine-tuning jobs",
    "completions": "Stored completions",
    "responses": "Responses",
}
_FILE_FIELDS = ("name", "on_clash", "accept_drafts", "judge")
_FIELDS = ("source", "base_url", "key_env", "archive", "since", "on_clash")


async def show(request: Request) -> Response:
    return await _page(request)


async def create(request: Request) -> Response:
    shared = state(request)
    body: dict[str, Any] = {name: value for name in _FIELDS if (value := field(request, name).strip())}
    if body.get("source") == "archive":
        body = {name: body[name] for name in ("source", "archive", "on_clash") if name in body}
    else:
        only = [section for section in form(request).getlist("only") if isinstance(section, str)]
        body["only"] = only or list(SECTIONS)
    try:
        made = await new_import(shared.store, shared.imports, await asking(request), body)
    except ApiError as error:
        return await _page(request, error, body)
    return redirect(_path(made))


async def upload(request: Request) -> Response:
    shared, uploaded = state(request), form(request).get("file")

    async def receive(path: Path) -> tuple[str | None, dict[str, str]]:
        if not isinstance(uploaded, UploadFile) or not uploaded.filename:
            return None, {}
        await asyncio.to_thread(_copy, uploaded.file, path)
        return uploaded.filename, {name: field(request, name).strip() for name in _FILE_FIELDS}

    try:
        made = await import_file(shared.store, shared.imports, project(request), receive)
    except ApiError as error:
        return await _page(request, error)
    return redirect(_path(made))


def _copy(content: BinaryIO, path: Path) -> None:
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)


async def detail(request: Request) -> Response:
    """The page, or the part of it that changes. Where there is no more to come, the page is loaded anew."""
    import_ = await _named(request)
    context: dict[str, Any] = {
        "import_": import_,
        "title": _title(import_),
        "key_env": import_.request.get("key_env"),
        "progress": {"stage": "", "waiting_s": 0, "left_s": None, **import_.progress},
        "counts": _counts(import_),
    }
    if is_partial(request):
        part = render.part(request, "admin/import.html", "live", **context)
        if not import_.is_active:
            part.headers["hx-refresh"] = "true"
        return part
    return render.page(request, "admin/import.html", **context, kinds=_KINDS)


async def cancel(request: Request) -> Response:
    shared, import_ = state(request), await _named(request)
    try:
        await cancel_import(shared.store, shared.imports, import_)
    except ApiError as error:
        if error.status != 409:  # it ended meanwhile: that is shown
            raise
    return redirect(_path(import_))


async def continue_(request: Request) -> Response:
    shared, import_ = state(request), await _named(request)
    try:
        await continue_import(shared.store, shared.imports, await asking(request), import_)
    except ApiError as error:
        return redirect(_path(import_), error.message)
    return redirect(_path(import_))


async def _named(request: Request) -> Import:
    return await find_import(state(request).store, project(request), request.path_params["import_id"])


def _title(import_: Import) -> str:
    """Where it comes from."""
    asked = import_.request
    return str(asked.get("file") or asked.get("base_url") or asked["archive"])


def _path(import_: Import) -> str:
    return f"/imports/{import_.id}"


def _counts(import_: Import) -> list[tuple[str, int, int]]:
    """(what, how many are read, how many are loaded)"""
    read, loaded = (import_.progress.get(name, {}) for name in ("read", "loaded"))
    unchanged = import_.progress.get("unchanged", {})
    kinds = [kind for kind in _KINDS if kind in read or kind in loaded or kind in unchanged]
    return [(_KINDS[kind], read.get(kind, 0) + unchanged.get(kind, 0), loaded.get(kind, 0)) for kind in kinds]


async def _page(request: Request, wrong: ApiError | None = None, filled: dict[str, Any] | None = None) -> Response:
    shared = state(request)
    listed = await shared.store.imports.list(project(request), SHOWN)
    keys: dict[str, bool] = {}
    problem = ""
    try:
        keys = (await asking(request)).keys()
    except ApiError as error:
        problem = error.message
    archives = await asyncio.to_thread(_archives, shared.imports.folder(project(request)))
    status = 200 if wrong is None else wrong.status
    return render.page(
        request,
        "admin/imports.html",
        status,
        imports=[(import_, _title(import_)) for import_ in listed.data],
        active=next((import_ for import_ in listed.data if import_.is_active), None),
        keys=[(name, name) for name, is_set in keys.items() if is_set],
        unset=[name for name, is_set in keys.items() if not is_set],
        archives=[(name, name) for name in archives],
        folder=f"{FOLDER}/{project(request)}",
        sections=_SECTIONS,
        problem=problem or ("" if wrong is None else wrong.message),
        filled={**dict.fromkeys(_FIELDS, ""), **(filled or {})},
    )


def _archives(folder: Path) -> list[str]:
    """The newest first."""
    there = [path for path in folder.glob("*") if (path / "manifest.json").is_file()] if folder.is_dir() else []
    return [path.name for path in sorted(there, key=lambda path: path.stat().st_mtime, reverse=True)][:100]
