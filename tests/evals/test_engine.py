"""The engine: all runs together, stopped, cancelled, and shared by several servers."""

import asyncio
import json
import logging
import time
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from sqlalchemy import event

from fairmark.evals import engine as engine_module
from fairmark.evals import workoff
from fairmark.evals.flight import Flight
from fairmark.evals.source import open_source
from fairmark.settings import Settings
from fairmark.store import Run, Store, StoreUnavailable
from fairmark.work import background
from tests.cluster.near import NearMachines, NearPost, dispatch, lose
from tests.evals.working import (
    EXACT,
    JUDGE,
    PROJECT,
    SAMPLED,
    Models,
    check_counts,
    ended,
    has_items,
    items,
    new_run,
    now,
    python,
    rows,
    student_and_judge,
    until,
    worked_off,
    working,
)
from tests.postgres import Postgres
from tests.store.conftest import Place


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that looks often, where a test waits for a look."""
    monkeypatch.setattr(background, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(workoff, "WATCH_EVERY_S", 0.05)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that never looks by itself, where a test is about what it is told."""
    monkeypatch.setattr(background, "LOOK_EVERY_S", 600)
    monkeypatch.setattr(workoff, "WATCH_EVERY_S", 600)


async def test_runs_side_by_side_are_all_worked_off(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a project has at once, so that some begin where others end."""
    monkeypatch.setattr(engine_module, "RUNS_A_PROJECT", 6)
    runs = [await new_run(store, [EXACT], rows(70)) for _ in range(10)]
    async with working(store):
        for run in runs:
            found = await ended(store, run)
            check_counts(found, await items(store, run), 70)


async def test_runs_whose_judges_hang_keep_no_run_that_could_work_from_beginning(
    store: Store, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "RUNS_A_PROJECT", 3)
    monkeypatch.setattr(engine_module, "STILL_S", 0.0)
    judge = Models(student_and_judge)
    judge.hold("judge")
    hanging = [await new_run(store, [JUDGE], rows(100)) for _ in range(9)]
    exact = await new_run(store, [EXACT], rows(50))
    async with working(store, judge):
        check_counts(await ended(store, exact), await items(store, exact), 50)
        assert {(await now(store, run)).status for run in hanging} == {"in_progress"}


async def test_a_project_with_many_runs_keeps_no_other_project_from_its_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "settings", lambda: Settings(runs_at_once=2))
    judge = Models(student_and_judge)
    judge.hold("judge")
    theirs = [await new_run(store, [JUDGE], rows(2)) for _ in range(5)]
    ours = await new_run(store, [EXACT], rows(50), project="ours")
    async with working(store, judge):
        check_counts(await ended(store, ours), await items(store, ours), 50)
        statuses = [(await now(store, run)).status for run in theirs]
        assert sorted(statuses) == ["in_progress"] * 2 + ["queued"] * 3


@pytest.mark.on_both
async def test_a_run_that_was_stopped_goes_on_where_it_stood(store: Store) -> None:
    slow = python("import time; time.sleep(0.02); return 1.0")
    judge = {**JUDGE, "input": [{"role": "user", "content": "{{ item.n }}"}]}
    run = await new_run(store, [EXACT, slow, judge], rows(300))
    models = Models(student_and_judge)
    async with working(store, models):
        await until(lambda: has_items(store, run))
    stored = {item["id"]: item for item in await items(store, run)}
    assert (await now(store, run)).status == "in_progress"
    models.prompts.clear()
    found, seen = await worked_off(store, run, models)
    check_counts(found, seen, 300)
    assert {item["id"]: item for item in seen if item["id"] in stored} == stored
    # What was stored is not graded a second time.
    graded_before = {str(item["datasource_item"]["n"]) for item in stored.values()}
    assert sorted([*graded_before, *models.asked_of("judge")], key=int) == [str(number) for number in range(300)]


async def test_passing_by_many_rows_that_are_done_lets_others_have_their_turn(store: Store) -> None:
    run = await new_run(store, [EXACT], rows(20_000))
    source = open_source(json.loads(run.data_source))
    found = list(workoff.RunWork(store, run, source, [], bytearray(b"\1" * 19_999), None, _nobody, Flight())._chunks())
    assert [[row.position for row in chunk] for chunk in found if chunk] == [[19_999]]
    assert len(found) == 20


def _nobody(results: Any) -> None:
    """Who wants to know what was graded."""


async def test_cancel_takes_effect_at_once_although_judges_hang(store: Store, told: None) -> None:
    run = await new_run(store, [JUDGE], [{"item": {"a": str(n)}} for n in range(400)])

    class Hanging(Models):
        async def post(self, model: Any, path: Any, body: Any, tab: Any) -> dict[str, Any]:
            if len(self.prompts) >= 100:
                self.hold("judge")
            return await super().post(model, path, body, tab)

    models = Hanging(student_and_judge)
    async with working(store, models) as engine:
        await until(lambda: has_items(store, run))
        await until(lambda: models.waiting > 0)
        canceled = await store.runs.cancel(PROJECT, run.eval_id, run.id)
        engine.cancel(run.id)
        await until(lambda: not models.waiting, 10)
        assert canceled is not None
        assert canceled.status == "canceled"
        left = await items(store, run)
        asked = len(models.prompts)
        await asyncio.sleep(0.3)
        assert len(models.prompts) == asked
    after = await now(store, run)
    assert (after.status, after.passed) == ("canceled", len(left))
    assert await items(store, run) == left != []


async def test_a_run_cancelled_while_its_code_hangs_lets_the_next_one_begin(store: Store, told: None) -> None:
    hanging = python("import time; time.sleep(60)")
    run = await new_run(store, [hanging], rows(3))
    async with working(store) as engine:
        await until(lambda: _in_progress(store, run))
        await asyncio.sleep(0.2)
        await store.runs.cancel(PROJECT, run.eval_id, run.id)
        engine.cancel(run.id)
        nxt = await new_run(store, [EXACT], rows(3))
        engine.wake()
        assert (await ended(store, nxt, 10)).status == "completed"
        await until(lambda: not engine._working)


async def _in_progress(store: Store, run: Run) -> bool:
    return (await now(store, run)).status == "in_progress"


@pytest.mark.on_both
@pytest.mark.parametrize("what", ["run", "eval"])
async def test_what_is_deleted_is_worked_on_no_longer(store: Store, told: None, what: str) -> None:
    models = Models(student_and_judge)
    models.hold("judge")
    run = await new_run(store, [JUDGE], rows(40), SAMPLED)
    async with working(store, models) as engine:
        await until(lambda: models.waiting > 0)
        if what == "run":
            await store.runs.delete(PROJECT, run.eval_id, run.id)
        else:
            await store.evals.delete(PROJECT, run.eval_id)
        engine.cancel(run.id if what == "run" else run.eval_id)
        await until(lambda: not models.waiting and not engine._working, 5)
    assert await store.runs.get(PROJECT, run.eval_id, run.id) is None
    assert await store.samples.get(run, 0, 40) == {}


async def test_what_breaks_while_runs_are_looked_for_does_not_end_the_engine(
    store: Store, impatient: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, failures = store.runs.claim, iter([StoreUnavailable("gone"), RuntimeError("a bug")])

    async def claim(but_not: Collection[str]) -> Run | None:
        for failure in failures:
            raise failure
        return await real(but_not)

    monkeypatch.setattr(store.runs, "claim", claim)
    with caplog.at_level(logging.WARNING):
        found, _ = await worked_off(store, await new_run(store, [EXACT], rows(3)))
    assert found.status == "completed"
    assert "a bug" in caplog.text


@pytest.fixture
def restarting(postgres: Postgres) -> Iterator[Postgres]:
    yield postgres
    postgres.stop()
    postgres.start()


async def test_a_run_goes_on_by_itself_after_its_database_was_away(
    in_postgresql: Place, restarting: Postgres, impatient: None
) -> None:
    """Samples that came while it was away are kept, and nothing is asked or counted twice."""
    store = await in_postgresql.open()
    models = Models(student_and_judge)
    run = await new_run(store, [EXACT, JUDGE], [{"item": {"a": str(n)}} for n in range(300)], SAMPLED)
    models.hold("judge")
    async with working(store, models):
        await until(lambda: models.waiting > 0)
        models.hold("student")
        await asyncio.to_thread(restarting.stop)
        models.let_go("judge")
        models.let_go("student")
        with pytest.raises(StoreUnavailable):
            await now(store, run)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(restarting.start)
        await until(lambda: _answers(store, run))
        found = await ended(store, run)
    seen = await items(store, run)
    assert found.status == "completed"
    check_counts(found, seen, 300)
    assert sorted(models.asked_of("student")) == sorted(f"Say {n}" for n in range(300))
    assert len(models.asked_of("judge")) == 300
    assert sum(usage[0] for usage in found.usage.values()) == 600


async def _answers(store: Store, run: Run) -> bool:
    try:
        await now(store, run)
    except StoreUnavailable:
        return False
    return True


async def test_a_run_goes_on_by_itself_after_its_disk_was_full(in_sqlite: Place, impatient: None) -> None:
    store = await in_sqlite.open()
    models = Models(student_and_judge)
    run = await new_run(store, [JUDGE], [{"item": {"a": str(n), "b": "x" * 2000}} for n in range(600)], SAMPLED)
    sqlite = store._database._writers.sync_engine
    most_pages = 700

    @event.listens_for(sqlite, "checkout")
    def limit(connection: Any, *_: Any) -> None:
        connection.cursor().execute(f"PRAGMA max_page_count={most_pages}")

    async with working(store, models):
        await until(lambda: _is_full(store, run))
        held = await now(store, run)
        assert held.status == "in_progress"
        most_pages = 1_000_000
        found = await ended(store, run)
    seen = await items(store, run)
    check_counts(found, seen, 600)
    assert len(models.asked_of("student")) == len(models.asked_of("judge")) == 600
    assert sum(usage[0] for usage in found.usage.values()) == 1200


async def _is_full(store: Store, run: Run) -> bool:
    try:
        await store.files.create(PROJECT, f"file-{time.monotonic_ns()}", "x" * 20_000, "evals", 1, None)
    except StoreUnavailable as error:
        return "full" in str(error)
    return False


async def test_two_servers_share_the_runs_and_never_a_run(in_postgresql: Place) -> None:
    one, other = await in_postgresql.open(), await in_postgresql.open()
    runs = [await new_run(one, [EXACT, python("return 1.0")], rows(70)) for _ in range(10)]
    async with working(one), working(other):
        for run in runs:
            found = await ended(one, run)
            check_counts(found, await items(one, run), 70)


async def test_a_cancel_by_another_server_takes_effect_although_judges_hang(
    in_postgresql: Place, impatient: None
) -> None:
    one, other = await in_postgresql.open(), await in_postgresql.open()
    models = Models(student_and_judge)
    models.hold("judge")
    run = await new_run(one, [JUDGE], rows(10))
    async with working(one, models) as engine:
        await until(lambda: models.waiting > 0)
        await other.runs.cancel(PROJECT, run.eval_id, run.id)
        await until(lambda: not models.waiting and not engine._working, 5)
    assert (await now(other, run)).status == "canceled"


async def test_a_run_that_a_stopped_server_leaves_is_taken_up_by_another(in_postgresql: Place, impatient: None) -> None:
    one, other = await in_postgresql.open(), await in_postgresql.open()
    models = Models(student_and_judge)
    models.hold("judge")
    run = await new_run(one, [JUDGE], rows(10))
    async with working(other, Models(student_and_judge)):
        async with working(one, models):
            await until(lambda: models.waiting > 0 or _completed(other, run))
        found = await ended(other, run)
    check_counts(found, await items(other, run), 10)


async def _completed(store: Store, run: Run) -> bool:
    return (await now(store, run)).status == "completed"


async def test_other_machines_grade_the_rows_and_the_server_stores_them(store: Store) -> None:
    run = await new_run(store, [EXACT, python("return 1.0")], rows(700))
    posts = [NearPost(), NearPost()]
    async with dispatch(*posts) as made, working(store, elsewhere=NearMachines(made)):
        check_counts(await ended(store, run), await items(store, run), 700)
    assert sum(len(order.rows) for post in posts for order in post.orders) == 2 * 700
    assert {order.owner for post in posts for order in post.orders} == {PROJECT}


async def test_a_run_whose_cluster_is_lost_fails_with_the_reason_and_goes_on_later(store: Store) -> None:
    run = await new_run(store, [EXACT], rows(700))
    post = NearPost()

    def lose_it_after_a_while(order: Any) -> None:
        if len(post.orders) > 4:
            post.answers_hello.clear()
            lose()

    post.before = lose_it_after_a_while
    async with dispatch(post, timeout_s=0.3) as made, working(store, elsewhere=NearMachines(made)):
        found = await ended(store, run)
    assert found.status == "failed"
    assert found.error is not None
    assert found.error["code"] == "cluster_unavailable"
    assert "no process of the cluster answered for 0.3 s" in found.error["message"]
    stored = await items(store, run)
    assert 0 < len(stored) < 700
    again = await store.runs.get(PROJECT, run.eval_id, run.id)
    assert again is not None
    assert await store.reopening.reopen(again, [], None)
    check_counts(*await worked_off(store, run), 700)
