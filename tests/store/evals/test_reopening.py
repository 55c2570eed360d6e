"""A run that goes on: its rows with errors are taken out with all that belongs to them, none lost and none twice."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import select

from fairmark import jsontext
from fairmark.store import Counts, CriterionScore, NewItem, Run, Store
from fairmark.store.base.tables import error_rows, facets, scores
from fairmark.store.evals import reopening
from fairmark.store.evals.facets import fields_of
from fairmark.store.evals.notes import MOST, OTHERS
from tests.store.another import another
from tests.store.conftest import Place, new_run, started_run

CRITERIA = ["exact-1", "judged-2"]
ROWS = 20
ERRORS = [idx for idx in range(ROWS) if idx % 3 == 0]
"""Seven of them. By the first criterion they passed."""


def row_of(idx: int, is_error: bool) -> NewItem:
    outcomes = ("pass", "error") if is_error else ("pass", "fail")
    warnings = ("no sample",) if idx % 2 else ()
    body = jsontext.encode({"datasource_item": {"n": idx}, "results": [{"warnings": list(warnings)}]})
    return NewItem(
        idx,
        outcomes[1],
        body,
        tuple(CriterionScore(outcome, float(outcome == "pass")) for outcome in outcomes),
        reasons=(f"reason {'even' if idx % 2 else 'odd'}",) if is_error else (),
        warnings=warnings,
        fields=fields_of({"n": idx}),
    )


async def add(store: Store, run: Run, new: list[NewItem]) -> None:
    counts = Counts()
    for item in new:
        counts.count(item.status, {id_: score[0] for id_, score in zip(CRITERIA, item.scores, strict=True) if score})
    counts.spend("student", [1, 2, 3, 0], 0.5)
    assert await store.items.add(run, new, counts)


async def ended_run(store: Store) -> Run:
    run = await started_run(store, total=ROWS)
    assert await store.samples.add(run, [(idx, b"kept" if idx % 2 else b"gone") for idx in range(ROWS)])
    for first in range(0, ROWS, 5):
        await add(store, run, [row_of(idx, idx in ERRORS) for idx in range(first, first + 5)])
    assert await store.runs.finish(run, "completed")
    return await again(store, run)


async def again(store: Store, run: Run) -> Run:
    now = await store.runs.get("default", run.eval_id, run.id)
    assert now is not None
    return now


def refresh(body: bytes) -> bytes | None:
    return None if body == b"gone" else body + b" again"


async def done(store: Store, run: Run) -> list[int]:
    return [idx for idx, is_done in enumerate(await store.items.done(run)) if is_done]


async def check_whole(store: Store, run: Run) -> None:
    """What is told of the rows, in every place, is of exactly those that are there."""
    run, there = await again(store, run), await done(store, run)
    errors = [item.idx for item in (await store.items.list(run, 100, status="error")).data]
    good = [idx for idx in there if idx not in errors]
    assert good == [idx for idx in range(ROWS) if idx not in ERRORS]
    assert (run.passed, run.failed, run.errored, run.skipped) == (0, len(good), len(errors), 0)
    assert run.criteria_counts == {"exact-1": [len(there), 0, 0, 0], "judged-2": [0, len(good), len(errors), 0]}
    assert run.reasons == dict(Counter(row_of(idx, True).reasons[0] for idx in errors))
    assert run.warnings == {"no sample": sum(idx % 2 for idx in there)}
    async with store._database.read() as connection:
        of_scores = (await connection.execute(select(scores.c.criterion, scores.c.idx))).all()
        of_errors = (await connection.scalars(select(error_rows.c.idx))).all()
    assert sorted(map(tuple, of_scores)) == [(criterion, idx) for criterion in range(2) for idx in there]
    assert sorted(of_errors) == errors
    assert sorted((await store.columns.of(run)).idx) == there


async def grade_the_rest(store: Store, run: Run) -> None:
    """As the engine does: what is not there is graded, this time well or not."""
    assert (await store.runs.claim()) == await again(store, run)
    assert await store.runs.start(run)
    there = await done(store, run)
    await add(store, run, [row_of(idx, is_error=False) for idx in range(ROWS) if idx not in there])
    assert await store.runs.finish(run, "completed")
    await store.runs.release(run)


@pytest.mark.parametrize("rows_a_look", [1, 3, 7, 500])
async def test_rows_with_errors_are_taken_out_and_done_once_more(
    store: Store, monkeypatch: pytest.MonkeyPatch, rows_a_look: int
) -> None:
    monkeypatch.setattr(reopening, "ROWS_A_LOOK", rows_a_look)
    run = await ended_run(store)
    await check_whole(store, run)
    assert await store.reopening.reopen(run, CRITERIA, refresh)
    await check_whole(store, run)
    now = await again(store, run)
    assert (now.status, now.error, now.errored, now.ended_at) == ("queued", None, 0, None)
    assert (now.usage, now.cost) == (run.usage, run.cost)  # what was spent stays spent
    samples = await store.samples.get(run, 0, ROWS)
    assert samples == {
        idx: (b"kept again" if idx in ERRORS else b"kept") if idx % 2 else b"gone"
        for idx in range(ROWS)
        if idx % 2 or idx not in ERRORS
    }
    await grade_the_rest(store, run)
    finished = await again(store, run)
    assert (await done(store, run), finished.failed) == (list(range(ROWS)), ROWS)
    assert sorted((await store.columns.of(finished)).idx) == list(range(ROWS))


async def test_a_run_goes_on_with_its_errors_as_they_are(store: Store) -> None:
    run = await ended_run(store)
    assert await store.reopening.reopen(run, CRITERIA)
    await check_whole(store, run)
    assert (await again(store, run)).errored == len(ERRORS)


async def test_of_two_who_retry_one_does_and_no_row_is_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reopening, "ROWS_A_LOOK", 2)
    run = await ended_run(store)
    told = await asyncio.gather(*(store.reopening.reopen(run, CRITERIA, refresh) for _ in range(3)))
    assert sorted(told) == [False, False, True]
    await check_whole(store, run)
    await grade_the_rest(store, run)
    assert await done(store, run) == list(range(ROWS))
    assert await store.reopening.reopen(run, CRITERIA, refresh)  # nothing to take out
    assert not await store.reopening.reopen(run, CRITERIA, refresh)
    assert await done(store, run) == list(range(ROWS))


async def test_a_run_that_is_active_gone_or_another_machines_stays_as_it_is(store: Store) -> None:
    queued, started, gone = await new_run(store), await started_run(store), await ended_run(store)
    assert await store.runs.delete("default", gone.eval_id, gone.id)
    for run, status in ((queued, "queued"), (started, "in_progress")):
        assert not await store.reopening.reopen(run, CRITERIA, refresh)
        assert (await again(store, run)).status == status
    assert not await store.reopening.reopen(gone, CRITERIA, refresh)


@pytest.mark.parametrize("fails_at", range(5))
async def test_what_fails_in_the_middle_leaves_every_row_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    monkeypatch.setattr(reopening, "ROWS_A_LOOK", 2)
    run = await ended_run(store)
    calls: list[bytes] = []

    def failing(body: bytes) -> bytes | None:
        calls.append(body)
        if len(calls) > fails_at:
            raise ArithmeticError("out of luck")
        return refresh(body)

    with pytest.raises(ArithmeticError, match="out of luck"):
        await store.reopening.reopen(run, CRITERIA, failing)
    await check_whole(store, run)
    now = await again(store, run)
    # The first two are taken out together, or not at all.
    told = ("completed", None) if fails_at < 2 else ("failed", reopening.INTERRUPTED)
    assert (now.status, now.error, now.errored) == (*told, len(ERRORS) - fails_at // 2 * 2)
    assert now.ended_at is not None
    assert await store.runs.claim() is None
    assert await store.reopening.reopen(run, CRITERIA, refresh)
    await check_whole(store, run)
    await grade_the_rest(store, run)
    assert await done(store, run) == list(range(ROWS))


KILLED = """
import asyncio, signal, sys
from pathlib import Path
from fairmark.store import Store
from fairmark.store.evals import reopening

reopening.ROWS_A_LOOK = 3
calls = 0

def refresh(body):
    global calls
    calls += 1
    if calls == 5:
        print("in the middle", flush=True)
        signal.pause()
    return None if body == b"gone" else body + b" again"

async def work():
    store = await Store.open(sys.argv[1] or None, Path(sys.argv[2]))
    run = await store.runs.get("default", sys.argv[3], sys.argv[4])
    await store.reopening.reopen(run, ["exact-1", "judged-2"], refresh)

asyncio.run(work())
"""


async def test_a_killed_process_loses_no_row_and_doubles_none(place: Place) -> None:
    store = await place.open()
    run = await ended_run(store)
    await store.close()
    with another(KILLED, place.url or "", str(place.home), run.eval_id, run.id) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
    store = await place.open()
    # PostgreSQL may still hold what the process had begun; this waits for it.
    assert await store.runs.cancel("default", run.eval_id, run.id)
    await check_whole(store, run)
    now = await again(store, run)
    assert (now.status, now.errored) == ("failed", len(ERRORS) - 3)
    assert await store.reopening.reopen(run, CRITERIA, refresh)
    await grade_the_rest(store, run)
    assert await done(store, run) == list(range(ROWS))
    await store.close()


async def test_notes_that_were_not_told_apart_are_taken_off_what_is_counted_together(store: Store) -> None:
    run = await started_run(store)
    words = [f"no {'abcdefghij'[idx // 10]}{'abcdefghij'[idx % 10]}" for idx in range(MOST + 7)]
    new = [
        NewItem(idx, "error", jsontext.encode({"results": [{"warnings": [word]}]}), reasons=(word,), warnings=(word,))
        for idx, word in enumerate(words)
    ]
    stays = NewItem(len(words), "pass", b"{}", warnings=("one more",))
    assert await store.items.add(run, [*new, stays], Counts(1, 0, len(new)))
    assert await store.runs.finish(run, "completed")
    before = await again(store, run)
    assert before.warnings is not None
    assert before.warnings[OTHERS] == 8
    assert await store.reopening.reopen(run, CRITERIA, refresh)
    now = await again(store, run)
    assert (now.reasons, now.warnings, now.errored) == ({}, {OTHERS: 1}, 0)


async def test_packets_of_rows_that_were_taken_out_are_not_kept(store: Store) -> None:
    """Somebody reads the columns while another retries: what was read before says nothing of the rows since."""
    run = await ended_run(store)
    assert await store.reopening.reopen(run, CRITERIA, refresh)
    await store.columns._keep(run, 1, 2, b"of another time")
    async with store._database.read() as connection:
        assert (await connection.execute(select(facets.c["first"]))).all() == []


async def test_columns_are_read_again_after_a_retry_with_the_same_counters(store: Store) -> None:
    run = await ended_run(store)
    assert list((await store.columns.of(run)).scores[0]) == [1.0] * ROWS
    assert await store.reopening.reopen(run, CRITERIA, refresh)
    assert await store.runs.start(run)
    worse = [
        NewItem(idx, "error", b"{}", (CriterionScore("pass", 0.5), CriterionScore("error", 0.0)), fields={})
        for idx in ERRORS
    ]
    await add(store, run, worse)
    assert await store.runs.finish(run, "completed")
    now = await again(store, run)
    assert (now.failed, now.errored) == (run.failed, run.errored)
    assert sorted((await store.columns.of(now)).scores[0]) == [0.5] * len(ERRORS) + [1.0] * (ROWS - len(ERRORS))
