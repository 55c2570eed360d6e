"""The form that starts a run: which rows, whose answers, and how much it may take.

A file is stored as it came, under its own name: one that ends in .csv is read as CSV, here as by the command line.
Nothing is kept of a file that no run can be made of.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidData, InvalidGrader
from fairmark.evals.eval_calls import MOST_METADATA
from fairmark.evals.run_calls import new_run
from fairmark.judges.configured import configured
from fairmark.serving.named import named_eval
from fairmark.serving.upload import base_name, finished
from fairmark.serving.wire import answer, project, state
from fairmark.store import Eval, File, ids
from fairmark.store.contents import NewContent
from fairmark.text.template import Template
from fairmark.web.evals import criteria
from fairmark.web.frame import pairs, render
from fairmark.web.frame.show import ago, size
from fairmark.web.frame.visit import field, form, redirect
from fairmark.web.runs import preview

PURPOSE = "evals"
FILES_SHOWN = 100
PREVIEW_BYTES = 262_144
"""How much of a file a browser sends for a look at its first rows."""
# Where the API finds something wrong -> which field of the form that is.
_FIELDS = {
    "data_source.source": "file",
    "data_source.model": "model",
    "data_source.input_messages": "prompt",
    "budget.dollars": "dollars",
    "budget.tokens": "tokens",
    "deadline_s": "minutes",
    "metadata": "metadata",
}


class _Filled(NamedTuple):
    """What the form holds."""

    name: str = ""
    file_id: str = ""
    answers: str = "rows"
    model: str = ""
    system: str = ""
    prompt: str = ""
    dollars: str = ""
    tokens: str = ""
    minutes: str = ""
    metadata: Sequence[tuple[str, str]] = ()


class _Wrong(Exception):
    """Something in the form, to be told at its field; `at` is "form" where it is none of them."""

    def __init__(self, at: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.at = at
        self.message = message
        self.status = status


async def show(request: Request) -> Response:
    eval_ = await named_eval(request)
    return await _page(request, eval_, _Filled(file_id=request.query_params.get("file", "")))


async def start(request: Request) -> Response:
    """The run that the form asks for. Scripts ask for JSON: where to go, or what is wrong with which field."""
    eval_ = await named_eval(request)
    filled = _filled(request)
    by_script = "application/json" in request.headers.get("accept", "")
    try:
        run_path = await _start(request, eval_, filled)
    except _Wrong as wrong:
        if by_script:
            return answer({"errors": {wrong.at: wrong.message}}, wrong.status)
        return await _page(request, eval_, filled, wrong)
    if by_script:
        return answer({"to": run_path}, 201)
    return redirect(run_path)


async def look(request: Request) -> Response:
    """The first rows of a file that is not here yet (its beginning is), or of one that is."""
    eval_ = await named_eval(request)
    needs = await _needs(request, eval_, field(request, "prompt") if field(request, "answers") == "model" else "")
    given = form(request).get("start")
    try:
        if isinstance(given, UploadFile):
            name = field(request, "name")
            is_part = field(request, "is_part") == "true"
            found = await asyncio.to_thread(_look_at_start, given, name, needs, is_part)
        else:
            file = await _stored(request, field(request, "file_id"))
            path, name = state(request).store.files.content(file.id), file.filename
            found = await asyncio.to_thread(preview.look, path, name, needs)
    except InvalidData as error:
        return render.part(request, "runs/starting.html", "preview", preview=None, problem=_sentence(str(error)))
    except _Wrong as wrong:
        return render.part(request, "runs/starting.html", "preview", preview=None, problem=wrong.message)
    return render.part(request, "runs/starting.html", "preview", preview=found, problem="")


def _look_at_start(given: UploadFile, name: str, needs: Sequence[tuple[str, Any]], is_part: bool) -> preview.Preview:
    with tempfile.NamedTemporaryFile() as start:
        shutil.copyfileobj(given.file, start)
        start.flush()
        try:
            found = preview.look(Path(start.name), name, needs, is_part)
        except InvalidData as error:
            if is_part and "not a JSON array" in str(error):
                message = "This is one JSON array, too long to be looked at beforehand. It is read when the run starts."
                raise InvalidData(message) from None
            raise
    if is_part and not found.rows_read:
        raise InvalidData("The first row is too long to be looked at beforehand. It is read when the run starts.")
    return found


async def _start(request: Request, eval_: Eval, filled: _Filled) -> str:
    shared, body = state(request), _body(filled)
    upload = form(request).get("file")
    is_new = isinstance(upload, UploadFile) and bool(upload.filename)
    if is_new and isinstance(upload, UploadFile):
        file = await _keep(request, upload)
    elif filled.file_id:
        file = await _stored(request, filled.file_id)
    else:
        raise _Wrong("file", "Choose a file: JSONL, a JSON array, or CSV.")
    body["data_source"]["source"] = {"type": "file_id", "id": file.id}
    try:
        run = await new_run(shared.store, shared.registry, shared.engine, project(request), eval_, body)
    except BaseException as error:
        if is_new:
            await state(request).store.files.delete(project(request), file.id)
        if isinstance(error, ApiError):
            raise _wrong(error) from None
        raise
    return f"/evals/{eval_.id}/runs/{run.id}"


def _body(filled: _Filled) -> dict[str, Any]:
    """What a client would send to the API. Raises _Wrong."""
    source: dict[str, Any] = {"type": "jsonl"}
    if filled.answers == "model":
        if not filled.model:
            raise _Wrong("model", "Say which model is to answer.")
        if not filled.prompt.strip():
            raise _Wrong("prompt", "Say what the model is asked. {{ item.question }} stands for a field of the row.")
        messages = [{"role": "system", "content": filled.system}] if filled.system.strip() else []
        messages.append({"role": "user", "content": filled.prompt})
        source = {
            "type": "completions",
            "model": filled.model,
            "input_messages": {"type": "template", "template": messages},
        }
    budget = {
        name: _number(name, text) for name, text in (("dollars", filled.dollars), ("tokens", filled.tokens)) if text
    }
    try:
        metadata = pairs.read(filled.metadata)
    except ApiError as error:
        raise _wrong(error) from None
    body: dict[str, Any] = {"name": filled.name, "metadata": metadata, "data_source": source}
    if budget:
        body["budget"] = budget
    if filled.minutes:
        body["deadline_s"] = _number("minutes", filled.minutes) * 60
    return body


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not 0 < found < 1e15:
        raise _Wrong(name, f"Found {jsontext.quote(text)}. It takes a number above 0.")
    return int(found) if found.is_integer() else found


async def _keep(request: Request, upload: UploadFile) -> File:
    """The uploaded file among the others, whole or not at all."""
    files = state(request).store.files
    file_id = ids.new_file()
    content = NewContent(files.content(file_id))
    name = base_name(upload.filename or "")
    try:
        written = await finished(partial(_copy, upload, content))
        if not written:
            raise _Wrong("file", f"“{name}” is empty.")
        return await files.create(project(request), file_id, name, PURPOSE, written, None)
    except BaseException:
        await finished(content.discard)
        raise


def _copy(upload: UploadFile, content: NewContent) -> int:
    content.open()
    written = 0
    while piece := upload.file.read(1_000_000):
        content.write(piece)
        written += len(piece)
    content.finish()
    return written


async def _stored(request: Request, file_id: str) -> File:
    found = await state(request).store.files.get(project(request), file_id)
    if found is None:
        raise _Wrong("file", "This file is no longer on the server. Choose another.")
    return found


async def _needs(request: Request, eval_: Eval, prompt: str = "") -> list[tuple[str, Sequence[str]]]:
    """Who needs which fields of an item: the criteria, the eval's schema, and the prompt."""
    found: list[tuple[str, Sequence[str]]] = [
        (each.name, each.needs) for each in await criteria.read(request, eval_) if each.needs
    ]
    match eval_.data_source_config:
        case {"schema": {"properties": {"item": {"required": [*required]}}}}:
            found.append(("the schema", [each for each in required if isinstance(each, str)]))
    with contextlib.suppress(InvalidGrader):  # it is told when the run is started
        found.append(("the prompt", tuple(criteria.item_fields(iter(Template(prompt).variables)))))
    return found


def _filled(request: Request) -> _Filled:
    texts = {
        name: field(request, name).strip()
        for name in ("name", "file_id", "answers", "model", "dollars", "tokens", "minutes")
    }
    return _Filled(
        **texts, system=field(request, "system"), prompt=field(request, "prompt"), metadata=pairs.given(request)
    )


def _wrong(error: ApiError) -> _Wrong:
    """The API's words at the field of the form that they are about."""
    param = error.param or ""
    at = next((place for start, place in _FIELDS.items() if param.startswith(start)), "form")
    return _Wrong(at, _sentence(error.message.removeprefix(f"{param}: ")), error.status)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


async def _page(request: Request, eval_: Eval, filled: _Filled, wrong: _Wrong | None = None) -> Response:
    listed = await state(request).store.files.list(project(request), PURPOSE, FILES_SHOWN)
    return render.page(
        request,
        "runs/starting.html",
        200 if wrong is None else wrong.status,
        eval=eval_,
        filled=filled,
        errors=dict.fromkeys(("form", *_FIELDS.values()), "") | ({} if wrong is None else {wrong.at: wrong.message}),
        files=[(each.id, f"{each.filename}, {size(each.bytes)}, {ago(each.created_at)}") for each in listed.data],
        models=await asyncio.to_thread(configured, state(request).settings.data_folder),
        most=MOST_METADATA,
        preview=None,
        problem="",
        preview_bytes=PREVIEW_BYTES,
        needs=sorted({name for _, fields in await _needs(request, eval_) for name in fields}),
    )
