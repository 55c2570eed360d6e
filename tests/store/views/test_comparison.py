"""Two runs side by side: pairs of equal items, what they add up to, and which of them flipped."""

import math
import random
import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite

from fairmark.data import pairing
from fairmark.outcomes import OUTCOMES, MatchedBy
from fairmark.store import Counts, CriterionScore, InvalidCursor, NewItem, Run, Store, hash_item, shared_criteria
from fairmark.store.views.comparison import Change, _by_row
from tests.store.conftest import started_run

Row = tuple[str, str, float]
"""An item, its outcome, and its score."""


async def run_with(store: Store, rows: Sequence[Row], *, criterion: int = 0, first_idx: int = 0) -> Run:
    run = await started_run(store)
    others = (CriterionScore("pass", 1.0),) * criterion
    new = [
        NewItem(
            first_idx + idx,
            outcome,
            f'{{"of": "{run.id}", "n": {first_idx + idx}}}'.encode(),
            (*others, CriterionScore(outcome, score)),
            hash_item({"text": item}),
        )
        for idx, (item, outcome, score) in enumerate(rows)
    ]
    for at in range(0, len(new), 1000):
        assert await store.items.add(run, new[at : at + 1000], Counts(1))
    return run


FIRST = [("a", "pass", 1.0), ("b", "pass", 0.75), ("c", "fail", 0.25), ("d", "fail", 0.0), ("e", "pass", 0.5)]
SECOND = [("a", "pass", 0.5), ("b", "fail", 0.25), ("c", "pass", 1.0), ("d", "fail", 0.25), ("e", "error", 0.0)]


async def check_totals(store: Store, first: Run, second: Run, matched_by: str, criteria: tuple[int, int]) -> None:
    found = await store.comparison.totals(first, second, criteria)
    assert (found.matched_by, found.n) == (matched_by, 4)
    assert (found.both_passed, found.only_first, found.only_second, found.both_failed) == (1, 1, 1, 1)
    assert (found.mean_first, found.mean_second) == (0.5, 0.5)
    assert found.mean_difference == 0.0
    # Of -0.5, -0.5, 0.75 and 0.25.
    assert found.sd_difference == pytest.approx(0.6123724356957945)


async def test_rows_of_the_same_number_are_pairs(store: Store) -> None:
    first, second = await run_with(store, FIRST), await run_with(store, SECOND, criterion=1)
    await check_totals(store, first, second, "row", (0, 1))
    back = await store.comparison.totals(second, first, (1, 0))
    assert (back.only_first, back.only_second) == (1, 1)


async def test_a_data_set_is_the_same_in_whatever_order_and_however_it_was_graded(store: Store) -> None:
    first, turned = await run_with(store, FIRST), await run_with(store, SECOND[::-1])
    assert await store.comparison.data_set(first) == await store.comparison.data_set(turned)
    twice = await run_with(store, [*FIRST[:-1], FIRST[0]])
    found = await store.comparison.data_set(twice)
    assert found.rows == 5
    assert found != await store.comparison.data_set(first)
    assert (await store.comparison.data_set(await run_with(store, []))).rows == 0


async def test_rows_in_another_order_are_paired_by_their_items(store: Store) -> None:
    moved = [*SECOND[2:], ("new", "pass", 9.0), *SECOND[:2]]
    await check_totals(store, await run_with(store, FIRST), await run_with(store, moved), "item", (0, 0))


async def test_an_item_that_comes_often_is_paired_once_each_time(store: Store) -> None:
    first = await run_with(store, [("x", "pass", 1.0), ("x", "fail", 0.0), ("x", "pass", 1.0), ("y", "pass", 1.0)])
    second = await run_with(store, [("y", "pass", 1.0), ("x", "fail", 0.0), ("x", "fail", 0.0)])
    found = await store.comparison.totals(first, second, (0, 0))
    assert (found.matched_by, found.n) == ("item", 3)
    assert (found.both_passed, found.only_first, found.only_second, found.both_failed) == (1, 1, 0, 1)
    page = await store.comparison.rows(first, second, (0, 0), "item")
    assert [(pair.change, pair.first.idx, pair.second.idx) for pair in page.data] == [
        ("lost", 0, 1),
        ("failed", 1, 2),
        ("passed", 3, 0),
    ]


async def test_rows_of_the_same_number_with_other_items_are_no_pairs(store: Store) -> None:
    second = [("a", "pass", 1.0), ("other", "fail", 0.0), *SECOND[2:]]
    first_run, second_run = await run_with(store, FIRST), await run_with(store, second)
    found = await store.comparison.totals(first_run, second_run, (0, 0))
    assert (found.matched_by, found.n, found.only_first, found.only_second) == ("row", 3, 0, 1)
    page = await store.comparison.rows(first_run, second_run, (0, 0), found.matched_by)
    assert [pair.first.idx for pair in page.data] == [2, 3, 0]


async def test_runs_in_progress_are_compared_by_what_both_have(store: Store) -> None:
    first, second = await run_with(store, FIRST[:3]), await run_with(store, SECOND[1:], first_idx=1)
    found = await store.comparison.totals(first, second, (0, 0))
    assert (found.matched_by, found.n, found.only_first, found.only_second) == ("row", 2, 1, 1)


@pytest.mark.parametrize(
    ("rows", "criteria"),
    [([], (0, 0)), ([("z", "pass", 1.0)], (0, 0)), (FIRST, (0, 5)), ([("a", "error", 0.0)], (0, 0))],
)
async def test_runs_that_share_nothing_have_no_pairs(store: Store, rows: list[Row], criteria: tuple[int, int]) -> None:
    first, second = await run_with(store, FIRST), await run_with(store, rows)
    found = await store.comparison.totals(first, second, criteria)
    assert (found.n, found.mean_first, found.mean_difference, found.sd_difference) == (0, 0.0, 0.0, 0.0)
    ways: tuple[MatchedBy, ...] = ("row", "item")
    for matched_by in ways:
        page = await store.comparison.rows(first, second, criteria, matched_by)
        assert (page.data, page.previous, page.next) == ([], None, None)


async def test_a_run_compared_with_itself_has_not_changed(store: Store) -> None:
    run = await run_with(store, FIRST)
    found = await store.comparison.totals(run, run, (0, 0))
    assert (found.n, found.both_passed, found.both_failed, found.mean_difference) == (5, 3, 2, 0.0)
    assert found.sd_difference == 0.0


async def test_scores_as_large_and_as_small_as_numbers_get_are_compared(store: Store) -> None:
    first = await run_with(store, [("a", "pass", 1.7e308), ("b", "pass", 1.7e308), ("c", "fail", 5e-324)])
    second = await run_with(store, [("a", "pass", 1.7e308), ("b", "fail", 0.0), ("c", "fail", 1e-300)])
    found = await store.comparison.totals(first, second, (0, 0))
    assert (found.n, found.only_first) == (3, 1)
    assert found.mean_difference == pytest.approx(-1.7e308 / 3)
    assert math.isfinite(found.sd_difference)
    first = await run_with(store, [("a", "pass", 5e-324), ("b", "pass", 1e-300)])
    found = await store.comparison.totals(first, first, (0, 0))
    assert (found.n, found.mean_difference) == (2, 0.0)


async def test_a_pair_has_both_items_and_scores(store: Store) -> None:
    first, second = await run_with(store, FIRST), await run_with(store, SECOND)
    page = await store.comparison.rows(first, second, (0, 0), "row", limit=1)
    (pair,) = page.data
    assert (pair.change, pair.first_score, pair.second_score) == ("lost", 0.75, 0.25)
    assert (pair.first.idx, pair.first.body) == (1, f'{{"of": "{first.id}", "n": 1}}'.encode())
    assert (pair.second.idx, pair.second.body) == (1, f'{{"of": "{second.id}", "n": 1}}'.encode())
    assert (page.previous, page.next) == (None, "after_lost_1")


def many(count: int, seed: int) -> list[Row]:
    dice = random.Random(seed)
    rows: list[Row] = []
    for idx in range(count):
        score = round(dice.random(), 2)
        outcome = "error" if dice.random() < 0.03 else "pass" if score >= 0.5 else "fail"
        rows.append((f"item {idx}", outcome, 0.0 if outcome == "error" else score))
    return rows


CHANGES: dict[tuple[str, str], Change] = {
    ("pass", "fail"): "lost",
    ("fail", "pass"): "gained",
    ("fail", "fail"): "failed",
    ("pass", "pass"): "passed",
}


async def walk(
    store: Store, first: Run, second: Run, matched_by: MatchedBy, change: Change | None, limit: int, backward: bool
) -> list[tuple[Change, int]]:
    seen: list[tuple[Change, int]] = []
    at = "last" if backward else None
    while True:
        page = await store.comparison.rows(first, second, (0, 0), matched_by, change, at, limit)
        found = [(pair.change, pair.first.idx) for pair in page.data]
        seen = found + seen if backward else seen + found
        at = page.previous if backward else page.next
        if at is None:
            return seen
        assert len(found) == limit


async def test_paging_visits_every_pair_once_and_flipped_ones_first(store: Store) -> None:
    rows, others = many(1100, 1), many(1100, 2)
    mixed = random.Random(3).sample(others, len(others))
    first, second, moved = [await run_with(store, each) for each in (rows, others, mixed)]
    pairs = [
        (CHANGES[one[1], other[1]], idx, one[2], other[2])
        for idx, (one, other) in enumerate(zip(rows, others, strict=True))
        if (one[1], other[1]) in CHANGES
    ]
    order = list(CHANGES.values())
    wanted = sorted(((change, idx) for change, idx, *_ in pairs), key=lambda each: (order.index(each[0]), each[1]))
    differences = [other - one for *_, one, other in pairs]
    ways: list[tuple[Run, MatchedBy]] = [(second, "row"), (moved, "item")]
    for other, matched_by in ways:
        totals = await store.comparison.totals(first, other, (0, 0))
        assert (totals.matched_by, totals.n) == (matched_by, len(pairs))
        assert totals.only_first == sum(change == "lost" for change, _ in wanted)
        assert totals.mean_difference == pytest.approx(statistics.mean(differences))
        assert totals.sd_difference == pytest.approx(statistics.stdev(differences))
        for backward in (False, True):
            found = await walk(store, first, other, matched_by, None, 150, backward)
            assert found == wanted
        only = await walk(store, first, other, matched_by, "gained", 90, backward=False)
        assert only == [each for each in wanted if each[0] == "gained"]


@pytest.mark.parametrize(
    "at", ["x", "after_1", "after_lost_", "after_lost_x", "after_won_1", "after_passed_1", "until_lost_-1"]
)
async def test_what_is_no_place_is_refused(store: Store, at: str) -> None:
    run = await run_with(store, FIRST)
    with pytest.raises(InvalidCursor):
        await store.comparison.rows(run, run, (0, 0), "row", "lost", at=at)


async def test_a_deleted_run_has_no_pairs(store: Store) -> None:
    first, second = await run_with(store, FIRST), await run_with(store, SECOND)
    assert await store.runs.delete("default", second.eval_id, second.id)
    assert (await store.comparison.totals(first, second, (0, 0))).n == 0
    assert (await store.comparison.rows(first, second, (0, 0), "row")).data == []


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (["a", "b"], ["a", "b"], [(0, 0), (1, 1)]),
        (["a", "b"], ["b", "c", "a"], [(0, 2), (1, 0)]),
        (["a", "a", "a"], ["a", "x", "a"], [(0, 0), (1, 2)]),
        (["a"], ["b"], []),
        ([], [], []),
    ],
)
def test_criteria_of_one_name_are_shared(first: list[str], second: list[str], shared: list[tuple[int, int]]) -> None:
    assert shared_criteria([{"name": each} for each in first], [{"name": each} for each in second]) == shared


async def test_a_pair_is_looked_up_by_its_key(in_sqlite: Any) -> None:
    store = await in_sqlite.open()
    run = await run_with(store, FIRST)
    query = _by_row(run, run, (0, 0), "lost").compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    async with store._database.read() as connection:
        details = [row[3] for row in await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}")]
    assert details[0].endswith("USING PRIMARY KEY (run_seq=? AND criterion=? AND outcome=?)")
    assert details[-1].endswith("other USING PRIMARY KEY (run_seq=? AND criterion=? AND outcome=? AND idx>? AND idx<?)")


def column(rows: Sequence[Row]) -> pairing.Column:
    made = pairing.Column()
    for number, (item, outcome, score) in enumerate(rows):
        made.add(number, hash_item({"text": item}), OUTCOMES.index(outcome), score)
    return made


@pytest.mark.parametrize("seed", range(8))
async def test_the_store_pairs_rows_as_memory_does(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    runs = []
    for _ in range(2):
        items = [chance.choice("abcdefghij") for _ in range(chance.randint(1, 30))]
        outcomes = [chance.choice(["pass", "fail", "pass", "fail", "error"]) for _ in items]
        runs.append(
            [
                (item, outcome, chance.random() if outcome != "error" else 0.0)
                for item, outcome in zip(items, outcomes, strict=True)
            ]
        )
    if seed % 2:  # mostly the same rows
        runs[1] = [(item, outcome, 1.0 - reward) for item, outcome, reward in runs[0]]
    ours = pairing.pair(*map(column, runs))
    first, second = [await run_with(store, rows) for rows in runs]
    theirs = await store.comparison.totals(first, second, (0, 0))
    assert ours[:6] == (
        theirs.matched_by,
        theirs.n,
        theirs.both_passed,
        theirs.only_first,
        theirs.only_second,
        theirs.both_failed,
    )
    assert ours.mean_difference == pytest.approx(theirs.mean_difference, abs=1e-9)
    assert ours.sd_difference == pytest.approx(theirs.sd_difference, abs=1e-6)
