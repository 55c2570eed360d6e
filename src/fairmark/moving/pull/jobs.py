"""Fine-tuning jobs with their events and checkpoints."""

from fairmark.moving.archive import part_name
from fairmark.moving.pull.disk import on_disk
from fairmark.moving.pull.pages import ListedObject, in_path, read_object
from fairmark.moving.pull.reader import Listing, SectionReader

ENDED = ("succeeded", "failed", "cancelled", "canceled")


async def pull_jobs(reader: SectionReader) -> None:
    """Newest first, as the service lists them: it knows no other order."""
    reader.tally.at("jobs")
    journal = reader.journal
    await reader.read_once(Listing("jobs", "jobs", "jobs.jsonl", "fine_tuning/jobs", query={}, keep=reader.is_wanted))
    jobs = await on_disk(lambda: [_without_body(line) for line in reader.archive.lines("jobs.jsonl")])

    async def one(job: ListedObject) -> None:
        for kind in ("events", "checkpoints"):
            target, name = part_name(kind, job.id, ".jsonl"), f"{kind}/{job.id}"
            unread = name in journal.lists or name in journal.ids("incomplete") or job.id in journal.ids("going")
            if unread or not await on_disk(reader.archive.path(target).exists):
                await reader.read_list(
                    Listing(name, kind, target, f"fine_tuning/jobs/{in_path(job.id)}/{kind}", query={})
                )
        # Whoever was still at work when its events were read has more of them later.
        journal.mark("going", job.id, is_on=job.head.status not in ENDED)

    await reader.each(jobs, one)
    await journal.save()


def _without_body(line: bytes) -> ListedObject:
    return read_object(line)._replace(raw=b"")
