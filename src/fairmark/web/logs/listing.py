"""The list of what is stored, by model and metadata, and one of them as a conversation."""

import asyncio
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import UnknownCursor
from fairmark.refusals import not_found
from fairmark.serving.wire import project, state
from fairmark.store import Chosen, StoredCompletion
from fairmark.store.completions import Kind
from fairmark.web.frame import render
from fairmark.web.frame.visit import redirect
from fairmark.web.logs.turns import opening, turns

SHOWN = 25
KINDS: dict[str, Kind] = {"chat": "chat", "responses": "response"}
"""As addresses call them."""


class Filter(NamedTuple):
    """What of the log is looked at, as it stands in an address."""

    kind: str
    model: str
    metadata: str
    """key=value, with commas between."""

    @classmethod
    def read(cls, params: QueryParams) -> "Filter":
        kind = params.get("kind", "chat")
        return cls(
            kind if kind in KINDS else "chat", params.get("model", "").strip(), params.get("metadata", "").strip()
        )

    @property
    def pairs(self) -> dict[str, str]:
        parts = (part.partition("=") for part in self.metadata.split(",") if part.strip())
        return {key.strip(): value.strip() for key, _, value in parts}

    @property
    def chosen(self) -> Chosen:
        return Chosen(KINDS[self.kind], self.model or None, self.pairs)

    def address(self, path: str = "/logs", **more: str) -> str:
        query = {name: value for name, value in {**self._asdict(), **more}.items() if value}
        return f"{path}?{urlencode(query)}"


async def list_(request: Request) -> Response:
    wanted = Filter.read(request.query_params)
    store, owner = state(request).store, project(request)
    await state(request).keeper.settled(owner)
    after, before = (request.query_params.get(name) or None for name in ("after", "before"))
    try:
        page = await store.completions.list(owner, wanted.chosen, SHOWN, after, "desc", before)
    except UnknownCursor:
        return redirect(wanted.address())
    rows = [await _row(request, completion) for completion in page.data]
    backward = before is not None and after is None
    has_next, has_previous = (True, page.has_more) if backward else (page.has_more, after is not None)
    return render.page(
        request,
        "logs/listing.html",
        wanted=wanted,
        rows=rows,
        is_filtered=bool(wanted.model or wanted.metadata),
        previous=wanted.address(before=rows[0]["id"]) if rows and has_previous else "",
        next=wanted.address(after=rows[-1]["id"]) if rows and has_next else "",
    )


async def _row(request: Request, completion: StoredCompletion) -> dict[str, Any]:
    inputs = await _inputs(request, completion)
    return {
        "id": completion.id,
        "path": _path(completion),
        "asked": await asyncio.to_thread(opening, completion, inputs),
        "model": completion.model,
        "metadata": completion.metadata,
        "created_at": completion.created_at,
        "imported": completion.imported is not None,
    }


async def show(request: Request) -> Response:
    completion = await _named(request)
    inputs = await _inputs(request, completion)
    said = await asyncio.to_thread(jsontext.decode, completion.body)
    asked = jsontext.decode(completion.request)
    return render.page(
        request,
        "logs/detail.html",
        completion=completion,
        path=_path(completion),
        kind=request.path_params["kind"],
        turns=await asyncio.to_thread(turns, completion, inputs),
        usage=said.get("usage") if isinstance(said, dict) else None,
        asked={name: value for name, value in asked.items() if name not in ("metadata", "model")} if asked else {},
        is_short=completion.size < 100_000,
        said=said if completion.size < 100_000 else None,
    )


async def delete(request: Request) -> Response:
    completion = await _named(request)
    await state(request).store.completions.delete(project(request), completion.kind, completion.id)
    return redirect(f"/logs?kind={request.path_params['kind']}", "It is deleted.")


async def raw(request: Request) -> Response:
    """The whole of it, as the API gives it."""
    return Response((await _named(request)).body, media_type="application/json")


async def _named(request: Request) -> StoredCompletion:
    kind, id_ = KINDS.get(request.path_params["kind"]), request.path_params["completion_id"]
    await state(request).keeper.settled(project(request))
    completion = None if kind is None else await state(request).store.completions.get(project(request), kind, id_)
    if completion is None:
        raise not_found("stored completion", id_)
    return completion


async def _inputs(request: Request, completion: StoredCompletion) -> list[Any]:
    store = state(request).store
    stored = await store.completions.read_input(completion.project, completion.kind, completion.id)
    return await asyncio.to_thread(lambda: [jsontext.decode(bytes(entry)) for entry in stored or []])


def _path(completion: StoredCompletion) -> str:
    return f"/logs/{'chat' if completion.kind == 'chat' else 'responses'}/{completion.id}"
