"""The rows of a run's page: every filter and order, both ways, each row exactly once."""

import itertools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from sqlalchemy import event

from fairmark import jsontext
from fairmark.store import (
    Counts,
    CriterionScore,
    InvalidCursor,
    InvalidView,
    NewItem,
    Run,
    Store,
    View,
    hash_item,
    ids,
)
from tests.store.conftest import started_run


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


async def test_paging_through_every_view_visits_each_row_once_in_order(store: Store) -> None:
    run, other = await started_run(store), await started_run(store)
    entries = make(5200)
    shuffled = random.Random(2).sample(entries, len(entries))  # rows are done in no order
    await fill(store, run, shuffled)
    await fill(store, other, make(300, seed=3))
    for chosen, sort, descending in itertools.product(FILTERS, (None, 0, 1), (False, True)):
        view = View(**chosen, sort=sort, descending=descending)
        wanted = expected(entries, view)
        assert await walk(store, run, view, 1900) == wanted, view
        assert await walk(store, run, view, 1700, backward=True) == wanted, view
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


async def test_places_are_kept_to_the_last_digit(store: Store) -> None:
    run = await started_run(store)
    scores = [0.1, 0.1 + 2**-56, 1 / 3, 5e-324, -1.7e308, 1.7e308, 0.0, -0.0]
    await fill(store, run, [Entry(idx, "pass", (("pass", each),), "") for idx, each in enumerate(scores)])
    wanted = [4, 6, 7, 3, 0, 1, 2, 5]
    assert await walk(store, run, View(sort=0), 1) == wanted
    assert await walk(store, run, View(sort=0), 1, backward=True) == wanted


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


async def test_rows_that_come_in_meanwhile_are_found_behind_the_place(store: Store) -> None:
    run = await started_run(store)
    await fill(store, run, [Entry(idx, "pass", (("pass", idx / 10),), "") for idx in (1, 4, 6)])
    page = await store.rows.page(run, View(sort=0), None, 2)
    assert [item.idx for item in page.data] == [1, 4]
    assert page.next is not None
    await fill(store, run, [Entry(idx, "pass", (("pass", idx / 10),), "") for idx in (0, 5, 9)])
    assert await walk_from(store, run, View(sort=0), page.next) == [5, 6, 9]
    assert await walk(store, run, View(sort=0), 2) == [0, 1, 4, 5, 6, 9]


async def walk_from(store: Store, run: Run, view: View, at: str) -> list[int]:
    return [item.idx for item in (await store.rows.page(run, view, at, 100)).data]


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
    "at",
    [
        "x", "after", "after_", "after_x", "after_-1", "after_2147483648", "after_99999999999999999999", "after_1_2",
        "beside_1", "after_\x00", "after_٣", "last_1", "after_1\n", "after_error_1", "\ud800",
    ],
)  # fmt: skip
async def test_what_is_no_place_is_refused(store: Store, at: str) -> None:
    run = await started_run(store)
    with pytest.raises(InvalidCursor, match=r"is no place in this list\. Use what a page gave"):
        await store.rows.page(run, View(), at)


@pytest.mark.parametrize(
    "at", ["after_1", "after_nan_1", "after_inf_1", "after_pass_1", "after_0.5_-1", "after_1_2_3x"]
)
async def test_a_place_by_score_needs_a_score(store: Store, at: str) -> None:
    run = await started_run(store)
    with pytest.raises(InvalidCursor):
        await store.rows.page(run, View(sort=0), at)


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


# Searching.

EMOJI = "\U0001f600"
TEXTS = [
    'he said "no" and left',
    "a\nnew line\tand a tab",
    r"C:\path\new",
    "100% of_it",
    "Grüße aus ÖSTERREICH",
    f"half an emoji \ud83d and Größe {EMOJI} again",
    "a \x00 in it \x1f",
    f"a whole {EMOJI}",
    "日本語のテキスト",
    "x" * 10_000,
    "it's; DROP TABLE items --",
    "nothing to see",
]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('said "no"', [0]),
        ("SAID", [0]),
        ("a\nnew", [1]),
        ("new line\tand", [1]),
        (r"c:\PATH\new", [2]),
        ("\\", [2]),
        ("100%", [3]),
        ("%", [3]),
        ("_", [3]),
        ("f_i", [3]),
        ("1__%", []),
        ("GRÜSSE", []),  # one letter is one letter
        ("grüße", [4]),
        ("GRÜ", [4]),
        ("österreich", [4]),
        ("ö", [4, 5]),
        ("größe", [5]),
        ("\ud83d", [5]),
        ("\ud83d and gr", [5]),
        (EMOJI, [5, 7]),
        (f"Größe {EMOJI} AGAIN", [5]),
        ("\x00", [6]),
        ("\x1f", [6]),
        ("日本", [8]),
        ("x" * 10_000, [9]),
        ("x" * 10_001, []),
        ("ä" * 10_000, []),
        ("\x00" * 10_000, []),
        ("%" * 10_000, []),
        ("it's; drop table items --", [10]),
        ("!", []),
        ("question", []),  # the name of a field, in every row
        ("outputitem", []),
        ("nothing", [11]),
        ("not", [11, 14]),
        ("42", [12]),
        ("-0.5", [12]),
        ("true", []),
        ("deep", [12]),
        ("traceback", [13]),
        ("well argued", [13]),
        ("the answer", [14]),
        ("printed this", [13]),
        ("not reached", [14]),
    ],
)  # fmt: skip
async def test_a_search_finds_what_a_person_reads(store: Store, text: str, rows: list[int]) -> None:
    run = await started_run(store)
    bodies: list[dict[str, Any]] = [{"datasource_item": {"question": each}} for each in TEXTS]
    bodies.append({"datasource_item": {"n": [42, -0.5, True, None], "in": {"it": [{"is": "deep"}]}}})
    judge = {"output": [{"role": "assistant", "content": "well argued"}], "input": [{"content": "nothing asked"}]}
    result = {"name": "nothing-1", "error": "Traceback: …", "warnings": [], "printed": "printed this", "sample": judge}
    bodies.append({"datasource_item": {}, "results": [result], "sample": None})
    sample = {"output": [{"role": "x", "content": "The answer"}], "error": {"code": "e", "message": "not Reached"}}
    bodies.append({"datasource_item": {}, "results": [], "sample": sample})
    new = [NewItem(idx, "pass", jsontext.encode({"id": "outputitem_1", **body})) for idx, body in enumerate(bodies)]
    assert await store.items.add(run, new, Counts(len(new)))
    page = await store.rows.page(run, View(text=text))
    assert [item.idx for item in page.data] == rows
    assert (page.next, page.unfinished) == (None, False)


async def test_a_search_whose_time_is_up_goes_on_where_it_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairmark.store.rows.SEARCH_S", -1)
    run = await started_run(store)
    texts = {30: "x", 55: "x"}
    await fill(store, run, [Entry(idx, "pass", (("pass", 1.0),), texts.get(idx, "y")) for idx in range(70)])
    view = View(text="x")
    page = await store.rows.page(run, view, None, 19)
    assert (page.data, page.unfinished, page.next, page.previous) == ([], True, "after_19", None)
    page = await store.rows.page(run, view, page.next, 19)
    assert page.previous == "until_19"
    for limit, backward, sort in itertools.product((2, 7, 300), (False, True), (None, 0)):
        view = View(text="x", sort=sort)
        assert await walk(store, run, view, limit, backward=backward) == [30, 55]


async def test_a_search_looks_at_fewer_rows_at_once_where_many_only_seem_to_match(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairmark.store.rows.MOST_CANDIDATES", 5)
    run = await started_run(store)
    # "question" is the name of a field in every row.
    entries = [Entry(idx, "pass", (("pass", 1.0),), "a question" if idx == 150 else "y") for idx in range(200)]
    await fill(store, run, entries)
    assert await walk(store, run, View(text="question"), 3) == [150]
    assert await walk(store, run, View(text="question"), 100) == [150]


# How rows are found.

BY_SCORE = "scores USING COVERING INDEX scores_by_score (run_seq=? AND criterion=? AND outcome=? AND status=?{})"
BY_KEY = "scores USING PRIMARY KEY (run_seq=? AND criterion=? AND outcome=?{})"
BY_STATUS = "items USING COVERING INDEX items_by_status (run_seq=? AND status=? AND idx<?)"
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
