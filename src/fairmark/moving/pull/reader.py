"""Reads lists of a hosted service into an archive, from wherever they stopped."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from itertools import takewhile
from typing import NamedTuple, TypeVar

from fairmark.errors import CannotRead
from fairmark.moving.archive import Archive
from fairmark.moving.pull.disk import on_disk
from fairmark.moving.pull.journal import PullJournal
from fairmark.moving.pull.listing import ListPart, Settled
from fairmark.moving.pull.pages import Head, ListedObject
from fairmark.moving.pull.service import SIZES, HostedService, Pace
from fairmark.moving.pull.tally import PullTally

AT_ONCE = 6
"""Things in work: some more than requests at once, as they also wait for the disk."""

T = TypeVar("T")
ASC: Mapping[str, str] = {"order": "asc"}


class Listing(NamedTuple):
    """A list of the service, and where it goes."""

    name: str
    """In the journal, and of its problem."""
    kind: str
    target: str
    path: str
    query: Mapping[str, str] = ASC
    sizes: tuple[int, ...] = SIZES
    keep: Callable[[Head], bool] = lambda head: True


class SectionReader:
    """What all sections of a pull share."""

    def __init__(
        self, archive: Archive, service: HostedService, journal: PullJournal, tally: PullTally, since: float = 0
    ) -> None:
        self.archive = archive
        self.service = service
        self.journal = journal
        self.tally = tally
        self.since = since
        """Older things are left out, in seconds since 1970."""

    def is_wanted(self, head: Head) -> bool:
        return head.time >= self.since

    async def read_list(self, listing: Listing) -> Settled | None:
        """The whole list into its place. None where it could not be read to its end: what there is of it is in its
        place then, and the journal has the problem."""
        part = ListPart(self.journal.part(listing.name))
        entry = self.journal.lists.get(listing.name, {})
        goes_on: bool = bool(entry) and await on_disk(part.go_on, entry["bytes"])
        if not goes_on:
            entry = {}
            await on_disk(part.begin)
        why = None if entry.get("done") else await self._walk(listing, part, entry)
        settled: Settled = await on_disk(part.settle, self.archive, listing.target)
        self.journal.lists.pop(listing.name, None)
        self.journal.mark("incomplete", listing.name, is_on=why is not None)
        if why is not None:
            self.journal.problem("list", listing.name, why, read=settled.objects)
            return None
        self.journal.solved("list", listing.name)
        return settled

    async def read_once(self, listing: Listing) -> None:
        """The same, once in a pull: whoever goes on does not read it again."""
        if not self.is_settled(listing.name):
            await self.read_list(listing)
            self.settle(listing.name)
            await self.journal.save()

    def is_settled(self, name: str) -> bool:
        return bool(self.journal.lists.get(name, {}).get("settled"))

    def settle(self, name: str) -> None:
        self.journal.lists[name] = {"settled": True}

    async def _walk(self, listing: Listing, part: ListPart, entry: dict[str, object]) -> str | None:
        """The pages from a cursor on into the part. Why not, where it did not come to the end."""
        after, pace = entry.get("after"), Pace(listing.sizes)
        began_at = after
        while True:
            try:
                page = await self.service.page(
                    listing.path, listing.query, after if isinstance(after, str) else None, pace
                )
            except CannotRead as error:
                if error.http_status is None:
                    async for objects in self.from_the_end(listing.path, listing.query, listing.sizes, part.has):
                        await self._keep(listing, part, objects)
                if error.http_status != 400 or after is None or after != began_at:
                    return str(error)
                # What the cursor names is gone since then: from the beginning, with what is here.
                after = began_at = None
                continue
            if page.has_more and page.objects[-1].id == after:
                return "the list does not go on: a page ended with the object behind which it was to begin."
            await self._keep(listing, part, page.objects)
            several = after is not None
            if page.objects:
                after = page.objects[-1].id
            if page.has_more or several:
                self.journal.lists[listing.name] = {"after": after, "bytes": part.bytes, "done": not page.has_more}
                await self.journal.save()
            if not page.has_more:
                return None

    async def from_the_end(
        self, path: str, query: Mapping[str, str], sizes: tuple[int, ...], is_known: Callable[[str], bool]
    ) -> AsyncIterator[list[ListedObject]]:
        """What is behind an object that the service cannot show: the list is read backwards, as far as it goes."""
        if query.get("order") != "asc":
            return
        after, pace = None, Pace(sizes)
        while True:
            try:
                page = await self.service.page(path, {**query, "order": "desc"}, after, pace)
            except CannotRead:
                return
            fresh = list(takewhile(lambda received: not is_known(received.id), page.objects))
            if fresh:
                yield fresh
            if len(fresh) < len(page.objects) or not page.has_more or fresh[-1].id == after:
                return
            after = fresh[-1].id

    async def _keep(self, listing: Listing, part: ListPart, objects: list[ListedObject]) -> None:
        before = part.bytes
        new: list[ListedObject] = await on_disk(self._add, part, [one for one in objects if listing.keep(one.head)])
        self.tally.count(listing.kind, len(new), part.bytes - before)

    def _add(self, part: ListPart, objects: list[ListedObject]) -> list[ListedObject]:
        self.journal.check_room()
        return part.add(objects)

    async def write(self, name: str, content: bytes) -> bool:
        """A whole file of the archive, unless it is just so already: whether it was written."""

        def work() -> bool:
            if self.archive.read(name) == content:
                return False
            self.journal.check_room()
            self.archive.write(name, content)
            return True

        return await on_disk(work)

    async def each(self, things: Iterable[T], work: Callable[[T], Awaitable[None]], at_once: int = AT_ONCE) -> None:
        """Some at a time, in their order. The first failure ends them all."""
        waiting = iter(things)

        async def worker() -> None:
            for one in waiting:
                await work(one)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(worker())
        except BaseExceptionGroup as failures:
            raise _first(failures) from None


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
