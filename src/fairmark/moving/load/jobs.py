"""Fine-tuning jobs out of an archive, with their events and checkpoints: history, like runs."""

import asyncio
from typing import Any

from fairmark import jsontext
from fairmark.finetuning.job_calls import job_wire
from fairmark.moving.archive import part_name
from fairmark.moving.bodies import with_members
from fairmark.moving.load.loading import Loading, object_of, read_list, text_of, whole_of
from fairmark.moving.load.report import Clash
from fairmark.store import ids
from fairmark.store.jobs.jobs import Imported, Job

KIND = "jobs"
LIST = "jobs.jsonl"


async def load_jobs(loading: Loading) -> None:
    """The oldest first: archives have the newest first, as services list them."""
    readable = await read_list(loading, KIND, LIST)
    readable.reverse()
    for body, value in sorted(readable, key=lambda pair: whole_of(pair[1].get("created_at"))):
        await _load(loading, body, value)


async def _load(loading: Loading, body: bytes, value: dict[str, Any]) -> None:
    given, tally = text_of(value.get("id")), loading.report.of(KIND)
    id_ = loading.copies.get(KIND, given) or given
    there = await loading.store.jobs.get(loading.project, id_)
    if there is not None and there.imported is None and jsontext.encode(job_wire(there)) == body:
        tally.unchanged += 1  # it was made here
        return
    events, checkpoints = [
        await asyncio.to_thread(lambda name=name: list(loading.archive.lines(name)))  # type: ignore[misc]
        for name in (part_name("events", given, ".jsonl"), part_name("checkpoints", given, ".jsonl"))
    ]

    async def put(id_: str) -> Imported:
        entries = [[_of_job(entry, given, id_) for entry in listed] for listed in (events, checkpoints)]
        return await loading.store.jobs.put_imported(
            loading.project,
            body if id_ == given else with_members(body, {"id": id_}),
            *entries,
            imported=_imported(loading, there),
            replace=loading.on_clash == "replace" or _source(there) == loading.source,
            dry_run=loading.dry_run,
        )

    try:
        done = await put(id_)
        if done == "clash":
            reason = "another job has this id."
            copy = ids.new("ftjob-") if loading.on_clash == "copy" else None
            loading.report.clashes.append(Clash(KIND, given, reason, f"copied as {copy}" if copy else "skipped"))
            if copy is not None:
                if not loading.dry_run:
                    loading.copies.add(KIND, given, copy)
                done = await put(copy)
    except ValueError as error:
        loading.report.problem(KIND, given, str(error))
        tally.skipped += 1
        return
    tally.skipped += done == "clash"
    tally.new += done == "added"
    tally.changed += done == "changed"
    tally.unchanged += done == "unchanged"
    loading.progress(KIND, tally.new + tally.changed + tally.unchanged + tally.skipped)


def _of_job(entry: bytes, given: str, id_: str) -> bytes:
    """An event or a checkpoint of a job that may have been copied: it may say whose it is."""
    if id_ == given or b"fine_tuning_job_id" not in entry:
        return entry
    try:
        return with_members(entry, {"fine_tuning_job_id": id_})
    except jsontext.NotJson:
        return entry  # who puts it into the store tells


def _source(there: Job | None) -> Any:
    return object_of(there.imported).get("source") if there is not None else None


def _imported(loading: Loading, there: Job | None) -> dict[str, Any]:
    before = object_of(there.imported) if there is not None else {}
    is_again = before.get("source") == loading.source
    return {"source": loading.source, "at": before.get("at", loading.at) if is_again else loading.at}
