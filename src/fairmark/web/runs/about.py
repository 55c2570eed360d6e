"""What a run was: whose answers to which rows, asked how, by whom, in how long; and the ways to go on from it."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals.regrade import data_source_of
from fairmark.evals.reopen import go_on, retry_errors
from fairmark.evals.run_calls import new_run
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import key_id, project, state
from fairmark.store import Run
from fairmark.web.frame import render, show
from fairmark.web.frame.visit import redirect
from fairmark.web.runs.outputs import Message, Room

LONGEST_NAME = 256
LONGEST_SOURCE = 200_000
"""Bytes of a source that are read to be shown."""


class Asked(NamedTuple):
    """How the answers came about."""

    answers: str
    """Whose answers are graded, in words."""
    rows: str
    """Where the rows come from, in words."""
    file_id: str
    prompt: list[Message]
    sampling: dict[str, Any]


async def page(request: Request) -> Response:
    """The part of a run's page that tells it: asked for when somebody wants to know, for a source may be long."""
    run = await named_run(request)
    source = await asyncio.to_thread(_shown_source, run)
    file = source.get("source") if isinstance(source.get("source"), dict) else {}
    file_id = file.get("id") if isinstance(file, Mapping) else None
    stored = await state(request).store.files.get(project(request), file_id) if isinstance(file_id, str) else None
    return render.page(
        request,
        "runs/about.html",
        run=run,
        asked=await asyncio.to_thread(_asked, run, source, stored.filename if stored else ""),
        by=await _key_name(request, run.created_by),
        limits=_limits(run),
    )


class _SourceMembers(msgspec.Struct):
    """A data source whose rows, where they stand in it, are not even read."""

    source: msgspec.Raw = msgspec.Raw(b"null")
    input_messages: Any = None
    sampling_params: Any = None


def _source(run: Run) -> dict[str, Any]:
    """All of it, to be sent once more."""
    source = jsontext.decode(data_source_of(run))
    return source if isinstance(source, dict) else {}


def _shown_source(run: Run) -> dict[str, Any]:
    """What is shown of it: of rows in the request itself only how many there are."""
    try:
        members = msgspec.json.decode(data_source_of(run), type=_SourceMembers)
    except msgspec.DecodeError:
        return {}
    inline = len(members.source) > LONGEST_SOURCE
    source = {"type": "file_content", "total": run.total} if inline else jsontext.decode(bytes(members.source))
    return {"source": source, "input_messages": members.input_messages, "sampling_params": members.sampling_params}


def _asked(run: Run, source: Mapping[str, Any], filename: str) -> Asked:
    room = Room()
    input_messages = source.get("input_messages")
    template = input_messages.get("template") if isinstance(input_messages, Mapping) else None
    messages = [message for message in template if isinstance(message, Mapping)] if isinstance(template, list) else []
    sampling = source.get("sampling_params")
    if run.regraded_from:
        answers = f"the answers of {run.regraded_from}, graded again"
    elif run.model:
        answers = f"answers of {run.model}, asked for by this run"
    else:
        answers = "answers that the rows bring along"
    rows, file_id = _rows(source.get("source"), filename)
    prompt = room.messages([_readable(message) for message in messages])
    return Asked(answers, rows, file_id, prompt, room.fit(sampling) if isinstance(sampling, dict) else {})


def _rows(source: Any, filename: str) -> tuple[str, str]:
    """Where the rows come from, and the id of their file."""
    match source:
        case {"type": "file_id", "id": str() as id_}:
            return (f"the file {filename}" if filename else "a file that is no longer here"), id_
        case {"type": "file_content", "content": [*content]}:
            return f"{show.plural(len(content), 'row')} in the request itself", ""
        case {"type": "file_content", "total": int() as total}:
            return f"{show.plural(total, 'row')} in the request itself", ""
        case {"type": "local_file", "path": "-"}:
            return "what stood on standard input of fairmark eval", ""
        case {"type": "local_file", "path": str() as path}:
            query = f", asked {show.compact(source['sql'], 300)}" if source.get("sql") else ""
            return f"{path}, on the machine of fairmark eval{query}", ""
        case {"type": str() as type_}:
            chosen = {name: value for name, value in source.items() if name != "type" and value not in (None, {})}
            return f"{type_.replace('_', ' ')}{f', {show.compact(chosen, 300)}' if chosen else ''}", ""
        case _:
            return "not known", ""


def _readable(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    match content:
        case {"text": str() as text}:
            return {**message, "content": text}
        case _:
            return dict(message)


async def _key_name(request: Request, created_by: str | None) -> str:
    """The name of the key that asked for it; empty where it was none, or is gone."""
    if created_by is None:
        return ""
    keys = await state(request).store.keys.list(project(request))
    return next((f"{key.name or key.start} ({key.start}…)" for key in keys if key.id == created_by), created_by)


def _limits(run: Run) -> list[tuple[str, str]]:
    budget = run.options.get("budget") or {}
    limits = [("Budget", show.money(budget["dollars"]))] if "dollars" in budget else []
    if "tokens" in budget:
        limits.append(("Budget in tokens", show.number(budget["tokens"])))
    if run.options.get("deadline_s") is not None:
        limits.append(("Deadline", show.duration(run.options["deadline_s"])))
    return limits


async def again(request: Request) -> Response:
    """A new run of the same rows, model and criteria: what was sampled is sampled anew."""
    eval_, run = await named_eval(request), await named_run(request)
    shared, back = state(request), f"/evals/{run.eval_id}/runs/{run.id}"
    body = {
        "name": f"{run.name or run.id}, again"[:LONGEST_NAME],
        "metadata": run.metadata,
        "data_source": await asyncio.to_thread(_source, run),
        **run.options,
    }
    try:
        await shared.keeper.settled(project(request))
        made = await new_run(
            shared.store, shared.registry, shared.engine, project(request), eval_, body, key_id(request)
        )
    except ApiError as error:
        return redirect(back, f"It cannot be run again. {error.message}")
    return redirect(f"/evals/{made.eval_id}/runs/{made.id}")


async def retry(request: Request) -> Response:
    """The rows that could not be graded, once more in this run."""
    eval_, run = await named_eval(request), await named_run(request)
    return await _reopened(request, run, retry_errors(state(request).store, state(request).engine, eval_, run))


async def continue_(request: Request) -> Response:
    """The rows that a stopped run had not done."""
    eval_, run = await named_eval(request), await named_run(request)
    return await _reopened(request, run, go_on(state(request).store, state(request).engine, eval_, run))


async def _reopened(request: Request, run: Run, reopening: Any) -> Response:
    back = f"/evals/{run.eval_id}/runs/{run.id}"
    try:
        await reopening
    except ApiError as error:
        return redirect(back, f"That did not work. {error.message}")
    return redirect(back)
