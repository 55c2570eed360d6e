"""Archives that were made of a part: a file of evals, one of runs, a page of output items.

Each names things that stand in other files. So what is there stays: an eval or a run that was made up, because the file
only names it, never takes the place of one that somebody wrote; rows that came before stay with those that come now.
"""

import asyncio
from pathlib import Path
from typing import IO, Any

from fairmark import jsontext, longjson
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.bodies import with_members
from fairmark.moving.load.items import ArchivedItems
from fairmark.moving.load.loading import Loading, object_of, text_of
from fairmark.moving.pull.pages import Unreadable, read_head
from fairmark.store.received import Present


async def eval_to_load(loading: Loading, body: bytes, value: dict[str, Any]) -> tuple[bytes, dict[str, Any]] | None:
    """The eval, with the criteria that another file named of it; None where a real one is there."""
    id_ = text_of(value.get("id"))
    there = await loading.find("evals", id_) if loading.is_made_up("evals", id_) else None
    if there is None:
        return body, value
    if not is_made_up(there) or there.received is None:
        return None
    before = object_of(jsontext.decode(there.received))
    named = _criteria(before)
    known = {text_of(criterion.get("id")) for criterion in named}
    more = [criterion for criterion in _criteria(value) if text_of(criterion.get("id")) not in known]
    changes = {**({"testing_criteria": [*named, *more]} if more else {}), **_given_id(before, id_)}
    joined = with_members(there.received, changes) if changes else there.received
    return joined, {**before, **changes}


async def run_to_load(
    loading: Loading, into: Path, body: bytes, value: dict[str, Any]
) -> tuple[Archive, bytes, dict[str, Any]]:
    """The run, and an archive in the folder `into` that has all its output items: those that are there, and those that
    have come."""
    id_ = text_of(value.get("id"))
    joined, name = Archive(into), part_name("items", id_, ".jsonl")
    there = await loading.find("runs", id_)
    if there is None or there.imported is None or not _belongs(loading, id_, there):
        return loading.archive, body, value
    run = await loading.store.runs.find(loading.project, loading.target("runs", id_))
    before = 0
    with joined.writing(name) as file:
        known = await asyncio.to_thread(_write, file, loading.archive.lines(name), set())
        if run is not None:
            async for items in loading.store.rows.stream(run):
                before += len(items)
                await asyncio.to_thread(_write, file, [item.body for item in items], known)
    if there.received is None or not loading.is_made_up("runs", id_):
        return joined, body, value
    kept = object_of(await asyncio.to_thread(longjson.decode, there.received, rows=True))
    changes = _given_id(kept, id_)
    if is_made_up(there) and len(known) > before:
        changes |= await _counted(loading, joined, name, text_of(value.get("eval_id")))
    return joined, with_members(there.received, changes) if changes else there.received, {**kept, **changes}


async def is_better_here(loading: Loading, value: dict[str, Any]) -> bool:
    """Whether a file that was made of rows is not wanted: the file itself is here, or one of as many rows, or the run
    that names another."""
    made_of = object_of(value.get("rebuilt"))
    if not loading.is_part or not made_of:
        return False
    run_id = text_of(made_of.get("run_id"))
    if loading.is_made_up("runs", run_id):
        run = await loading.find("runs", run_id)
        if run is not None and not is_made_up(run):
            return True
    there = await loading.find("files", text_of(value.get("id")))
    if there is None:
        return False
    theirs = object_of(jsontext.decode(there.received) if there.received is not None else None).get("rebuilt")
    return not isinstance(theirs, dict) or theirs.get("rows", 0) >= made_of.get("rows", 0)


def _criteria(value: dict[str, Any]) -> list[dict[str, Any]]:
    listed = value.get("testing_criteria")
    return [object_of(criterion) for criterion in listed] if isinstance(listed, list) else []


def is_made_up(there: Present) -> bool:
    return object_of(there.imported).get("made_up") is True


def _belongs(loading: Loading, id_: str, there: Present) -> bool:
    """Whether it is the same run, of which there is more now. One of another source clashes with ours, as ever."""
    is_ours = object_of(there.imported).get("source") == loading.source
    return is_ours or is_made_up(there) or loading.is_made_up("runs", id_)


def _given_id(value: dict[str, Any], id_: str) -> dict[str, Any]:
    """What is here may be a copy, under another id."""
    return {} if value.get("id") == id_ else {"id": id_}


def _write(file: IO[bytes], lines: Any, known: set[str]) -> set[str]:
    """Items that are not there yet, by their ids; what is no item is told by whoever loads it."""
    for line in lines:
        try:
            id_ = read_head(line).id
        except Unreadable:
            id_ = None
        if isinstance(id_, str):
            if id_ in known:
                continue
            known.add(id_)
        file.write(line + b"\n")
    return known


async def _counted(loading: Loading, joined: Archive, name: str, eval_id: str) -> dict[str, Any]:
    """What a run says of its rows that was made of fewer of them. Who answered how much is not known of all."""
    eval_ = await loading.store.evals.get(loading.project, loading.target("evals", eval_id))
    items = ArchivedItems(joined, name, eval_.criteria if eval_ is not None else [], {})
    while await asyncio.to_thread(items.batch):
        pass
    counts = items.counts
    return {
        "result_counts": {
            "total": items.total,
            "passed": counts.passed,
            "failed": counts.failed,
            "errored": counts.errored,
            "skipped": counts.skipped,
        },
        "per_model_usage": [],
        "per_testing_criteria_results": [
            {"testing_criteria": id_, "passed": passed, "failed": failed}
            for id_, (passed, failed, _, _) in counts.criteria_counts.items()
        ],
    }
