"""Paging while others insert: nothing twice, nothing lost, and every cursor stays good."""

import asyncio
import random
from typing import Any

import pytest

from fairmark.store import Store, ids
from fairmark.store.base import pages
from fairmark.store.base.pages import Order
from tests.store.conftest import Place, new_run

WRITERS = 4
EACH = 15
BEFORE = 10


class Lists:
    """The three lists that others insert into."""

    def __init__(self, store: Store, kind: str, eval_id: str) -> None:
        self.store = store
        self.kind = kind
        self.eval_id = eval_id

    async def insert(self) -> str:
        if self.kind == "files":
            return (await self.store.files.create("default", ids.new_file(), "", "evals", 0, None)).id
        if self.kind == "runs":
            return (await self.store.runs.create("default", self.eval_id, "", {}, {}, None, None, {})).id
        return (await self.store.evals.create("default", "", {}, {}, [])).id

    async def page(self, limit: int, after: str | None, order: Order) -> tuple[list[str], bool]:
        if self.kind == "files":
            files = await self.store.files.list("default", "evals", limit, after, order)
            return [each.id for each in files.data], files.has_more
        if self.kind == "runs":
            runs = await self.store.runs.list("default", self.eval_id, limit, after, order, "queued")
            return [each.id for each in runs.data], runs.has_more
        by = "created_at" if self.kind == "evals" else "updated_at"
        evals = await self.store.evals.list("default", limit, after, order, by)  # type: ignore[arg-type]
        return [each.id for each in evals.data], evals.has_more


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("kind", ["files", "runs", "evals", "evals by update"])
async def test_every_entry_is_seen_once_while_others_insert(place: Place, kind: str, order: Order) -> None:
    dice = random.Random(f"{kind} {order}")
    store = await place.open()
    others = [store] if place.is_sqlite else [store, await place.open()]
    eval_id = (await new_run(store)).eval_id
    lists = [Lists(each, kind, eval_id) for each in others]
    before = [*await whole(lists[0], "asc"), *[await lists[0].insert() for _ in range(BEFORE)]]

    async def insert(into: Lists) -> list[str]:
        made = []
        for _ in range(EACH):
            made.append(await into.insert())
            await asyncio.sleep(dice.choice([0, 0, 0.001, 0.003]))
        return made

    inserting = asyncio.gather(*(insert(lists[at % len(lists)]) for at in range(WRITERS)))
    cursor: str | None = None
    found: list[str] = []
    while True:
        last_look = inserting.done()
        page, more = await lists[dice.randrange(len(lists))].page(dice.randint(1, 7), cursor, order)
        found += page
        cursor = found[-1]
        # Downwards a list ends; upwards it goes on for as long as somebody inserts.
        if not more and (last_look or order == "desc"):
            break
    made = [each for some in await inserting for each in some]
    assert len(found) == len(set(found))
    if order == "asc":
        assert set(found) == {*before, *made}
    else:
        assert found[-len(before) :] == before[::-1]
    assert found == [each for each in await whole(lists[0], order) if each in set(found)]


async def whole(entries: Lists, order: Order) -> list[str]:
    found, _ = await entries.page(10_000, None, order)
    return found


async def test_a_number_is_not_seen_before_those_below_it(place: Place) -> None:
    """Two inserts at once: the second has to wait, or its number would be visible before the first one's."""
    store = await place.open()
    async with store._database.write_in_order():
        second = asyncio.create_task(store.evals.create("default", "", {}, {}, []))
        done, _ = await asyncio.wait([second], timeout=0.2)
        assert not done
    await second


async def test_a_place_among_queued_runs_stays_when_the_run_goes_on(store: Store) -> None:
    first = await new_run(store)
    second = await store.runs.create("default", first.eval_id, "", {}, {}, None, None, {})
    page = await store.runs.list("default", first.eval_id, 1, status="queued")
    assert ([run.id for run in page.data], page.has_more) == ([first.id], True)
    assert await store.runs.start(first)
    page = await store.runs.list("default", first.eval_id, 1, after=first.id, status="queued")
    assert ([run.id for run in page.data], page.has_more) == ([second.id], False)


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_a_page_of_long_entries_ends_early_and_nothing_is_lost(
    store: Store, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 1000)
    evals = [
        (await store.evals.create("default", "", {}, {"type": "x" * size}, [])).id for size in (5, 5, 980, 2000, 5)
    ]
    sizes = (100, 700, 3000, 400, 400, 400)
    runs = [
        (await store.runs.create("default", evals[0], "", {}, {"rows": "x" * size}, None, None, {})).id
        for size in sizes
    ]

    async def paged(entries: str, **place: Any) -> list[list[int]]:
        """The pages of a list, each as the numbers of its entries."""
        seen: list[list[int]] = []
        name = next(iter(place))
        while True:
            if entries == "evals":
                page: Any = await store.evals.list("default", 20, order=order, **place)
            else:
                page = await store.runs.list("default", evals[0], 20, order=order, **place)
            ids_ = [entry.id for entry in page.data]
            seen.append([(evals if entries == "evals" else runs).index(id_) for id_ in ids_])
            if not page.has_more:
                return seen
            place = {name: ids_[-1] if name == "after" else ids_[0]}

    if order == "asc":
        assert await paged("runs", after=None) == [[0, 1], [2], [3, 4], [5]]
        assert await paged("runs", before=runs[5]) == [[3, 4], [2], [0, 1]]
        assert await paged("evals", after=None) == [[0, 1], [2], [3], [4]]
    else:
        assert await paged("runs", after=None) == [[5, 4], [3], [2], [1, 0]]
        assert await paged("runs", before=runs[0]) == [[1], [2], [4, 3], [5]]
        assert await paged("evals", after=None) == [[4], [3], [2], [1, 0]]
