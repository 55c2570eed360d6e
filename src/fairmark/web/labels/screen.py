"""One row a screen: what a rater sees of it, and what becomes of each key.

Nothing here tells what the judge said, whose answer it is, or what others said: a label is worth something only where
nobody was led.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals.foreign import readable
from fairmark.evals.regrade import row_of
from fairmark.labelling import standing
from fairmark.labelling.answers import sides_of
from fairmark.labelling.calls import keep, read_label
from fairmark.labelling.question import LabelQuestion, criteria_of, questions
from fairmark.refusals import invalid, not_found, wrong_type
from fairmark.row import is_chat
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import answer, project, read_object, state
from fairmark.store import Eval, Item, Label, LabelBatch, NewLabel, Run
from fairmark.trust.places import REFERENCES
from fairmark.web.frame import render
from fairmark.web.runs.detail import path_of
from fairmark.web.runs.outputs import Message, Passage, Room
from fairmark.web.runs.row import ItemField, item_field

ROWS_A_LOOK = 10
MOST_ENTRIES = 200
"""Labels that a browser sends at once."""
_HIDDEN = ("model",)
"""Fields of an item that would tell whose answer it is."""


class ShownAnswer(NamedTuple):
    name: str
    said: list[Message]
    passage: Passage | None


class ShownRow(NamedTuple):
    at: int
    asked: list[Message]
    fields: list[ItemField]
    references: list[ItemField]
    answers: list[ShownAnswer]
    is_cut: bool


async def page(request: Request) -> Response:
    eval_, run, batch = await _named(request)
    labels = await state(request).store.labels.of_run(run)
    question = question_of(eval_, run, batch)
    path = path_of(run)
    here = f"{path}/label/{batch.id}"
    return render.page(
        request,
        "labels/screen.html",
        eval=eval_,
        path=path,
        question=question,
        rater=batch.rater,
        batch={
            "id": batch.id,
            "kind": batch.kind,
            "choices": [choice._asdict() for choice in question.choices],
            "rows": _known(batch, labels),
            "parts": f"{here}/rows",
            "save": f"{here}/save",
            "page": ROWS_A_LOOK,
        },
        total=len(batch.rows),
        has_keys=any(choice.key for choice in question.choices),
    )


async def _named(request: Request) -> tuple[Eval, Run, LabelBatch]:
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    batch_id = request.path_params["batch_id"]
    batch = await state(request).store.label_batches.get(run, batch_id)
    if batch is None:
        raise not_found("batch of labels", batch_id)
    return eval_, run, batch


def question_of(eval_: Eval, run: Run, batch: LabelBatch) -> LabelQuestion:
    asked = [question for question in questions(criteria_of(eval_, run)) if question.criterion == batch.criterion]
    ours = next((question for question in asked if question.kind == batch.kind), None)
    if ours is None:
        raise ApiError(409, "The criterion that this batch was about is no longer the run's.", code="gone")
    return ours


def _known(batch: LabelBatch, labels: Sequence[Label]) -> list[dict[str, Any]]:
    """Of each row what its rater said before, as the page shows it."""
    said = {(label.idx, label.turn): label for label in labels if _is_of(label, batch)}
    shown: list[dict[str, Any]] = []
    for row in batch.rows:
        label = said.get((row.idx, row.turn))
        if label is None:
            shown.append({"side": row.side})
            continue
        skipped = label.kind == "skip"
        value = None if skipped else label.value
        shown.append({"side": row.side, "id": label.id, "value": value, "skipped": skipped, "note": label.note or ""})
    return shown


def _is_of(label: Label, batch: LabelBatch) -> bool:
    return (label.rater, label.criterion, label.other_seq) == (batch.rater, batch.criterion, batch.other_seq) and (
        label.kind in (batch.kind, "skip")
    )


# The rows


async def parts(request: Request) -> Response:
    """Some rows of the batch, each as the piece of a page."""
    eval_, run, batch = await _named(request)
    start = request.query_params.get("from", "0")
    if not re.fullmatch("[0-9]{1,6}", start):
        raise invalid("from: it takes a number.", "from")
    places = range(int(start), min(int(start) + ROWS_A_LOOK, len(batch.rows)))
    store = state(request).store
    indexes = [batch.rows[at].idx for at in places]
    items = {item.idx: item for item in await store.rows.at(run, indexes)}
    others: dict[int, Item] = {}
    if batch.other_run_id is not None:
        other = await store.runs.find(project(request), batch.other_run_id)
        partners = {} if other is None else await store.comparison.partners(run, other)
        if other is not None:
            their_items = await store.rows.at(other, [partners[idx] for idx in indexes if idx in partners])
            by_index = {item.idx: item for item in their_items}
            others = {idx: by_index[partners[idx]] for idx in indexes if partners.get(idx) in by_index}
    criteria, question = criteria_of(eval_, run), question_of(eval_, run, batch)
    shown = await asyncio.to_thread(
        lambda: {at: _shown(at, batch, question, items.get(batch.rows[at].idx), others, criteria) for at in places}
    )
    template = render.environment().get_template("labels/row.html")
    pieces = await asyncio.to_thread(
        lambda: {str(at): template.render(row=row) for at, row in shown.items() if row is not None}
    )
    gone = [at for at, row in shown.items() if row is None]
    return answer({"rows": pieces, "gone": gone})


def _shown(
    at: int,
    batch: LabelBatch,
    question: LabelQuestion,
    item: Item | None,
    others: Mapping[int, Item],
    criteria: Sequence[dict[str, Any]],
) -> ShownRow | None:
    if item is None:
        return None
    row = batch.rows[at]
    body = readable(item.body, criteria)
    room = Room()
    fields = dict(body["datasource_item"])
    answers = _answers(room, batch, question, item, body, fields, others.get(row.idx), criteria, row.side)
    if answers is None:
        return None
    known = [name for name in fields if name in REFERENCES]
    references = [item_field(room, name, fields[name]) for name in known]
    rest = [
        item_field(room, name, value) for name, value in fields.items() if name not in known and name not in _HIDDEN
    ]
    return ShownRow(at, room.messages(body["sample"]["input"]), rest[:50], references, answers, room.is_cut)


def _answers(
    room: Room,
    batch: LabelBatch,
    question: LabelQuestion,
    ours: Item,
    body: Mapping[str, Any],
    fields: dict[str, Any],
    other: Item | None,
    criteria: Sequence[dict[str, Any]],
    first: str,
) -> list[ShownAnswer] | None:
    """None where there are no two to be compared."""
    if batch.kind != "preferred":
        return [ShownAnswer("Answer", room.messages(body["sample"]["output"]), None)]
    if batch.other_run_id is not None:
        if other is None:
            return None
        said = {"a": body["sample"]["output"], "b": readable(other.body, criteria)["sample"]["output"]}
        both = {side: ShownAnswer("", room.messages(messages), None) for side, messages in said.items()}
    else:
        item, sample, _, _ = row_of(ours.body)
        compared = sides_of(criteria, question, item, sample)
        if compared["a"] is None or compared["b"] is None:
            return None
        both = {side: _part(room, part) for side, part in compared.items()}
        for side, part in compared.items():
            if fields.get(side) == part:
                del fields[side]
    order = ("a", "b") if first == "a" else ("b", "a")
    return [both[side]._replace(name=name) for side, name in zip(order, ("First", "Second"), strict=True)]


def _part(room: Room, value: Any) -> ShownAnswer:
    if is_chat(value):
        return ShownAnswer("", room.messages(value), None)
    return ShownAnswer("", [], room.passage(value if isinstance(value, str) else jsontext.write(value)))


# What is said of them


async def save(request: Request) -> Response:
    """Entries of one browser, in their order: labels, skips, and what is taken back. Each may come more than once."""
    eval_, run, batch = await _named(request)
    body = await read_object(request)
    entries = body.get("entries")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise wrong_type("entries", "a list of objects", entries)
    if len(entries) > MOST_ENTRIES:
        raise invalid(f"entries: found {len(entries)}. It takes at most {MOST_ENTRIES} at once.", "entries")
    question = question_of(eval_, run, batch)
    became: dict[str, str] = {}
    refused: dict[str, str] = {}
    store = state(request).store
    for number, entry in enumerate(entries):
        id_ = entry.get("id") if isinstance(entry.get("id"), str) else f"entry {number}"
        try:
            if isinstance(entry.get("undo"), str):
                await store.labels.delete(project(request), entry["undo"], run)
                became[id_] = "undone"
            else:
                (put,) = await keep(store, run, [_read(batch, question, entry)])
                became[id_] = put.became
        except ApiError as error:
            if error.status not in (400, 409):
                raise
            refused[id_] = error.message
    saved: dict[str, Any] = {"became": became, "refused": refused}
    if body.get("status") is True:
        saved["status"] = await live(request, run, batch)
    return answer(saved)


def _read(batch: LabelBatch, question: LabelQuestion, entry: Mapping[str, Any]) -> NewLabel:
    at = entry.get("at")
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(batch.rows):
        raise invalid(f"at: it takes the place of a row in the batch, 0 to {len(batch.rows) - 1}.", "at")
    row = batch.rows[at]
    is_skip = entry.get("value") is None
    told = {
        "id": entry.get("id"),
        "note": entry.get("note"),
        "seconds": entry.get("seconds"),
        "ago_s": entry.get("ago_s"),
        question.kind: question.choices[0].value if is_skip else entry["value"],
    }
    label = read_label(question, row.idx, told, batch.rater)
    return NewLabel(
        idx=row.idx,
        rater=batch.rater,
        kind="skip" if is_skip else label.kind,
        value=None if is_skip else label.value,
        labelled_at=label.labelled_at,
        id=label.id,
        criterion=label.criterion,
        turn=row.turn,
        note=label.note,
        seconds=label.seconds,
        picked=row.picked,
        chance=row.chance,
        side=row.side if question.kind == "preferred" else None,
        other_seq=batch.other_seq,
    )


async def live(request: Request, run: Run, batch: LabelBatch) -> dict[str, Any]:
    """How labelling stands, without a word of what anybody said."""
    store = state(request).store
    labels = [label for label in await store.labels.of_run(run) if _about(label, batch)]
    return await asyncio.to_thread(standing.live, labels, batch.rater)


def _about(label: Label, batch: LabelBatch) -> bool:
    ours = (batch.criterion, batch.other_seq, batch.kind)
    return not label.turn and (label.criterion, label.other_seq, label.kind) == ours
