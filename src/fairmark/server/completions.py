"""Chat completions and responses that are stored: list, get, change, delete, and what was asked."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import UnknownCursor
from fairmark.evals.eval_calls import read_metadata
from fairmark.refusals import invalid, missing, not_found
from fairmark.serving.lists import Query, read_query
from fairmark.serving.wire import JSON, answer, page, project, read_object, state
from fairmark.store import Chosen, StoredCompletion
from fairmark.store.completions import Kind

_NAMES: dict[Kind, str] = {"chat": "chat completion", "response": "response"}
_PAIR = re.compile(r"metadata\[(.*)\]", re.DOTALL)


async def list_chats(request: Request) -> Response:
    query = read_query(request, limit=20, order="asc")
    chosen = Chosen("chat", query.params.get("model") or None, metadata_filter(query.params))
    shared = state(request)
    await shared.keeper.settled(project(request))
    listed = await shared.store.completions.list(
        project(request), chosen, query.limit, query.after, query.order, query.before
    )
    return page([(one.id, msgspec.Raw(one.body)) for one in listed.data], listed.has_more)


async def retrieve_chat(request: Request) -> Response:
    return _whole(await _find(request, "chat"))


async def update_chat(request: Request) -> Response:
    body = await read_object(request)
    if "metadata" not in body:
        raise missing("metadata", "It takes an object; nothing else of a stored completion can be changed.")
    metadata = read_metadata(body) or {}
    shared, id_ = state(request), _id(request, "chat")
    await shared.keeper.settled(project(request))
    changed = await shared.store.completions.update(project(request), "chat", id_, metadata)
    if changed is None:
        raise not_found(_NAMES["chat"], id_)
    return _whole(changed)


async def delete_chat(request: Request) -> Response:
    id_ = await _delete(request, "chat")
    return answer({"object": "chat.completion.deleted", "id": id_, "deleted": True})


async def list_messages(request: Request) -> Response:
    return await _inputs(request, "chat", read_query(request, limit=20, order="asc"))


async def retrieve_response(request: Request) -> Response:
    if request.query_params.get("stream") not in (None, "", "false"):
        raise invalid("stream: a stored response is given as a whole.", "stream", "unsupported_value")
    return _whole(await _find(request, "response"))


async def delete_response(request: Request) -> Response:
    return answer({"id": await _delete(request, "response"), "object": "response", "deleted": True})


async def list_input_items(request: Request) -> Response:
    return await _inputs(request, "response", read_query(request, limit=20, order="desc"))


def metadata_filter(params: QueryParams) -> dict[str, str]:
    """`metadata[key]=value`, as many as there are."""
    return {pair[1]: value for name, value in params.multi_items() if (pair := _PAIR.fullmatch(name)) is not None}


def _id(request: Request, kind: Kind) -> str:
    id_: str = request.path_params["chat_completion_id" if kind == "chat" else "response_id"]
    return id_


def _whole(completion: StoredCompletion) -> Response:
    return Response(completion.body, media_type=JSON)


async def _find(request: Request, kind: Kind) -> StoredCompletion:
    shared, id_ = state(request), _id(request, kind)
    await shared.keeper.settled(project(request))
    completion = await shared.store.completions.get(project(request), kind, id_)
    if completion is None:
        raise not_found(_NAMES[kind], id_)
    return completion


async def _delete(request: Request, kind: Kind) -> str:
    shared, id_ = state(request), _id(request, kind)
    await shared.keeper.settled(project(request))
    if not await shared.store.completions.delete(project(request), kind, id_):
        raise not_found(_NAMES[kind], id_)
    return id_


async def _inputs(request: Request, kind: Kind, query: Query) -> Response:
    shared, id_ = state(request), _id(request, kind)
    await shared.keeper.settled(project(request))
    inputs = await shared.store.completions.read_input(project(request), kind, id_)
    if inputs is None:
        raise not_found(_NAMES[kind], id_)
    entries = [(_id_of(entry, number), entry) for number, entry in enumerate(inputs)]
    shown, has_more = _part(entries if query.order == "asc" else entries[::-1], query)
    return page(shown, has_more)


def _id_of(entry: msgspec.Raw, number: int) -> str:
    """What was made elsewhere may lack one."""
    read = jsontext.decode(bytes(entry))
    id_ = read.get("id") if isinstance(read, dict) else None
    return id_ if isinstance(id_, str) else str(number)


def _part(entries: Sequence[tuple[str, Any]], query: Query) -> tuple[Sequence[tuple[str, Any]], bool]:
    """The page that is asked for, out of all."""
    start, end = 0, len(entries)
    ids = [id_ for id_, _ in entries]
    for name, cursor in (("after", query.after), ("before", query.before)):
        if cursor is not None and cursor not in ids:
            raise UnknownCursor(cursor, name)
    if query.after is not None:
        start = ids.index(query.after) + 1
    if query.before is not None:
        end = ids.index(query.before)
    between = entries[start : max(start, end)]
    if query.before is not None and query.after is None:
        return between[-query.limit :], len(between) > query.limit
    return between[: query.limit], len(between) > query.limit
