"""Files of labels into a run: lines as `trust.labelled` reads them, each joined to the row it is about.

A line is about the row that its `item_id` names, else about the first row with its item and its answer. All or nothing:
whatever is wrong with a line, it is named and nothing is taken in.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidData
from fairmark.labelling.answers import answer_of, text_of
from fairmark.labelling.calls import check_other, find_labelled, keep, read_label
from fairmark.labelling.question import LabelQuestion, criteria_of, question_for
from fairmark.refusals import invalid
from fairmark.store import Eval, Item, NewLabel, Run, Store
from fairmark.trust.labelled import KINDS, answer_key, collect

MOST_LINES = 200_000


class Imported(NamedTuple):
    kept: int
    older: int
    """Of which the run has later ones by the same rater."""
    without: int
    """Lines on which nobody said anything."""

    def dump(self, run: Run) -> dict[str, Any]:
        return {
            "object": "label.import",
            "run_id": run.id,
            "labels": self.kept,
            "older": self.older,
            "without_value": self.without,
        }


async def take_in(
    store: Store,
    eval_: Eval,
    run: Run,
    content: bytes,
    name: str = "labels",
    criterion: str | None = None,
    rater: str = "",
    other_id: str | None = None,
) -> Imported:
    """Raises ApiError, which names the line."""
    lines = await asyncio.to_thread(_read, content, name)
    said = [(number, line) for number, line in lines if any(line.get(kind) is not None for kind in KINDS)]
    if not said:
        raise invalid(f"{name}: on none of its {len(lines)} lines anybody said anything.", code="no_labels")
    kind = next(kind for kind in KINDS if said[0][1].get(kind) is not None)
    question = question_for(criteria_of(eval_, run), criterion, kind)
    other = None
    if other_id:
        _, other = await find_labelled(store, run.project, other_id)
        check_other(run, other)
    places = await _places(store, run, said, name)
    labels = await asyncio.to_thread(_labels, said, places, question, rater or "unnamed", other, name)
    put = await keep(store, run, labels)
    older = sum(one.became == "older" for one in put)
    return Imported(len(put) - older, older, len(lines) - len(said))


def _read(content: bytes, name: str) -> list[tuple[int, Mapping[str, Any]]]:
    lines = list(_lines(content, name))
    try:
        collect(lines, name)
    except InvalidData as error:
        raise invalid(str(error), "body" if error.row is None else f"line {error.row}") from None
    return lines


def _lines(content: bytes, name: str) -> Iterator[tuple[int, Any]]:
    count = 0
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        count += 1
        if count > MOST_LINES:
            raise invalid(f"{name}: it has more than {MOST_LINES} lines.", "body")
        try:
            yield number, jsontext.decode(line)
        except jsontext.NotJson as error:
            raise invalid(f"{name}, line {number}: not JSON: {error}.", f"line {number}", "invalid_json") from None


async def _places(store: Store, run: Run, said: Sequence[tuple[int, Mapping[str, Any]]], name: str) -> dict[int, int]:
    """The row of each line, by the line's number."""
    told = [line["item_id"] for _, line in said if isinstance(line.get("item_id"), str)]
    by_id = await store.items.indexes(run, told)
    there = {
        item.idx
        for at in range(0, len(told), 500)
        for item in await store.rows.at(run, [by_id[id_] for id_ in told[at : at + 500] if id_ in by_id])
    }
    places: dict[int, int] = {}
    wanted: dict[bytes, list[int]] = {}
    for number, line in said:
        idx = by_id.get(line["item_id"]) if isinstance(line.get("item_id"), str) else None
        if idx is not None and idx in there:
            places[number] = idx
        else:  # lines of another run, or another store: known by what they are about
            wanted.setdefault(_key(line), []).append(number)
    if wanted:
        async for items in store.rows.stream(run):
            await asyncio.to_thread(_match, items, wanted, places)
            if not wanted:
                break
    if wanted:
        lost = sorted(number for numbers in wanted.values() for number in numbers)
        raise invalid(
            f"{name}, line {lost[0]}: the run {run.id} has no row with this item and answer. So it is with "
            f"{len(lost)} of {len(said)} lines.",
            f"line {lost[0]}",
            "no_such_row",
        )
    return places


def _key(line: Mapping[str, Any]) -> bytes:
    samples = line.get("samples")
    sample = samples["a"] if isinstance(samples, Mapping) else line.get("sample")
    item = line.get("item") or {}
    if isinstance(samples, Mapping) and item.get("a") == sample:
        return answer_key(item, None)  # both answers stand in the item
    return answer_key(item, text_of(sample))


def _match(items: Sequence[Item], wanted: dict[bytes, list[int]], places: dict[int, int]) -> None:
    for item in items:
        answer = answer_of(item)
        for key in (answer_key(answer.item, answer.text), answer_key(answer.item, None)):
            for number in wanted.pop(key, ()):
                places[number] = item.idx


def _labels(
    said: Sequence[tuple[int, Mapping[str, Any]]],
    places: Mapping[int, int],
    question: LabelQuestion,
    rater: str,
    other: Run | None,
    name: str,
) -> list[NewLabel]:
    labels = []
    now = time.time()
    for number, line in said:
        at = line.get("time")
        is_time = isinstance(at, (int, float)) and not isinstance(at, bool) and 0 <= at <= now
        told = {field: value for field, value in line.items() if field not in ("id", "ago_s")}
        try:
            labels.append(
                read_label(question, places[number], told, rater, other, float(at or 0.0) if is_time else now)
            )
        except ApiError as error:
            raise invalid(f"{name}, line {number}: {error.message}", error.param, error.code or "") from None
    return labels
