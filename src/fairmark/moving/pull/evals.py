"""Evals, their runs and the output items of those: what vanishes first is read first."""

import asyncio
from typing import Any

from fairmark.errors import CannotRead
from fairmark.moving.archive import part_name
from fairmark.moving.pull.disk import on_disk
from fairmark.moving.pull.pages import Head, ListedObject, Unreadable, in_path, read_head
from fairmark.moving.pull.reader import ASC, AT_ONCE, Listing, SectionReader
from fairmark.moving.pull.service import SIZES, Pace

ENDED = ("completed", "failed", "canceled", "cancelled")
EVALS_AT_ONCE = 4


async def pull_evals(reader: SectionReader) -> None:
    """All of them. What was read of an eval that is no longer shown stays."""
    journal, tally = reader.journal, reader.tally
    tally.at("evals")
    if not reader.is_settled("evals"):
        settled = await reader.read_list(Listing("evals", "evals", "evals.jsonl", "evals"))
        if settled is not None:
            journal.ids("gone")[:] = settled.vanished
        reader.settle("evals")
        await journal.save()
    tally.at("runs and output items")
    ids = await on_disk(_ids, reader)
    gone, room = set(journal.ids("gone")), asyncio.Semaphore(AT_ONCE)
    done: set[int] = set()

    async def one(place: int) -> None:
        eval_id, name = ids[place], f"runs/{ids[place]}"
        if eval_id not in gone and not journal.lists.get(name, {}).get("done"):
            await _Runs(reader, eval_id, room).read()
        done.add(place)
        while journal.evals_done in done:
            journal.lists.pop(f"runs/{ids[journal.evals_done]}", None)
            journal.evals_done += 1

    await reader.each(range(journal.evals_done, len(ids)), one, EVALS_AT_ONCE)
    await journal.save()


def _ids(reader: SectionReader) -> list[str]:
    return [str(read_head(line).id) for line in reader.archive.lines("evals.jsonl")]


class _Runs:
    """The runs of one eval."""

    def __init__(self, reader: SectionReader, eval_id: str, room: asyncio.Semaphore) -> None:
        self._reader = reader
        self._journal = reader.journal
        self._path = f"evals/{in_path(eval_id)}/runs"
        self._name = f"runs/{eval_id}"
        self._room = room
        """How many runs of all evals are in work."""

    async def read(self) -> None:
        cursor = self._journal.lists.get(self._name, {}).get("after")
        after = began_at = cursor if isinstance(cursor, str) else None
        pace, seen = Pace(SIZES), set[str]()
        while True:
            try:
                page = await self._reader.service.page(self._path, ASC, after, pace)
            except CannotRead as error:
                if error.http_status == 400 and after is not None and after == began_at:
                    after = began_at = None
                    continue
                self._journal.problem("list", self._name, str(error))
                if error.http_status is None:
                    await self._read_from_the_end(seen | ({after} if after else set()))
                return
            if page.has_more and page.objects[-1].id == after:
                self._journal.problem("list", self._name, "the list does not go on.")
                return
            await self._reader.each(page.objects, self._run)
            seen.update(run.id for run in page.objects)
            if not page.has_more:
                break
            after = page.objects[-1].id
            self._journal.lists[self._name] = {"after": after}
            await self._journal.save()
        self._journal.solved("list", self._name)
        self._journal.lists[self._name] = {"done": True}

    async def _read_from_the_end(self, seen: set[str]) -> None:
        async for runs in self._reader.from_the_end(self._path, ASC, SIZES, seen.__contains__):
            await self._reader.each(runs, self._run)

    async def _run(self, run: ListedObject) -> None:
        if not self._reader.is_wanted(run.head):
            return
        async with self._room:
            name = part_name("runs", run.id, ".json")
            tally, total = self._reader.tally, total_of(run.head)
            tally.expected_items += total
            if await on_disk(self._has_its_items, run):
                tally.skipped_items += total
            else:
                await self._reader.read_list(
                    Listing(
                        f"items/{run.id}",
                        "items",
                        part_name("items", run.id, ".jsonl"),
                        f"{self._path}/{in_path(run.id)}/output_items",
                    )
                )
            # Last: a run that is here as it is there has its items too.
            if await self._reader.write(name, run.raw):
                tally.count("runs", size=len(run.raw))
            else:
                tally.same("runs")

    def _has_its_items(self, run: ListedObject) -> bool:
        """Whether the items that are here are those of the run as it is now."""
        archive, items = self._reader.archive, f"items/{run.id}"
        if items in self._journal.lists or items in self._journal.ids("incomplete"):
            return False
        stored = archive.read(part_name("runs", run.id, ".json"))
        if stored is None or not archive.path(part_name("items", run.id, ".jsonl")).exists():
            return False
        try:
            before = read_head(stored)
        except Unreadable:
            return False
        ended = before.status in ENDED and before.status == run.head.status
        return ended and before.result_counts == run.head.result_counts


def total_of(head: Head) -> int:
    counts: Any = head.result_counts
    total = counts.get("total") if isinstance(counts, dict) else None
    return total if isinstance(total, int) and total > 0 else 0
