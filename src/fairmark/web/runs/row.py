"""The page of one row: its item, what was said, and what every criterion made of it and why."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals.criteria import DEFAULT_THRESHOLD, load_criteria
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import JSON, base_url, state
from fairmark.store import Item, Run, ids
from fairmark.web.frame import render
from fairmark.web.runs import outputs, view
from fairmark.web.runs.detail import path_of
from fairmark.web.runs.outputs import Message, Passage, Room, ShownJudge

A_LINE = 100
"""Values that are longer as JSON have lines of their own."""
_MOST_ROWS = 2**31


class Field(NamedTuple):
    """A field of an item: a text to read, or another value."""

    name: str
    passage: Passage | None
    value: Any
    line: str = ""
    """The value in one line, where it is short."""


class Judged(NamedTuple):
    """What one criterion made of the row."""

    number: int
    name: str
    kind: str
    outcome: str
    reward: float
    threshold: float
    error: str | None
    is_traceback: bool
    judge: ShownJudge | None
    parts: list[tuple[str, float]]
    """The rewards that it is made of."""
    printed: str | None
    warnings: list[str]
    registered: list[dict[str, Any]]


class Whole(NamedTuple):
    """A row as its page shows it."""

    status: str
    created_at: int
    fields: list[Field]
    asked: list[Message]
    said: list[Message]
    sample: dict[str, Any]
    results: list[Judged]
    is_cut: bool


async def page(request: Request) -> Response:
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    item = await _find(request, run)
    criteria = run.criteria or eval_.criteria
    chosen = view.read(request)
    beside = await state(request).store.rows.neighbours(run, chosen.view(len(criteria)), item.idx)
    path = path_of(run)
    here = chosen.address(f"{path}/rows/{item.idx}")
    return render.page(
        request,
        "runs/row.html",
        eval=eval_,
        run=run,
        idx=item.idx,
        row=await asyncio.to_thread(_read, item, criteria),
        size=len(item.body),
        path=path,
        chosen=chosen,
        back=chosen.address(path),
        link=base_url(request) + here,
        previous="" if beside.previous is None else chosen.address(f"{path}/rows/{beside.previous}"),
        next="" if beside.next is None else chosen.address(f"{path}/rows/{beside.next}"),
    )


async def raw(request: Request) -> Response:
    """The row's output item as the API gives it, however long."""
    run = await named_run(request, with_source=False)
    item = await _find(request, run)
    return Response(
        item.body, media_type=JSON, headers={"content-disposition": f'inline; filename="row-{item.idx}.json"'}
    )


async def _find(request: Request, run: Run) -> Item:
    idx: int = request.path_params["idx"]
    item = await state(request).store.items.get(run, ids.of_item(run.id, idx)) if idx < _MOST_ROWS else None
    if item is None:
        waiting = " It may not be graded yet." if run.status in ("queued", "in_progress") else ""
        raise ApiError(404, f"This run has no row {jsontext.shorten(str(idx), 20)}.{waiting}", code="not_found")
    return item


def _read(item: Item, criteria: Sequence[dict[str, Any]]) -> Whole:
    body: dict[str, Any] = jsontext.decode(item.body)
    room = Room()
    sample = body["sample"]
    said = room.messages(sample["output"])
    results = {each["name"]: each for each in body["results"]}
    judged = [
        _judged(room, number, each.name, each.type, each.spec.threshold if each.spec else None, results[each.id])
        for number, each in enumerate(load_criteria(criteria), 1)
        if each.id in results
    ]
    fields = [
        _field(room, name, value) for name, value in list(body["datasource_item"].items())[: outputs.MOST_MESSAGES]
    ]
    asked = room.messages(sample["input"])
    is_cut = room.is_cut or len(body["datasource_item"]) > outputs.MOST_MESSAGES
    about = {name: sample.get(name) for name in ("model", "finish_reason", "usage", "error")}
    return Whole(item.status, body["created_at"], fields, asked, said, about, judged, is_cut)


def _field(room: Room, name: str, value: Any) -> Field:
    if isinstance(value, str):
        return Field(name, room.passage(value), None)
    fitting = room.fit(value)
    line = jsontext.write(fitting)
    return Field(name, None, fitting, line if len(line) <= A_LINE else "")


def _judged(room: Room, number: int, name: str, kind: str, threshold: float | None, result: dict[str, Any]) -> Judged:
    score = outputs.score_of(result)
    error = None if score.error is None else room.text(score.error)
    return Judged(
        number=number,
        name=name,
        kind=kind,
        outcome=score.outcome,
        reward=score.reward,
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        error=error,
        is_traceback=error is not None and "\n" in error,
        judge=room.judge(result["sample"]) if result.get("sample") else None,
        parts=list(result["sub_rewards"].items())[: outputs.MOST_MESSAGES],
        printed=room.text(result["printed"]) if result["printed"] else None,
        warnings=[room.text(each) for each in result["warnings"]],
        registered=result.get("registered", []),
    )
