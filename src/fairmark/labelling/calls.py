"""The calls about labels that the API, the page and the commands share: read one, put it, show it."""

import math
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from fairmark import jsontext
from fairmark.errors import LabelTaken
from fairmark.labelling.question import LabelQuestion, criteria_of, find_question
from fairmark.refusals import invalid, missing, not_found, refused, wrong_type
from fairmark.store import Eval, Label, NewLabel, Run, Store, ids
from fairmark.store.evals.labels import PREFIX, PutLabel
from fairmark.trust.labelled import KINDS

LONGEST_RATER = 200
LONGEST_NOTE = 10_000
MOST_SECONDS = 86_400
FIELDS = (
    "run_id", "item_id", "row", *KINDS, "criterion", "rater", "note", "seconds", "picked", "chance", "weight", "side",
    "other_run_id", "id", "ago_s",
)  # fmt: skip


async def find_labelled(store: Store, project: str, run_id: Any) -> tuple[Eval, Run]:
    """The run of this id, and its eval. Raises ApiError."""
    if run_id is None or run_id == "":
        raise missing("run_id", "It takes the id of a run.")
    if not isinstance(run_id, str):
        raise wrong_type("run_id", "a string", run_id)
    run = await store.runs.find(project, run_id)
    eval_ = None if run is None else await store.evals.get(project, run.eval_id)
    if run is None or eval_ is None:
        raise not_found("run", run_id)
    return eval_, run


async def put_label(store: Store, project: str, body: Mapping[str, Any], rater: str) -> tuple[Label | None, PutLabel]:
    """`rater`: who asks, where the body names nobody. The label as it stands now, None where it was taken back, and
    what became of this one. Raises ApiError."""
    for name in body:
        if name not in FIELDS:
            near = get_close_matches(str(name), FIELDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else f" Use: {', '.join(FIELDS)}."
            raise invalid(f"{jsontext.shorten(str(name), 60)}: unknown.{hint}", str(name)[:60], "unknown_parameter")
    eval_, run = await find_labelled(store, project, body.get("run_id"))
    question = find_question(criteria_of(eval_, run), body)
    idx = await _row(store, run, body)
    other = await _other(store, project, run, question, body.get("other_run_id"))
    label = read_label(question, idx, body, rater, other)
    (put,) = await keep(store, run, [label])
    return await store.labels.get(project, put.id), put


async def keep(store: Store, run: Run, labels: Sequence[NewLabel]) -> list[PutLabel]:
    """What became of each, all or nothing. Raises ApiError where the run is gone, or an id is another label's."""
    try:
        put = await store.labels.put(run, labels)
    except LabelTaken as error:
        raise refused(error) from None
    if put is None:
        raise not_found("run", run.id)
    return put


async def _row(store: Store, run: Run, body: Mapping[str, Any]) -> int:
    item_id, row = body.get("item_id"), body.get("row")
    if (item_id is None) == (row is None):
        raise invalid("a label is about one row: give its item_id, the id of its output item, or its row.", "item_id")
    if row is not None:
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < 2**31:
            raise wrong_type("row", "the number of a row, from 0", row)
        item_id = ids.of_item(run.id, row)
        items = await store.rows.at(run, [row])
        if not items:
            raise not_found("row", str(row))
        return row
    if not isinstance(item_id, str):
        raise wrong_type("item_id", "a string", item_id)
    item = await store.items.get(run, item_id)
    if item is None:
        raise not_found("output item", item_id)
    return item.idx


async def _other(store: Store, project: str, run: Run, question: LabelQuestion, other_id: Any) -> Run | None:
    if other_id is None:
        return None
    if question.kind != "preferred":
        raise invalid(
            "other_run_id: it goes with preferred, which says which of two answers is better.", "other_run_id"
        )
    _, other = await find_labelled(store, project, other_id)
    check_other(run, other)
    return other


def check_other(run: Run, other: Run) -> None:
    """Raises ApiError where their answers are no pairs."""
    if other.eval_id != run.eval_id or other.seq == run.seq:
        raise invalid("other_run_id: it takes another run of the same eval.", "other_run_id")


def read_label(
    question: LabelQuestion,
    idx: int,
    body: Mapping[str, Any],
    rater: str,
    other: Run | None = None,
    at: float | None = None,
) -> NewLabel:
    """`at`: when it was said, where the body does not tell by `ago_s`. Raises ApiError."""
    ago = _number(body, "ago_s", 0.0, 10 * 365 * 86_400.0) or 0.0
    id_ = _text(body, "id", 100) or ""
    if id_ and (not id_.startswith(PREFIX) or not ids.plausible(id_)):
        raise invalid(f"id: found {jsontext.quote(id_)}. It takes {PREFIX} and letters, digits, _ or -.", "id")
    side = _text(body, "side", 1)
    if side is not None and side not in ("a", "b"):
        raise invalid(f"side: found {jsontext.quote(side)}. Use one of: a, b.", "side")
    return NewLabel(
        idx=idx,
        rater=read_rater(body, rater),
        kind=question.kind,
        value=question.check(body.get(question.kind)),
        labelled_at=(time.time() if at is None else at) - ago,
        id=id_,
        criterion=question.criterion,
        note=_text(body, "note", LONGEST_NOTE) or None,
        seconds=_number(body, "seconds", 0.0, MOST_SECONDS),
        picked=_text(body, "picked", 40),
        chance=_number(body, "chance", 1e-12, 1.0),
        weight=_number(body, "weight", 1e-12, 1e12),
        side=side,
        other_seq=None if other is None else other.seq,
    )


def read_rater(body: Mapping[str, Any], rater: str) -> str:
    name = (_text(body, "rater", LONGEST_RATER) or rater).strip()
    if not name:
        raise missing("rater", "It takes the name of whoever says so.")
    return name


def _text(body: Mapping[str, Any], name: str, longest: int) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    if value is not None and len(value) > longest:
        raise invalid(f"{name}: it has {len(value)} characters. It takes at most {longest}.", name)
    return value


def _number(body: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise wrong_type(name, "a number", value)
    if not least <= value <= most:
        raise invalid(f"{name}: found {value:g}. It takes a number from {least:g} to {most:g}.", name)
    return float(value)


def label_wire(label: Label) -> dict[str, Any]:
    return {
        "object": "label",
        "id": label.id,
        "run_id": label.run_id,
        "eval_id": label.eval_id,
        "item_id": label.item_id,
        "row": label.idx,
        "criterion": label.criterion or None,
        label.kind: label.value,
        "rater": label.rater,
        "note": label.note,
        "seconds": label.seconds,
        "picked": label.picked,
        "chance": label.chance,
        "weight": label.weight,
        "side": label.side,
        "other_run_id": label.other_run_id,
        "repeated": bool(label.turn),
        "labelled_at": label.labelled_at,
        "created_at": label.created_at,
    }


async def key_name(store: Store, project: str, key_id: str | None) -> str:
    """The name of the key that somebody comes with; empty where it has none, or there are no keys."""
    if key_id is None:
        return ""
    keys = await store.keys.list(project)
    return next((key.name.strip() for key in keys if key.id == key_id), "")
