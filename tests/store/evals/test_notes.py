"""Why rows could not be graded, and warnings: counted with their items, and rows chosen by them."""

from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from fairmark.store import Counts, InvalidView, NewItem, Run, Store, View, reason_key
from fairmark.store.base.revisions import migrate
from fairmark.store.base.tables import error_rows, items, run_notes
from fairmark.store.evals.notes import MOST, OTHERS
from tests.store.base.test_revisions import on
from tests.store.conftest import started_run

ZERO = "line 3\nZeroDivisionError: division by zero"
HTTP = "judge: HTTP 503 after 4 attempts"


def failed(idx: int, *reasons: str, warnings: tuple[str, ...] = ()) -> NewItem:
    return NewItem(idx, "error" if reasons else "pass", b"{}", reasons=reasons, warnings=warnings)


async def now(store: Store, run: Run) -> Run:
    found = await store.runs.get("default", run.eval_id, run.id)
    assert found is not None
    return found


async def test_reasons_and_warnings_are_counted_by_rows_over_batches(store: Store) -> None:
    run = await started_run(store)
    assert ((await now(store, run)).reasons, (await now(store, run)).warnings) == (None, None)
    first = [failed(0, ZERO, ZERO), failed(1, ZERO, HTTP), failed(2, warnings=("no sample", "no sample"))]
    assert await store.items.add(run, first, Counts(1, 0, 2))
    again = [failed(3, HTTP.replace("4", "5")), failed(4, warnings=("no sample",)), failed(5)]
    assert await store.items.add(run, again, Counts(2, 0, 1))
    found = await now(store, run)
    assert found.reasons == {"ZeroDivisionError: division by zero": 2, "judge: HTTP 503 after # attempts": 2}
    assert found.warnings == {"no sample": 2}


async def test_rows_are_chosen_by_their_reason(store: Store) -> None:
    run = await started_run(store)
    items = [failed(idx, *([ZERO] if idx % 3 == 0 else []), *([HTTP] if idx % 2 == 0 else [])) for idx in range(12)]
    assert await store.items.add(run, items, Counts(4, 0, 8))
    run = await now(store, run)
    zero = View(reason=reason_key("ZeroDivisionError: division by zero"))
    page = await store.rows.page(run, zero, None, 3)
    assert [item.idx for item in page.data] == [0, 3, 6]
    assert [item.idx for item in (await store.rows.page(run, zero, page.next, 3)).data] == [9]
    assert await store.rows.count(run, zero) == 4
    beside = await store.rows.neighbours(run, zero, 3)
    assert (beside.previous, beside.next) == (0, 6)
    assert (await store.rows.page(run, View(reason=1))).data == []


async def test_more_reasons_than_can_be_told_apart_are_counted_together(store: Store) -> None:
    run = await started_run(store)
    words = [f"no {'abcdefghij'[idx // 10]}{'abcdefghij'[idx % 10]}" for idx in range(MOST + 7)]
    assert await store.items.add(run, [failed(idx, word) for idx, word in enumerate(words)], Counts(0, 0, MOST + 7))
    reasons = (await now(store, run)).reasons
    assert reasons is not None
    assert (len(reasons), reasons[OTHERS], reasons["no aa"]) == (MOST + 1, 7, 1)


async def test_a_deleted_run_leaves_none_of_them(store: Store) -> None:
    run = await started_run(store)
    assert await store.items.add(run, [failed(0, ZERO)], Counts(0, 0, 1))
    await store.runs.delete("default", run.eval_id, run.id)
    async with store._database.read() as connection:
        for table in (error_rows, run_notes):
            assert (await connection.execute(table.select())).all() == []


def test_a_reason_goes_with_no_criterion_and_no_other_status() -> None:
    View(status="error", reason=5)
    with pytest.raises(InvalidView, match=r"^reason: "):
        View(status="fail", reason=5)
    with pytest.raises(InvalidView, match=r"^reason: "):
        View(criterion=0, outcome="error", reason=5)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_an_older_database_gets_the_reasons_of_its_items(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'fairmark.db'}"
    if database == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
    count = 1100  # more items than are read at once

    def fill(connection: Connection) -> None:
        migrate(connection, "0004")
        broken = b'{"results":[{"status":"error","error":"KeyError: 7"},{"status":"graded","error":null}]}'
        right = b'{"results":[{"status":"graded","error":null}]}'
        rows = [
            {"run_seq": 1, "idx": idx, "status": "error" if idx % 2 else "pass", "body": broken if idx % 2 else right}
            for idx in range(count)
        ]
        connection.execute(insert(items), rows)

    await on(url, fill)
    store = await Store.open(url, tmp_path)
    async with store._database.read() as connection:
        notes = (await connection.execute(select(run_notes))).all()
        found = (await connection.execute(select(error_rows).order_by(error_rows.c.idx))).all()
    await store.close()
    assert [tuple(row) for row in notes] == [(1, {"KeyError: #": count // 2}, {})]
    assert [tuple(row) for row in found] == [(1, reason_key("KeyError: #"), idx) for idx in range(1, count, 2)]
