"""The rows of a run's page: every filter and order, both ways, each row exactly once."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import event

from fairmark.store import (
    InvalidView,
    Store,
    View,
    ids,
)
from fairmark.store.views import rows
from tests.store.conftest import started_run
from tests.store.entries import Entry, fill, walk


def make(count: int, seed: int = 1) -> list[Entry]:
    """Rows with two criteria: one with many ties, one with few, each now and then without a grade."""
    dice = random.Random(seed)
    entries = []
    for idx in range(count):
        outcomes: list[tuple[str, float]] = []
        for score in (dice.choice([0.0, 0.5, 1.0]), dice.uniform(-1, 1)):
            ungraded = dice.random()
            if ungraded < 0.06:
                outcomes.append(("error" if ungraded < 0.04 else "skip", 0.0))
            else:
                outcomes.append(("pass" if score >= 0.5 else "fail", score))
        status = next(
            each for each in ("error", "skip", "fail", "pass") if each in {o for o, _ in outcomes} or each == "pass"
        )
        entries.append(Entry(idx, status, tuple(outcomes), f"row {idx} " + dice.choice(["red", "Green", "BLUE"])))
    return entries


def expected(entries: Sequence[Entry], view: View) -> list[int]:
    """The rows of a view in its order, in plain Python."""
    chosen = [
        each
        for each in entries
        if view.status in (None, each.status)
        and (view.criterion is None or each.outcomes[view.criterion][0] == view.outcome)
        and view.text.lower() in each.text.lower()
    ]
    if view.sort is None:
        return sorted((each.idx for each in chosen), reverse=view.descending)
    criterion = view.sort
    order = []
    for outcomes in (("pass", "fail"), ("error",), ("skip",)):
        group = [each for each in chosen if each.outcomes[criterion][0] in outcomes]
        group.sort(key=lambda each: (each.outcomes[criterion][1], each.idx), reverse=view.descending)
        order += [each.idx for each in group]
    return order


FILTERS: list[dict[str, Any]] = [
    {},
    {"status": "fail"},
    {"status": "skip"},
    {"criterion": 0, "outcome": "fail"},
    {"criterion": 1, "outcome": "error"},
    {"criterion": 0, "outcome": "pass", "status": "fail"},
    {"text": "green"},
    {"text": "BLUE", "criterion": 1, "outcome": "pass", "status": "pass"},
    {"status": "pass", "criterion": 0, "outcome": "fail"},  # nothing
]


async def test_paging_through_every_view_visits_each_row_once_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST_ROWS_A_LOOK", "MOST_CANDIDATES"):  # so that fewer rows take as many looks
        monkeypatch.setattr(rows, name, getattr(rows, name) // 5)
    run, other = await started_run(store), await started_run(store)
    entries = make(1040)
    shuffled = random.Random(2).sample(entries, len(entries))  # rows are done in no order
    await fill(store, run, shuffled)
    await fill(store, other, make(60, seed=3))
    for chosen, sort, descending in itertools.product(FILTERS, (None, 0, 1), (False, True)):
        view = View(**chosen, sort=sort, descending=descending)
        wanted = expected(entries, view)
        assert await walk(store, run, view, 380) == wanted, view
        assert await walk(store, run, view, 340, backward=True) == wanted, view
        if not view.text:
            fresh = await store.runs.get("default", run.eval_id, run.id)
            assert fresh is not None
            assert await store.rows.count(fresh, view) == len(wanted), view


async def test_the_page_beside_a_page_leads_back_to_it(store: Store) -> None:
    run = await started_run(store)
    await fill(store, run, make(95))
    for sort, descending in itertools.product((None, 0, 1), (False, True)):
        view = View(sort=sort, descending=descending)
        page = await store.rows.page(run, view, None, 10)
        assert page.previous is None
        pages = [page]
        while page.next is not None:
            page = await store.rows.page(run, view, page.next, 10)
            pages.append(page)
        assert [len(each.data) for each in pages] == [10] * 9 + [5]
        back = pages[-1]
        for before, following in reversed(list(itertools.pairwise(pages))):
            assert back.previous is not None
            back = await store.rows.page(run, view, back.previous, 10)
            assert back.data == before.data
            again = await store.rows.page(run, view, back.next, 10)
            assert again.data[0] == following.data[0]
        assert back.previous is None


async def test_rows_without_a_grade_come_last_in_both_directions(store: Store) -> None:
    run = await started_run(store)
    outcomes = [("error", 0.0), ("pass", 0.5), ("skip", 0.0), ("fail", -2.0), ("error", 0.0), ("pass", 0.5)]
    await fill(store, run, [Entry(idx, each[0], (each,), "") for idx, each in enumerate(outcomes)])
    assert await walk(store, run, View(sort=0), 2) == [3, 1, 5, 0, 4, 2]
    assert await walk(store, run, View(sort=0, descending=True), 2) == [5, 1, 3, 4, 0, 2]
    page = await store.rows.page(run, View(sort=0), None, 2)
    assert page.next == "after_0.5_1"
    page = await store.rows.page(run, View(sort=0), "after_0.5_5", 1)
    assert ([item.idx for item in page.data], page.previous, page.next) == ([0], "until_0.5_5", "after_error_0")


async def test_a_row_knows_its_neighbours_in_every_view(store: Store) -> None:
    run = await started_run(store)
    entries = make(40, seed=8)
    await fill(store, run, entries)
    for chosen, sort, descending in itertools.product(FILTERS, (None, 0, 1), (False, True)):
        view = View(**chosen, sort=sort, descending=descending)
        wanted = [None, *expected(entries, view), None]
        for before, idx, after in itertools.islice(zip(wanted, wanted[1:-1], wanted[2:], strict=False), 0, None, 4):
            assert idx is not None
            found = await store.rows.neighbours(run, view, idx)
            assert (found.previous, found.next) == (before, after), (view, idx)


async def test_a_row_that_is_not_there_has_its_neighbours_by_number_only(store: Store) -> None:
    run = await started_run(store)
    await fill(store, run, [Entry(idx, "pass", (("pass", 1.0),), "") for idx in (1, 2, 5)])
    found = await store.rows.neighbours(run, View(), 3)
    assert (found.previous, found.next) == (2, 5)
    for idx, view in ((3, View(sort=0)), (-1, View()), (2**40, View()), (1, View(sort=7))):
        found = await store.rows.neighbours(run, view, idx)
        assert (found.previous, found.next) == (None, None)


async def test_a_deleted_run_has_no_rows(store: Store) -> None:
    run = await started_run(store)
    await fill(store, run, make(30))
    assert await store.runs.delete("default", run.eval_id, run.id)
    for view in (View(), View(sort=0), View(text="row"), View(criterion=0, outcome="pass")):
        page = await store.rows.page(run, view)
        assert (page.data, page.previous, page.next) == ([], None, None)
    assert await store.rows.count(run, View(criterion=0, outcome="pass")) == 0
    assert [chunk async for chunk in store.rows.stream(run)] == []
    found = await store.rows.neighbours(run, View(sort=0), 3)
    assert (found.previous, found.next) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"status": "passed"}, 'status: unknown status "passed". Use one of: pass, fail, error, skip.'),
        ({"criterion": 0, "outcome": ""}, 'outcome: unknown outcome "". Use one of: pass, fail, error, skip.'),
        ({"criterion": 0}, "criterion and outcome go together: give both, or neither."),
        ({"outcome": "pass"}, "criterion and outcome go together: give both, or neither."),
        ({"sort": -1}, "sort: there is no criterion -1. They are numbered from 0."),
        (
            {"criterion": 2**31, "outcome": "pass"},
            "criterion: there is no criterion 2147483648. They are numbered from 0.",
        ),
    ],
)
def test_a_view_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidView) as error:
        View(**wrong)
    assert str(error.value) == message


async def test_all_rows_are_streamed_by_index(store: Store) -> None:
    run = await started_run(store)
    entries = make(1234)
    await fill(store, run, random.Random(4).sample(entries, len(entries)))
    streamed = [item async for chunk in store.rows.stream(run) for item in chunk]
    assert [item.idx for item in streamed] == list(range(1234))
    assert streamed[7] == await store.items.get(run, ids.of_item(run.id, 7))
    failed = [item.idx async for chunk in store.rows.stream(run, "fail") for item in chunk]
    assert failed == [each.idx for each in entries if each.status == "fail"]


async def test_a_stream_of_a_run_that_is_deleted_meanwhile_ends(store: Store) -> None:
    run = await started_run(store)
    await fill(store, run, make(1000))
    seen = 0
    async for chunk in store.rows.stream(run):
        seen += len(chunk)
        await store.runs.delete("default", run.eval_id, run.id)
    assert seen == 200


BY_SCORE = "scores USING COVERING INDEX scores_by_score (run_seq=? AND criterion=? AND outcome=? AND status=?{})"

BY_KEY = "scores USING PRIMARY KEY (run_seq=? AND criterion=? AND outcome=?{})"

PLANS = [
    (View(), None, ["items USING COVERING INDEX sqlite_autoindex_items_1 (run_seq=?)"]),
    (View(), "after_5", ["items USING COVERING INDEX sqlite_autoindex_items_1 (run_seq=? AND idx>?)"]),
    (
        View(status="fail"),
        "before_5",
        ["items USING COVERING INDEX items_by_status (run_seq=? AND status=? AND idx<?)"],
    ),
    (View(criterion=0, outcome="fail"), "after_5", [BY_KEY.format(" AND idx>?")]),
    (View(sort=0), None, [BY_SCORE.format("")] * 7),
    (View(sort=0, descending=True), "after_0.5_7", [BY_SCORE.format(" AND (score,idx)<(?,?)")] * 7),
    (View(sort=0, status="fail"), "before_0.5_7", [BY_SCORE.format(" AND (score,idx)<(?,?)")] * 2),
    (
        View(sort=0, status="fail", criterion=0, outcome="fail"),
        "after_0.5_7",
        [BY_SCORE.format(" AND (score,idx)>(?,?)")],
    ),
    (
        View(sort=0, status="error", criterion=1, outcome="error"),
        "after_error_7",
        [
            BY_SCORE.format(" AND (score,idx)>(?,?)"),
            BY_KEY.format(" AND idx>? AND idx<?").replace("scores", "other"),
        ],
    ),
]


@pytest.mark.parametrize(("view", "at", "plans"), PLANS)
async def test_a_page_is_found_by_an_index_and_sorted_by_it(
    in_sqlite: Any, view: View, at: str | None, plans: list[str]
) -> None:
    store = await in_sqlite.open()
    run = await started_run(store)
    asked = await statements(store, lambda: store.rows.page(run, view, at))
    first = asked[0]
    async with store._database.read() as connection:
        details = [row[3] for row in await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {first[0]}", first[1])]
    assert [each.removeprefix("SEARCH ") for each in details if each.startswith("SEARCH")] == plans
    # Nothing is sorted but one page of each, where there are several.
    assert "USE TEMP B-TREE FOR ORDER BY" not in details or "MERGE (UNION ALL)" in details


async def test_bodies_are_found_by_their_key(in_sqlite: Any) -> None:
    store = await in_sqlite.open()
    run = await started_run(store)
    await fill(store, run, make(5))
    for view in (View(), View(text="row")):
        keys, bodies = (await statements(store, lambda view=view: store.rows.page(run, view)))[:2]
        assert "body" not in keys[0]
        async with store._database.read() as connection:
            details = [row[3] for row in await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {bodies[0]}", bodies[1])]
        assert "SEARCH items USING INDEX sqlite_autoindex_items_1 (run_seq=? AND idx=?)" in details


async def statements(store: Store, ask: Any) -> list[tuple[str, Any]]:
    """The SELECTs that a call asks, with their parameters."""
    asked: list[tuple[str, Any]] = []
    engine = store._database._readers.sync_engine

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        asked.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        await ask()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    return asked
