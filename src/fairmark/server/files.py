"""Files: uploaded to disk, told of in the store, given back as they came."""

import time
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Message, Receive, Scope, Send

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals.file_calls import file_wire
from fairmark.evals.source import NOT_HERE
from fairmark.refusals import invalid, missing, not_found
from fairmark.serving.lists import read_query
from fairmark.serving.upload import Upload
from fairmark.serving.wire import answer, page, project, state
from fairmark.store import File, ids

PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
SHORTEST_LIFE_S, LONGEST_LIFE_S = 3_600, 2_592_000
ANCHOR, SECONDS = "expires_after[anchor]", "expires_after[seconds]"
MOST_LISTED = 10_000


async def create(request: Request) -> Response:
    shared = state(request)
    files = shared.store.files
    file_id = ids.new_file()
    path = files.content(file_id)
    length = request.headers.get("content-length", "")
    await shared.limits.check_storage(project(request), int(length) if length.isdecimal() else 0)
    upload = Upload(request.headers.get("content-type", ""), path, shared.settings.max_file_mb * 1_000_000)
    await upload.receive(request.receive)
    try:
        if upload.filename is None:
            raise missing("file", "It takes a file, with a filename.")
        purpose, life_s = _purpose(upload.fields), _life_s(upload.fields)
        expires_at = None if life_s is None else int(time.time()) + life_s
        created = await files.create(project(request), file_id, upload.filename, purpose, upload.size, expires_at)
    except BaseException:
        await upload.discard()
        raise
    return answer(file_wire(created))


def _purpose(fields: dict[str, str]) -> str:
    allowed = f"Use one of: {', '.join(PURPOSES)}."
    if "purpose" not in fields:
        raise missing("purpose", allowed)
    if fields["purpose"] not in PURPOSES:
        raise invalid(f"purpose: found {jsontext.quote(fields['purpose'])}. {allowed}", "purpose")
    return fields["purpose"]


def _life_s(fields: dict[str, str]) -> int | None:
    """How long the file is wanted; None is for ever."""
    anchor, seconds = fields.get(ANCHOR), fields.get(SECONDS)
    if anchor is None and seconds is None:
        return None
    if anchor != "created_at":
        mistake = "missing" if anchor is None else f"found {jsontext.quote(anchor)}"
        raise invalid(f"{ANCHOR}: {mistake}. It takes created_at.", "expires_after.anchor")
    wanted = f"It takes a number of seconds from {SHORTEST_LIFE_S} to {LONGEST_LIFE_S}."
    if seconds is None:
        raise missing("expires_after.seconds", wanted)
    if not seconds.isascii() or not seconds.isdecimal() or len(seconds) > 9:
        raise invalid(f"{SECONDS}: found {jsontext.quote(seconds)}. {wanted}", "expires_after.seconds")
    if not SHORTEST_LIFE_S <= int(seconds) <= LONGEST_LIFE_S:
        raise invalid(f"{SECONDS}: found {seconds}. {wanted}", "expires_after.seconds")
    return int(seconds)


async def list_(request: Request) -> Response:
    query = read_query(request, limit=MOST_LISTED, most=MOST_LISTED, order="desc")
    purpose = query.params.get("purpose") or None
    files = state(request).store.files
    listed = await files.list(project(request), purpose, query.limit, query.after, query.order, query.before)
    return page([(file.id, file_wire(file)) for file in listed.data], listed.has_more)


async def retrieve(request: Request) -> Response:
    return answer(file_wire(await _find(request)))


async def content(request: Request) -> Response:
    """The bytes as they were uploaded."""
    file = await _find(request)
    path = state(request).store.files.content(file.id)
    if not path.exists():
        raise ApiError(404, f"{file.id}: {NOT_HERE}", code="file_not_here")
    return _Content(path, media_type="application/octet-stream", headers={"x-content-type-options": "nosniff"})


class _Content(FileResponse):
    """A file as Starlette sends it, but a range that it does not have is refused in the words of the API."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                shown = jsontext.quote(jsontext.shorten(Headers(scope=scope).get("range", "")))
                size = Path(self.path).stat().st_size
                text = f"Range: found {shown}. The file has {size} bytes; a part of it is bytes=FIRST-LAST, from 0."
                raise ApiError(416, text, code="invalid_range", headers={"content-range": f"bytes */{size}"})
            await send(message)

        await super().__call__(scope, receive, answer)


async def delete(request: Request) -> Response:
    file_id = request.path_params["file_id"]
    if not await state(request).store.files.delete(project(request), file_id):
        raise not_found("file", file_id)
    return answer({"id": file_id, "object": "file", "deleted": True})


async def _find(request: Request) -> File:
    file_id = request.path_params["file_id"]
    file = await state(request).store.files.get(project(request), file_id)
    if file is None:
        raise not_found("file", file_id)
    return file
