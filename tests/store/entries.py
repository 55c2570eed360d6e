"""Rows of a run as tests know them, in the store and in plain Python."""

from collections.abc import Sequence
from typing import NamedTuple

from fairmark import jsontext
from fairmark.store import (
    Counts,
    CriterionScore,
    NewItem,
    Run,
    Store,
    View,
    hash_item,
    ids,
)


class Entry(NamedTuple):
    """A row of the test: what the store was given, to be compared with what it finds."""

    idx: int
    status: str
    outcomes: tuple[tuple[str, float], ...]
    text: str


def new_item(run: Run, entry: Entry) -> NewItem:
    body = jsontext.encode(
        {
            "id": ids.of_item(run.id, entry.idx),
            "status": entry.status,
            "datasource_item": {"question": entry.text},
            "results": [],
            "sample": {"output": []},
        }
    )
    scores = tuple(CriterionScore(*each) for each in entry.outcomes)
    return NewItem(entry.idx, entry.status, body, scores, hash_item({"question": entry.text}))


async def fill(store: Store, run: Run, entries: Sequence[Entry]) -> None:
    for batch in (entries[at : at + 1000] for at in range(0, len(entries), 1000)):
        counts = Counts()
        for each in batch:
            counts.count(each.status, {})
        assert await store.items.add(run, [new_item(run, each) for each in batch], counts)


async def walk(store: Store, run: Run, view: View, limit: int, *, backward: bool = False) -> list[int]:
    """All rows of a view, page by page from one end to the other."""
    seen: list[int] = []
    at = "last" if backward else None
    while True:
        page = await store.rows.page(run, view, at, limit)
        found = [item.idx for item in page.data]
        assert len(found) <= limit
        seen = found + seen if backward else seen + found
        at = page.previous if backward else page.next
        if at is None:
            return seen
        assert len(found) == limit or page.unfinished
