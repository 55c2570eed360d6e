"""What criteria made of items: stored with them, gone with them, taken from older databases, and summed."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select

from fairmark.store import Counts, CriterionScore, NewItem, Run, Store, hash_item
from fairmark.store.base import tables
from fairmark.store.base.revisions import migrate
from fairmark.store.evals.scores import Bin
from tests.store.base.test_revisions import on
from tests.store.conftest import started_run


def item(idx: int, *scores: tuple[str, float]) -> NewItem:
    outcomes = {outcome for outcome, _ in scores}
    status = next((each for each in ("error", "skip", "fail") if each in outcomes), "pass")
    return NewItem(idx, status, b"{}", tuple(CriterionScore(*each) for each in scores), hash_item({"n": idx}))


async def stored(store: Store, run: Run) -> list[tuple[Any, ...]]:
    found = select(
        tables.scores.c.criterion, tables.scores.c.outcome, tables.scores.c.idx, tables.scores.c.score
    ).where(tables.scores.c.run_seq == run.seq)
    async with store._database.read() as connection:
        return sorted(tuple(row) for row in await connection.execute(found))


async def run_with(store: Store, *scores: tuple[str, float]) -> Run:
    """A run with one criterion, and one row for each of the scores."""
    run = await started_run(store)
    assert await store.items.add(run, [item(idx, each) for idx, each in enumerate(scores)], Counts(len(scores)))
    return run


async def test_every_criterion_of_every_item_has_a_score(store: Store) -> None:
    run, other = await started_run(store), await started_run(store)
    new = [item(0, ("pass", 1.0), ("fail", 0.25)), item(1, ("error", 0.0), ("skip", 0.0)), item(2)]
    assert await store.items.add(run, new, Counts(3))
    assert await store.items.add(other, [item(0, ("fail", -3.5))], Counts(1))
    assert await stored(store, run) == [(0, 0, 0, 1.0), (0, 2, 1, 0.0), (1, 1, 0, 0.25), (1, 3, 1, 0.0)]
    assert await stored(store, other) == [(0, 1, 0, -3.5)]


async def test_a_batch_that_is_added_again_has_its_scores_once(store: Store) -> None:
    run = await started_run(store)
    for _ in range(2):
        assert await store.items.add(run, [item(0, ("pass", 1.0))], Counts(1))
    assert await stored(store, run) == [(0, 0, 0, 1.0)]


async def test_a_run_that_is_not_in_progress_gets_no_scores(store: Store) -> None:
    run = await started_run(store)
    await store.runs.cancel("default", run.eval_id, run.id)
    assert not await store.items.add(run, [item(0, ("pass", 1.0))], Counts(1))
    assert await stored(store, run) == []


@pytest.mark.parametrize("what", ["run", "eval"])
async def test_scores_are_deleted_with_their_run_or_eval(store: Store, what: str) -> None:
    kept, gone = await run_with(store, ("pass", 1.0)), await run_with(store, ("pass", 1.0), ("fail", 0.0))
    if what == "run":
        assert await store.runs.delete("default", gone.eval_id, gone.id)
    else:
        assert await store.evals.delete("default", gone.eval_id)
    assert await stored(store, gone) == []
    assert await stored(store, kept) == [(0, 0, 0, 1.0)]


def test_equal_items_have_equal_hashes_and_others_do_not() -> None:
    assert hash_item({"a": 1, "b": {"c": [1], "d": "ä"}}) == hash_item({"b": {"d": "ä", "c": [1]}, "a": 1})
    items: list[dict[str, Any]] = [{}, {"a": 1}, {"a": "1"}, {"a": None}, {"b": 1}, {"a": "\ud83d"}, {"a": "\x00"}]
    assert len({hash_item(each) for each in items}) == len(items)
    assert all(-(2**63) <= hash_item(each) < 2**63 for each in items)
    # It is stored: what was written by one version has to match what another writes.
    assert hash_item({"question": "2+2?", "answer": 4}) == 1997161399829805857


async def test_scores_within_0_and_1_are_spread_over_that_range(store: Store) -> None:
    run = await run_with(
        store,
        ("fail", 0.0),
        ("fail", 0.1),
        ("pass", 0.5),
        ("fail", 0.49),
        ("pass", 0.75),
        ("pass", 1.0),
        ("error", 0.0),
    )
    found = await store.scores.histogram(run, 0, 4)
    assert found.bins == [Bin(0.0, 0.25, 0, 2), Bin(0.25, 0.5, 0, 1), Bin(0.5, 0.75, 1, 0), Bin(0.75, 1.0, 2, 0)]
    assert (found.count, found.min, found.max) == (6, 0.0, 1.0)
    assert found.mean == pytest.approx(2.84 / 6)


async def test_other_scores_are_spread_from_the_least_to_the_greatest(store: Store) -> None:
    run = await run_with(store, ("fail", -10.0), ("pass", 30.0), ("pass", 10.0), ("skip", 0.0), ("fail", 9.0))
    found = await store.scores.histogram(run, 0, 2)
    assert found.bins == [Bin(-10.0, 10.0, 0, 2), Bin(10.0, 30.0, 2, 0)]
    assert (found.count, found.mean, found.min, found.max) == (4, 9.75, -10.0, 30.0)


async def test_a_constant_score_is_one_bin(store: Store) -> None:
    run = await run_with(store, *[("pass", 0.1)] * 3, ("fail", 0.1))
    found = await store.scores.histogram(run, 0)
    assert found.bins == [Bin(0.1, 0.1, 3, 1)]
    assert (found.count, found.mean) == (4, 0.1)


async def test_scores_as_large_as_numbers_get_are_spread_too(store: Store) -> None:
    run = await run_with(store, *[("pass", 1.7e308)] * 3, ("fail", -1.7e308), ("fail", 5e-324))
    found = await store.scores.histogram(run, 0, 2)
    assert [(each.passed, each.failed) for each in found.bins] == [(0, 1), (3, 1)]
    assert found.mean == pytest.approx(0.68e308)


async def test_scores_as_small_as_numbers_get_are_spread_too(store: Store) -> None:
    run = await run_with(store, ("pass", 5e-324), ("fail", -5e-324), ("fail", 0.0), ("pass", 1e-310))
    found = await store.scores.histogram(run, 0, 2)
    assert [(each.passed, each.failed) for each in found.bins] == [(1, 2), (1, 0)]
    assert (found.min, found.max) == (-5e-324, 1e-310)


async def test_without_a_grade_there_are_no_bins(store: Store) -> None:
    run = await run_with(store, ("error", 0.0), ("skip", 0.0))
    for criterion in (0, 1):
        found = await store.scores.histogram(run, criterion)
        assert (found.count, found.bins) == (0, [])


BODIES = [
    (
        "fail",
        b'{"datasource_item":{"n":0},"results":[{"name":"a","score":0.75,"passed":true,"status":"graded"},'
        b'{"name":"b","score":-2,"passed":false,"status":"graded"}]}',
    ),
    (
        "error",
        b'{"datasource_item":{"n":1},"results":[{"name":"a","score":0.5,"passed":false,"status":"error"},'
        b'{"name":"b","score":0.0,"passed":false,"status":"skipped"}]}',
    ),
    ("pass", b'{"datasource_item":{"half":"\\ud83d"},"results":[]}'),
    ("pass", b"{}"),
]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_an_older_database_gets_the_scores_of_its_items(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'fairmark.db'}"
    if database == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
    runs = 700  # more items than are read at once

    def fill(connection: Connection) -> None:
        migrate(connection, "0002")
        rows = [
            {"run_seq": run, "idx": idx, "status": status, "body": body}
            for run in range(1, runs + 1)
            for idx, (status, body) in enumerate(BODIES)
        ]
        connection.execute(insert(tables.items), rows)

    await on(url, fill)
    store = await Store.open(url, tmp_path)
    table = tables.scores
    async with store._database.read() as connection:
        found = (
            await connection.execute(select(table).where(table.c.run_seq == runs).order_by(*table.primary_key))
        ).all()
        assert await connection.scalar(select(func.count()).select_from(table)) == runs * 4
    await store.close()
    zero, one = hash_item({"n": 0}), hash_item({"n": 1})
    assert [tuple(row) for row in found] == [
        (runs, 0, 0, 0, 1, 0.75, zero),
        (runs, 0, 2, 1, 2, 0.0, one),
        (runs, 1, 1, 0, 1, -2.0, zero),
        (runs, 1, 3, 1, 2, 0.0, one),
    ]
