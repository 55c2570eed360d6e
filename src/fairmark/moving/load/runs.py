"""Runs out of an archive: history, with statuses and counts as they were and all their output items.

A run is begun in one transaction, its items follow in several, and one more ends it. Whoever is killed in between
leaves a run that says so, and the next load takes it in from the start.
"""

import asyncio
import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fairmark import jsontext, longjson
from fairmark.evals.criteria import unrunnable
from fairmark.evals.foreign import FLATTENED
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.bodies import run_body, with_members
from fairmark.moving.load.evals import read_criteria
from fairmark.moving.load.items import MOST_TOLD, ArchivedItems
from fairmark.moving.load.loading import Loading, StorePlace, object_of, read_object, text_of, whole_of
from fairmark.moving.load.parts import is_made_up, run_to_load
from fairmark.store import Eval
from fairmark.store.received import Present, ReceivedRun

KIND: Final = "runs"
_STATUS = re.compile(r"[a-z_]{1,40}")
_COUNTERS = ("passed", "failed", "errored", "skipped")
_USAGE = ("invocation_count", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")


async def load_runs(loading: Loading) -> None:
    """The oldest first, one at a time: a run may hold all its rows."""
    for id_ in await asyncio.to_thread(_by_time, loading.archive):
        body = await asyncio.to_thread(loading.archive.read, part_name("runs", id_, ".json"))
        value = None if body is None else await asyncio.to_thread(read_object, loading, KIND, id_, body, rows=True)
        if body is None or value is None:
            continue
        if not loading.is_part:
            await _load(loading, loading.archive, body, value)
            continue
        with tempfile.TemporaryDirectory(prefix="fairmark-load-") as folder:
            await _load(loading, *await run_to_load(loading, Path(folder), body, value))


def _by_time(archive: Archive) -> list[str]:
    dated = []
    for id_ in archive.ids("runs", ".json"):
        try:
            told = longjson.members(archive.read(part_name("runs", id_, ".json")) or b"{}").get("created_at")
            dated.append((whole_of(jsontext.decode(jsontext.encode(told))), id_))
        except jsontext.NotJson:
            dated.append((0, id_))  # it is told when it is read
    return [id_ for _, id_ in sorted(dated)]


async def _load(loading: Loading, archive: Archive, body: bytes, value: dict[str, Any]) -> None:
    """`archive` has its items."""
    id_, given_eval = text_of(value.get("id")), text_of(value.get("eval_id"))
    eval_id = loading.copies.get("evals", given_eval) or given_eval
    if given_eval in loading.left_out:
        loading.report.problem(KIND, id_, f"its eval {given_eval} was left out.")
        loading.report.of(KIND).skipped += 1
        return
    items_name = part_name("items", id_, ".jsonl")
    digest = await asyncio.to_thread(_digest, archive, items_name)
    changes = _moved(loading, value, given_eval, eval_id)

    async def is_same(target: str, there: Present) -> bool:
        wanted = await asyncio.to_thread(_renamed, body, changes, id_, target)
        if there.imported is not None:
            return there.received == wanted and there.imported.get("items") == digest
        now = await loading.store.runs.get(loading.project, eval_id, target)
        return now is not None and await asyncio.to_thread(run_body, now) == wanted

    place = await loading.place(KIND, id_, is_same)
    if place is None:
        return
    eval_ = await loading.store.evals.get(loading.project, eval_id)
    if eval_ is None and not loading.dry_run:
        loading.report.problem(KIND, id_, f"its eval {given_eval or '(none)'} is neither in the archive nor here.")
        loading.report.of(KIND).skipped += 1
        return
    loading.count(KIND, place)
    if place.is_same or loading.dry_run or eval_ is None:
        return
    renamed = await asyncio.to_thread(_renamed, body, changes, id_, place.id)
    new = await _received(loading, place.id, eval_, value, renamed)
    items = ArchivedItems(archive, items_name, new.criteria or eval_.criteria, _changed_ids(value, new.id, eval_.id))
    await _take_in(loading, place, eval_, new, value, items, digest)


def _renamed(body: bytes, changes: dict[str, Any], id_: str, target: str) -> bytes:
    changed = changes if target == id_ else {**changes, "id": target}
    return with_members(body, changed) if changed else body


def _moved(loading: Loading, value: dict[str, Any], given_eval: str, eval_id: str) -> dict[str, Any]:
    """What a run names that has another id here."""
    changes: dict[str, Any] = {} if eval_id == given_eval else {"eval_id": eval_id}
    source = object_of(object_of(value.get("data_source")).get("source"))
    copied = loading.copies.get("files", text_of(source.get("id")))
    if copied is not None:
        changes["data_source"] = {**object_of(value["data_source"]), "source": {**source, "id": copied}}
    return changes


async def _received(loading: Loading, id_: str, eval_: Eval, value: dict[str, Any], body: bytes) -> ReceivedRun:
    criteria = value.get("testing_criteria")
    status, error = text_of(value.get("status")), value.get("error")
    return ReceivedRun(
        id=id_,
        eval_id=eval_.id,
        name=text_of(value.get("name")),
        metadata=object_of(value.get("metadata")),
        model=text_of(value.get("model")) or None,
        status=status if _STATUS.fullmatch(status) else "failed",
        error=error if isinstance(error, dict) and error else None,
        created_at=whole_of(value.get("created_at")),
        criteria=await read_criteria(criteria, loading.expand) if isinstance(criteria, list) and criteria else None,
        regraded_from=_id_or_none(value.get("regraded_from")),
        body=body,
    )


def _id_or_none(given: Any) -> str | None:
    return given if isinstance(given, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,100}", given) else None


async def _take_in(
    loading: Loading,
    place: StorePlace,
    eval_: Eval,
    new: ReceivedRun,
    value: dict[str, Any],
    items: ArchivedItems,
    digest: str,
) -> None:
    made_up = loading.is_made_up(KIND, text_of(value.get("id"))) and (place.there is None or is_made_up(place.there))
    store, imported = loading.store.received, loading.imported(place.there, is_made_up=made_up)
    begun = await store.begin_run(loading.project, new, imported)
    if begun is None:
        loading.report.problem(KIND, new.id, "its eval was deleted meanwhile.")
        return
    criteria = new.criteria or eval_.criteria
    while batch := await asyncio.to_thread(items.batch):
        if not await store.add_items(begun, batch):
            loading.report.problem(KIND, new.id, "it was deleted, or loaded by somebody else, meanwhile.")
            return
        loading.report.items += len(batch)
        loading.progress("items", loading.report.items)
    items.counts.usage = _usage(value.get("per_model_usage"))
    warnings = list(_warnings(value, items))
    if warnings:
        loading.report.warned[new.id] = warnings
    if broken := unrunnable(criteria):
        names = ", ".join(problem.message for problem in broken)
        loading.report.warned.setdefault(new.id, []).append(f"it cannot be graded again by the same criteria: {names}")
    if not await store.end_run(begun, {**imported, "items": digest}, items.counts, items.total, warnings):
        loading.report.problem(KIND, new.id, "it was deleted, or loaded by somebody else, meanwhile.")


def _changed_ids(value: Mapping[str, Any], run_id: str, eval_id: str) -> dict[str, Any]:
    """What its items call it, where it has another name here."""
    given = {"run_id": value.get("id"), "eval_id": value.get("eval_id")}
    return {name: here for name, here in (("run_id", run_id), ("eval_id", eval_id)) if here != given[name]}


def _digest(archive: Archive, name: str) -> str:
    """By what its items are known again, whatever their order."""
    total = count = 0
    for line in archive.lines(name):
        total += int.from_bytes(hashlib.sha256(line).digest())
        count += 1
    return f"{count}-{total % 2**256:064x}"


def _usage(given: Any) -> dict[str, list[int]]:
    usage = {}
    for spent in given if isinstance(given, list) else []:
        name = object_of(spent).get("model_name")
        if isinstance(name, str) and name:
            usage[name] = [whole_of(spent.get(field)) for field in _USAGE]
    return usage


def _warnings(value: Mapping[str, Any], items: ArchivedItems) -> Iterator[str]:
    """What differs between what the run says of its rows and what they say themselves. Nothing is corrected."""
    counted = {name: getattr(items.counts, name) for name in _COUNTERS}
    told = object_of(value.get("result_counts"))
    said = {name: whole_of(told[name]) for name in _COUNTERS if name in told}
    if any(counted[name] != number for name, number in said.items()):
        yield f"the source counts {_words(said)}; the rows that came with it say {_words(counted)}"
    results = value.get("per_testing_criteria_results")
    differing = []
    for result in results if isinstance(results, list) else []:
        id_ = text_of(object_of(result).get("testing_criteria"))
        passed, failed, *_ = items.counts.criteria_counts.get(id_, [0] * 4)
        if (whole_of(result.get("passed")), whole_of(result.get("failed"))) != (passed, failed):
            differing.append(id_)
    if differing and items.total:
        yield f"the source's counts of these criteria are not what the rows say: {_some(differing)}"
    if items.unread:
        yield f"{items.unread} of its output items could not be read"
    if items.contradictory:
        yield f"{items.contradictory} rows have a status that their results contradict: the results count"
    if items.unknown:
        yield f"there are results of criteria that its eval does not have: {_some(list(items.unknown))}"
    if items.flattened:
        yield FLATTENED


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "no rows"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(jsontext.shorten(name, 80) for name in names[:MOST_TOLD])
    return shown if len(names) <= MOST_TOLD else f"{shown} and {len(names) - MOST_TOLD} more"
