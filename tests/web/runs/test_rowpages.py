"""A page of a run's rows: which rows it holds, where they stand among all, and the addresses beside it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals import run_calls
from fairmark.store import Counts, CriterionScore, NewItem, Run, Store
from fairmark.store.evals.facets import fields_of
from fairmark.web.runs import rowpages
from fairmark.web.runs.view import RowChoice, read
from tests.web.browser import in_thread

CRITERIA = [{"id": "exact-1", "name": "exact"}]
ROWS = 260


def request_of(store: Store, query: str) -> Request:
    shared = SimpleNamespace(store=store)
    return Request({"type": "http", "headers": [], "query_string": query.encode(), "fairmark": shared})


def new_item(idx: int) -> NewItem:
    """Every other row fails, and is of the kind `odd`, and its judges split."""
    outcome = "fail" if idx % 2 else "pass"
    item = {"kind": "odd" if idx % 2 else "even", "n": idx}
    body = jsontext.encode({"datasource_item": item, "results": [], "sample": {"output": []}})
    splits = (0,) if idx % 2 else ()
    return NewItem(idx, outcome, body, (CriterionScore(outcome, idx / ROWS),), fields=fields_of(item), splits=splits)


def with_run(home: Path, work: Callable[[Store, Run], Awaitable[None]]) -> None:
    async def whole() -> None:
        store = await Store.open(None, home)
        try:
            made = await store.evals.create("default", "an eval", {}, {"type": "custom"}, [{"id": "exact-1"}])
            run = await store.runs.create("default", made.id, "a run", {}, b"{}", None, ROWS, {})
            assert await store.runs.start(run)
            counts = Counts()
            for idx in range(ROWS):
                outcome = "fail" if idx % 2 else "pass"
                counts.count(outcome, {"exact-1": outcome})
            assert await store.items.add(run, [new_item(idx) for idx in range(ROWS)], counts)
            now = await store.runs.get("default", run.eval_id, run.id)
            assert now is not None
            await work(store, now)
        finally:
            await store.close()

    in_thread(asyncio.run, whole())  # this thread may have the browser's event loop


async def page_of(store: Store, run: Run, query: str) -> rowpages.ShownPage:
    request = request_of(store, query)
    return await rowpages.find(request, run, CRITERIA, read(request))


async def walk(store: Store, run: Run, query: str, way: str) -> list[rowpages.ShownPage]:
    """From a page by its `next` or `previous` to the end."""
    pages = [await page_of(store, run, query)]
    while address := getattr(pages[-1], way):
        pages.append(await page_of(store, run, urlsplit(address).query))
        assert len(pages) <= ROWS // rowpages.ROWS_SHOWN + 1
    return pages


@pytest.mark.parametrize("query", ["where=is.kind=odd&sort=-row", "status=fail&sort=-row", "split=any&sort=-row"])
def test_pages_hold_every_chosen_row_once_in_both_directions(tmp_path: Path, query: str) -> None:
    """By columns and by the database's own order, which are two ways to the same rows."""
    odd = list(range(ROWS - 1, 0, -2))

    async def work(store: Store, run: Run) -> None:
        pages = await walk(store, run, query, "next")
        assert [item.idx for page in pages for item in page.data] == odd
        assert [(page.first, page.until, page.count) for page in pages] == [
            (1, 50, 130),
            (51, 100, 130),
            (101, 130, 130),
        ]
        assert (pages[0].previous, pages[-1].last) == ("", "")
        back = await walk(store, run, urlsplit(pages[-1].previous).query, "previous")
        assert [item.idx for page in reversed(back) for item in page.data] == odd[:100]
        last = await page_of(store, run, urlsplit(pages[0].last).query)
        assert (last.first + len(last.data) - 1, last.data[-1].idx, last.next) == (130, 1, "")

    with_run(tmp_path, work)


def test_a_page_beyond_the_end_is_the_last_and_of_no_rows_an_empty_one(tmp_path: Path) -> None:
    async def work(store: Store, run: Run) -> None:
        beyond = await page_of(store, run, "where=is.kind=odd&at=999")
        assert (beyond.first, beyond.until, beyond.next) == (101, 130, "")
        within = await page_of(store, run, "where=is.kind=odd&at=30")
        assert (within.first, urlsplit(within.previous).query) == (31, "at=0&where=is.kind%3Dodd")
        none = await page_of(store, run, "where=is.kind=odd&status=pass")
        assert (none.data, none.count, none.previous, none.next, none.last) == ([], 0, "", "", "")

    with_run(tmp_path, work)


def test_the_rows_beside_one_are_those_of_the_choice(tmp_path: Path) -> None:
    async def work(store: Store, run: Run) -> None:
        async def beside(query: str, idx: int) -> tuple[int | None, int | None]:
            request = request_of(store, query)
            rows = await rowpages.neighbours(request, run, 1, read(request), idx)
            return rows.previous, rows.next

        assert await beside("where=is.kind=odd", 7) == (5, 9)
        assert await beside("where=is.kind=odd&sort=-1", 7) == (9, 5)
        assert await beside("where=is.kind=odd", 1) == (None, 3)
        assert await beside("split=1", 7) == (5, 9)
        assert await beside("where=is.kind=odd", 259) == (257, None)
        assert await beside("where=is.kind=odd", 8) == (None, None)
        assert await beside("", 8) == (7, 9)

    with_run(tmp_path, work)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("where=is.nothing=x", "where"),
        ("where=is.n=1&at=-1", "at"),
        ("where=is.n=1&at=1e2", "at"),
        ("at=odd", "at"),
        ("split=2", "split"),
        ("split=yes", "split"),
        ("split=any&reason=1", "reason"),
    ],
)
def test_what_is_no_page_is_refused(tmp_path: Path, query: str, param: str) -> None:
    async def work(store: Store, run: Run) -> None:
        with pytest.raises(ApiError) as refused:
            await page_of(store, run, query)
        assert (refused.value.status, refused.value.param) == (400, param)

    with_run(tmp_path, work)


def test_columns_that_are_not_there_in_time_are_told_and_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(store: Store, run: Run) -> None:
        may_load, load = asyncio.Event(), store.columns._load

        async def held(of: Run) -> Any:
            await may_load.wait()
            return await load(of)

        monkeypatch.setattr(store.columns, "_load", held)
        monkeypatch.setattr(run_calls, "COLUMNS_WITHIN_S", 0.01)
        with pytest.raises(ApiError) as refused:
            await page_of(store, run, "where=is.kind=odd")
        assert (refused.value.status, refused.value.code) == (503, "not_ready")
        monkeypatch.setattr(run_calls, "COLUMNS_WITHIN_S", 20.0)
        monkeypatch.setattr(store.columns, "_load", None)  # what has begun is waited for, not begun again
        may_load.set()
        assert (await page_of(store, run, "where=is.kind=odd")).count == 130

    with_run(tmp_path, work)


def test_filters_are_told_in_words_with_the_address_without_each() -> None:
    chosen = RowChoice(status="fail", where=("is.kind=odd", "missing.x"), score="1__0.5", at="50")
    assert [tuple(shown) for shown in rowpages.shown_filters(chosen, "/r", ["exact"])] == [
        ("kind is odd", "/r?status=fail&where=missing.x&score=1__0.5"),
        ("x is missing", "/r?status=fail&where=is.kind%3Dodd&score=1__0.5"),
        ("exact ≤ 0.5", "/r?status=fail&where=is.kind%3Dodd&where=missing.x"),
    ]
    (low,) = rowpages.shown_filters(RowChoice(score="1_0.25_"), "/r", ["exact"])
    assert low.words == "0.25 ≤ exact"
    shown = [rowpages.shown_filters(RowChoice(split=split), "/r", ["exact"]) for split in ("any", "1")]
    assert [[tuple(each) for each in filters] for filters in shown] == [
        [("the judges split", "/r")],
        [("the judges of exact split", "/r")],
    ]
