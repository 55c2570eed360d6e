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
from fairmark.errors import ApiError, InvalidData, InvalidGrader, InvalidSource
from fairmark.evals.eval_calls import MOST_METADATA
from fairmark.evals.run_calls import new_run
from fairmark.evals.source import read_model_sampling
from fairmark.graders.judging import REASONING_EFFORTS
from fairmark.judges.configured import configured
from fairmark.readiness import model_remarks
from fairmark.refusals import invalid
from fairmark.serving.named import named_eval
from fairmark.serving.upload import finished
from fairmark.serving.wire import answer, key_id, project, state
from fairmark.store import Eval, File, ids
from fairmark.store.base.contents import NewContent
from fairmark.text.template import Template
from fairmark.web.evals import criteria
from fairmark.web.evals.drafting import pasted_text
from fairmark.web.evals.judged import JudgeStanding, judged
from fairmark.web.frame import pairs, render, uploads
from fairmark.web.frame.visit import above_zero, field, form, redirect
from fairmark.web.runs import mapping, preview
from fairmark.web.runs.filling import PARAMETERS, as_filled

PREVIEW_BYTES = 262_144
"""How much of a file a browser sends for a look at its first rows."""
# Where the API finds something wrong -> which field of the form that is.
_FIELDS = {
    "data_source.source": "file",
    "data_source.model": "model",
    "data_source.input_messages": "prompt",
    "data_source.sampling_params.temperature": "temperature",
    "data_source.sampling_params.top_p": "top_p",
    "data_source.sampling_params.max_completions_tokens": "max_tokens",
    "data_source.sampling_params.seed": "seed",
    "data_source.sampling_params.reasoning_effort": "reasoning_effort",
    "data_source.sampling_params": "parameters",
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
    messages: str = ""
    temperature: str = ""
    top_p: str = ""
    max_tokens: str = ""
    seed: str = ""
    reasoning_effort: str = ""
    parameters: str = ""
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
    upload, mapped = form(request).get("start"), mapping.read(form(request))
    try:
        if isinstance(upload, UploadFile):
            name = field(request, "name")
            is_part = field(request, "is_part") == "true"
            seen = await asyncio.to_thread(_look_at_start, upload, name, needs, is_part, mapped)
        else:
            file = await _stored(request, field(request, "file_id"))
            path, name = state(request).store.files.content(file.id), file.filename
            seen = await asyncio.to_thread(preview.look, path, name, needs, mapped=mapped)
    except InvalidData as error:
        return render.part(request, "runs/starting.html", "preview", preview=None, problem=_sentence(str(error)))
    except _Wrong as wrong:
        return render.part(request, "runs/starting.html", "preview", preview=None, problem=wrong.message)
    needed = sorted({name for _, fields in needs for name in fields})
    return render.part(
        request,
        "runs/starting.html",
        "preview",
        preview=seen,
        problem="",
        mapped=mapped,
        mappable=[(name, mapping.suggested(name, list(seen.offered))) for name in needed],
    )


def _look_at_start(
    upload: UploadFile, name: str, needs: Sequence[tuple[str, Any]], is_part: bool, mapped: mapping.ColumnMapping
) -> preview.Preview:
    with tempfile.NamedTemporaryFile() as start:
        shutil.copyfileobj(upload.file, start)
        start.flush()
        try:
            seen = preview.look(Path(start.name), name, needs, is_part, mapped)
        except InvalidData as error:
            if is_part and "not a JSON array" in str(error):
                message = "This is one JSON array, too long to be looked at beforehand. It is read when the run starts."
                raise InvalidData(message) from None
            raise
    if is_part and not seen.rows_read:
        raise InvalidData("The first row is too long to be looked at beforehand. It is read when the run starts.")
    return seen


async def _start(request: Request, eval_: Eval, filled: _Filled) -> str:
    shared, body = state(request), _body(filled)
    upload = uploads.uploaded(request, "file")
    is_new = upload is not None
    if upload is not None:
        try:
            file = await uploads.keep(request, upload)
        except ApiError as error:
            raise _Wrong("file", error.message) from None
    elif filled.file_id:
        file = await _stored(request, filled.file_id)
    else:
        raise _Wrong("file", "Choose a file: JSONL, a JSON array, or CSV.")
    columns = mapping.read(form(request))
    if not columns.is_plain:
        file, is_new = await _mapped(request, file, columns, is_new), True
    body["data_source"]["source"] = {"type": "file_id", "id": file.id}
    try:
        await shared.keeper.settled(project(request))
        run = await new_run(
            shared.store, shared.registry, shared.engine, project(request), eval_, body, key_id(request)
        )
    except BaseException as error:
        if is_new:
            await state(request).store.files.delete(project(request), file.id)
        if isinstance(error, ApiError):
            raise _wrong(error) from None
        raise
    return f"/evals/{eval_.id}/runs/{run.id}"


async def _mapped(request: Request, file: File, columns: mapping.ColumnMapping, is_new: bool) -> File:
    """The file with its fields renamed, among the others. One that was uploaded for this alone is not kept."""
    files = state(request).store.files
    file_id = ids.new_file()
    content = NewContent(files.content(file_id))
    stem = file.filename.rpartition(".")[0] or file.filename
    try:
        written = await finished(partial(mapping.rewrite, files.content(file.id), file.filename, columns, content))
        return await files.create(project(request), file_id, f"{stem}, mapped.jsonl", uploads.PURPOSE, written, None)
    except BaseException as error:
        await finished(content.discard)
        if isinstance(error, InvalidData):
            raise _Wrong("file", _sentence(str(error))) from None
        raise
    finally:
        if is_new:
            await files.delete(project(request), file.id)


async def check(request: Request) -> Response:
    """What is wrong with what the form holds so far, by field; what is still empty is nobody's mistake yet."""
    filled = _filled(request)
    errors: dict[str, str] = {}
    if filled.answers == "model":
        try:
            source = _body(filled._replace(model=filled.model or "?", prompt=filled.prompt or "?"))["data_source"]
            read_model_sampling(source)
        except _Wrong as wrong:
            errors[wrong.at] = wrong.message
        except InvalidSource as error:
            told = _wrong(ApiError(400, str(error), param=error.path))
            errors[told.at] = told.message
        for remark in model_remarks(filled.model) if filled.model else ():
            errors.setdefault("model", _sentence(remark.problem.message))
    return answer({"errors": errors})


async def paste(request: Request) -> Response:
    """What the form is to hold of a run that was pasted."""
    await named_eval(request)
    pasted = await pasted_text(request)
    if pasted.what != "run":
        raise invalid("This is no run: it has no data_source. “New eval” takes evals and graders.", "text")
    return answer(as_filled(pasted.value))


def _sampling(filled: _Filled) -> dict[str, Any]:
    """Numbers as numbers; whether they will do is said by who reads them for the API. Raises _Wrong."""
    parameters = _object("parameters", filled.parameters) if filled.parameters.strip() else {}
    for name, (spelled, *_) in PARAMETERS.items():
        text = str(getattr(filled, name))
        if not text:
            continue
        try:
            parameters[spelled] = text if name == "reasoning_effort" else jsontext.decode(text)
        except jsontext.NotJson:
            raise _Wrong(name, f"Found {jsontext.quote(text)}. It takes a number.") from None
    return parameters


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise _Wrong(name, f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise _Wrong(name, f"Found {jsontext.describe(value)}. It takes an object.")
    return value


def _body(filled: _Filled) -> dict[str, Any]:
    """What a client would send to the API. Raises _Wrong."""
    source: dict[str, Any] = {"type": "jsonl"}
    if filled.answers == "model":
        if not filled.model:
            raise _Wrong("model", "Say which model is to answer.")
        source = {"type": "completions", "model": filled.model, "input_messages": _messages(filled)}
        if parameters := _sampling(filled):
            source["sampling_params"] = parameters
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


def _messages(filled: _Filled) -> dict[str, Any]:
    if filled.messages.strip():
        return _object("messages", filled.messages)
    if not filled.prompt.strip():
        raise _Wrong("prompt", "Say what the model is asked. {{ item.question }} stands for a field of the row.")
    messages = [{"role": "system", "content": filled.system}] if filled.system.strip() else []
    return {"type": "template", "template": [*messages, {"role": "user", "content": filled.prompt}]}


def _number(name: str, text: str) -> float:
    number = above_zero(text)
    if number is None:
        raise _Wrong(name, f"Found {jsontext.quote(text)}. It takes a number above 0.")
    return number


async def _stored(request: Request, file_id: str) -> File:
    file = await state(request).store.files.get(project(request), file_id)
    if file is None:
        raise _Wrong("file", "This file is no longer on the server. Choose another.")
    return file


async def _needs(request: Request, eval_: Eval, prompt: str = "") -> list[tuple[str, Sequence[str]]]:
    """Who needs which fields of an item: the criteria, the eval's schema, and the prompt."""
    needs: list[tuple[str, Sequence[str]]] = [
        (criterion.name, criterion.needs) for criterion in await criteria.read(request, eval_) if criterion.needs
    ]
    match eval_.data_source_config:
        case {"schema": {"properties": {"item": {"required": [*required]}}}}:
            needs.append(("the schema", [name for name in required if isinstance(name, str)]))
    with contextlib.suppress(InvalidGrader):  # it is told when the run is started
        needs.append(("the prompt", tuple(criteria.item_fields(iter(Template(prompt).variables)))))
    return needs


def _filled(request: Request) -> _Filled:
    texts = {
        name: field(request, name).strip() for name in _Filled._fields if name not in ("system", "prompt", "metadata")
    }
    return _Filled(
        **texts, system=field(request, "system"), prompt=field(request, "prompt"), metadata=pairs.entered(request)
    )


def _wrong(error: ApiError) -> _Wrong:
    """The API's words at the field of the form that they are about."""
    param = error.param or ""
    at = next((place for start, place in _FIELDS.items() if param.startswith(start)), "form")
    return _Wrong(at, _sentence(error.message.removeprefix(f"{param}: ")), error.status)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


async def _page(request: Request, eval_: Eval, filled: _Filled, wrong: _Wrong | None = None) -> Response:
    return render.page(
        request,
        "runs/starting.html",
        200 if wrong is None else wrong.status,
        eval=eval_,
        filled=filled,
        efforts=[("", "not set"), *((effort, effort) for effort in REASONING_EFFORTS)],
        mapped=preview.UNMAPPED,
        mappable=[],
        errors=dict.fromkeys(("form", *_FIELDS.values(), "messages"), "")
        | ({} if wrong is None else {wrong.at: wrong.message}),
        files=await uploads.choices(request),
        models=await asyncio.to_thread(configured, state(request).settings.data_folder),
        most=MOST_METADATA,
        preview=None,
        problem="",
        preview_bytes=PREVIEW_BYTES,
        needs=sorted({name for _, fields in await _needs(request, eval_) for name in fields}),
        judges=await _judges(request, eval_),
    )


async def _judges(request: Request, eval_: Eval) -> list[tuple[str, JudgeStanding]]:
    """The criteria that ask a model, with how it stands."""
    shown = await criteria.read(request, eval_)
    found = await judged(request, [criterion.spec for criterion in shown])
    return [(criterion.name, judge) for criterion, judge in zip(shown, found, strict=True) if judge.standing]
