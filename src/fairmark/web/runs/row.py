"""The page of one row: its item, what was said, and what every criterion made of it and why."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError, GradingFailed
from fairmark.evals.criteria import Criterion, load_criteria
from fairmark.evals.foreign import readable
from fairmark.evals.regrade import row_of
from fairmark.labelling import pushed
from fairmark.refusals import invalid
from fairmark.result import is_split
from fairmark.row import Row, is_chat, make_row
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import JSON, base_url, state
from fairmark.store import Item, Run, ids
from fairmark.web.frame import render, show
from fairmark.web.frame.visit import redirect
from fairmark.web.runs import outputs, rowpages, view
from fairmark.web.runs.detail import path_of
from fairmark.web.runs.explaining import Explained, explain, verdict
from fairmark.web.runs.outputs import Message, Passage, Room, ShownJudge

A_LINE = 100
"""Values that are longer as JSON have lines of their own."""
_MOST_ROWS = 2**31


class ItemField(NamedTuple):
    """A field of an item: a text to read, or another value."""

    name: str
    passage: Passage | None
    value: Any
    line: str = ""
    """The value in one line, where it is short."""
    turns: tuple[Message, ...] = ()
    """Where it is a conversation."""


class Judged(NamedTuple):
    """What one criterion made of the row."""

    number: int
    name: str
    kind: str
    outcome: str
    reward: float
    error: str | None
    is_traceback: bool
    words: str
    """The threshold, in words."""
    judge: ShownJudge | None
    panel: list[ShownJudge]
    """Where several judges were asked: each of them."""
    split: str
    """That they were not of one mind and who was not of the panel's, in words; empty where they were."""
    explained: Explained
    parts: list[tuple[str, float]]
    """The rewards that it is made of, where nothing more is known of them."""
    printed: str | None
    warnings: list[str]
    registered: list[dict[str, Any]]


class Whole(NamedTuple):
    """A row as its page shows it."""

    status: str
    created_at: int
    fields: list[ItemField]
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
    beside = await rowpages.neighbours(request, run, len(criteria), chosen, item.idx)
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
        said=await _said(request, run, item, criteria),
    )


class RowSaying(NamedTuple):
    """What a rater, or a custom grader, says of a row."""

    who: str
    value: str
    about: str
    note: str
    at: float


async def _said(request: Request, run: Run, item: Item, criteria: Sequence[dict[str, Any]]) -> list[RowSaying]:
    store = state(request).store
    names = {str(criterion["id"]): str(criterion["name"]) for criterion in criteria} if len(criteria) > 1 else {}
    labels = await store.labels.of_row(run, item.idx)
    said = [
        RowSaying(
            f"{label.rater}, at a second look" if label.turn else label.rater,
            label.value if isinstance(label.value, str) else show.reward(label.value),
            f"against {label.other_run_id}" if label.other_run_id else names.get(label.criterion, ""),
            label.note or "",
            label.labelled_at,
        )
        for label in labels
    ]
    fields = await asyncio.to_thread(lambda: row_of(item.body)[0])
    scores = await pushed.of_row(store, run, item.id, fields)
    return said + [
        RowSaying(by.name, show.reward(by.score.value), "pushed", by.score.reasoning or "", by.score.created_at)
        for by in scores
    ]


async def jump(request: Request) -> Response:
    """To the row whose number a form holds, within the choice."""
    run = await named_run(request, with_source=False)
    number = request.query_params.get("row", "").strip()
    if not re.fullmatch("[0-9]{1,10}", number):
        raise invalid(f"row: found {jsontext.quote(number[:40])}. It takes the number of a row.", "row")
    return redirect(view.read(request).address(f"{path_of(run)}/rows/{int(number)}"))


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
    body = readable(item.body, criteria)
    room = Room()
    sample = body["sample"]
    said = room.messages(sample["output"])
    results = {result["name"]: result for result in body["results"]}
    row = _row(item)
    judged = [
        _judged(room, number, criterion, row, results[criterion.id])
        for number, criterion in enumerate(load_criteria(criteria), 1)
        if criterion.id in results
    ]
    fields = [
        item_field(room, name, value) for name, value in list(body["datasource_item"].items())[: outputs.MOST_MESSAGES]
    ]
    asked = room.messages(sample["input"])
    is_cut = room.is_cut or len(body["datasource_item"]) > outputs.MOST_MESSAGES
    about = {name: sample.get(name) for name in ("model", "finish_reason", "usage", "error")}
    return Whole(item.status, body["created_at"], fields, asked, said, about, judged, is_cut)


def item_field(room: Room, name: str, value: Any) -> ItemField:
    if isinstance(value, str):
        return ItemField(name, room.passage(value), None)
    if is_chat(value):
        return ItemField(name, None, None, "", tuple(room.messages(value)))
    fitting = room.fit(value)
    line = jsontext.write(fitting)
    return ItemField(name, None, fitting, line if len(line) <= A_LINE else "")


def _row(item: Item) -> Row | None:
    """The row as graders saw it; None where it is none that they can read."""
    source, sample, _, _ = row_of(item.body)
    try:
        return make_row(source, sample)
    except GradingFailed:
        return None


def _judged(room: Room, number: int, criterion: Criterion, row: Row | None, result: dict[str, Any]) -> Judged:
    score = outputs.score_of(result)
    error = None if score.error is None else room.text(score.error)
    explained = explain(room, criterion.spec, row, result)
    asked = (result["sample"] or {}).get("input", [])
    panel = [
        room.judge({**judge, "input": judge["input"] or asked})._replace(differs=differs)
        for judge, differs in zip(result["judgements"], _differing(result), strict=True)
    ]
    return Judged(
        number=number,
        name=criterion.name,
        kind=criterion.type,
        outcome=score.outcome,
        reward=score.reward,
        error=error,
        is_traceback=error is not None and "\n" in error,
        words=verdict(criterion.spec, score.reward, score.outcome == "pass"),
        judge=room.judge(result["sample"]) if result["sample"] and not panel else None,
        panel=panel,
        split=_split(room, result.get("spread")),
        explained=explained,
        parts=[] if explained.parts else list(result["sub_rewards"].items())[: outputs.MOST_MESSAGES],
        printed=room.text(result["printed"]) if result["printed"] else None,
        warnings=[room.text(warning) for warning in result["warnings"]],
        registered=result.get("registered", []),
    )


def _differing(result: dict[str, Any]) -> list[bool]:
    """Of each judgement whether it is another than the panel's, as far as the result tells."""
    judgements, spread = result["judgements"], result.get("spread")
    differs = spread.get("differs") if isinstance(spread, dict) else None
    answered = [not judgement["error"] for judgement in judgements]
    if not isinstance(differs, list) or len(differs) != sum(answered):
        return [False] * len(judgements)
    said = iter(differs)
    return [is_there and next(said) is True for is_there in answered]


def _split(room: Room, spread: Any) -> str:
    if not is_split(spread):
        return ""
    dissent = [room.text(model) for model in spread.get("dissent", ()) if isinstance(model, str)]
    return f"The judges split. Differed from the panel: {', '.join(dissent)}." if dissent else "The judges split."
