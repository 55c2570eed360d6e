"""Judge checks worked off in this process: what ends them, what goes on, and that nobody is asked twice."""

import asyncio
import json
from typing import Any

import pytest
from bench.scripted_judges import SCORE_GRADER

import fairmark
from fairmark.checks import engine as check_engine
from fairmark.checks.check_calls import cancel_check, delete_check
from fairmark.errors import ApiError
from fairmark.store import Store
from tests.checks.desk import PROJECT, ROWS, Counted, Desk, open_desk
from tests.store.conftest import Place


async def test_a_check_ends_with_its_grade_and_its_report(store: Store) -> None:
    judge = Counted()
    async with open_desk(store, judge) as desk:
        done = await desk.ended(await desk.check(seed=7))
    assert (done.status, done.error) == ("completed", None)
    assert done.grade == "with care"  # 40 rows are not enough to trust
    assert done.progress["answered"] == done.progress["questions"] == len(judge.asked) == done.plan["calls"] == 120
    assert done.progress["tokens"] == 120 * 120
    report = json.loads(await store.checks.report(done) or b"")
    assert (report["grade"], report["seed"], report["meets"], report["require"]) == ("with care", 7, True, "care")
    assert report["asked"]["questions"] == 120
    page = await store.checks.page(done) or b""
    assert page.startswith(b"<!doctype html>")
    assert b"Can quality be trusted?" in page


@pytest.mark.on_both
async def test_whoever_goes_on_asks_what_is_not_known_and_nothing_twice(place: Place) -> None:
    store = await place.open()
    first = Counted(answers=100)
    async with open_desk(store, first) as desk:
        check = await desk.check()
        await desk.answered(check, 40)
    stored = await store.checks.answers(check)
    assert 40 <= len(stored) <= 100
    assert (await desk.now(check)).status == "in_progress"
    second = Counted()
    async with open_desk(store, second) as desk:
        done = await desk.ended(check)
    assert done.status == "completed"
    assert len(second.asked) == 120 - len(stored)
    assert done.progress["answered"] == 120


async def test_a_budget_holds_over_a_restart(store: Store) -> None:
    budget = {"tokens": 60_000}  # more than the plan says, and less than this judge takes
    async with open_desk(store, Counted(answers=40, tokens=1_000)) as desk:
        check = await desk.check(budget=budget)
        await desk.answered(check, 16)
    stored = await store.checks.answers(check)
    judge = Counted(tokens=1_000)
    async with open_desk(store, judge) as desk:
        done = await desk.ended(check)
    assert done.status == "completed"
    assert len(judge.asked) == 60 - len(stored)
    assert done.progress["tokens"] == 60_000
    report = json.loads(await store.checks.report(done) or b"")
    assert report["asked"]["not_asked"] == 120 - 60


async def test_a_cancelled_check_asks_no_more_and_stays_cancelled(store: Store) -> None:
    judge = Counted(answers=30)
    async with open_desk(store, judge) as desk:
        check = await desk.check()
        while judge.left:
            await asyncio.sleep(0.01)
        cancelled = await cancel_check(store, desk.engine, check)
        assert cancelled.status == "canceled"
        judge.go_on.set()
        while desk.engine._working:
            await asyncio.sleep(0.01)
        assert (await desk.now(check)).status == "canceled"
        assert await store.checks.answers(check) == {}
        asked = len(judge.asked)
        again = await cancel_check(store, desk.engine, check)
        assert again.status == "canceled"
        await delete_check(store, desk.engine, check)
        assert await store.checks.get(PROJECT, "judge_check", check.id) is None
        assert len(judge.asked) == asked


async def test_one_cancelled_by_another_server_is_let_go(place: Place) -> None:
    store = await place.open()
    judge = Counted(answers=10)
    async with open_desk(store, judge) as desk:
        check = await desk.check()
        while judge.left:
            await asyncio.sleep(0.01)
        await store.checks.cancel(PROJECT, "judge_check", check.id)  # nobody tells the engine
        for _ in range(3000):
            if not desk.engine._working:
                break
            await asyncio.sleep(0.01)
        assert not desk.engine._working


async def test_checks_that_hang_hold_up_no_other_project(store: Store) -> None:
    judge = Counted()
    hanging = Counted(answers=0)

    class Both(Counted):
        async def ask(self, questions: Any, budget: Any) -> Any:
            which = hanging if questions[0].model == "hangs" else judge
            return await which.ask(questions, budget)

    async with open_desk(store, Both()) as desk:
        for _ in range(check_engine.CHECKS_A_PROJECT + 2):
            await desk.check("greedy", grader={**SCORE_GRADER, "model": "hangs"})
        done = await desk.ended(await desk.check("modest"))
        assert done.status == "completed"
        busy = [check.project for check, _ in desk.engine._working.values()]
        assert busy.count("greedy") == check_engine.CHECKS_A_PROJECT


async def test_a_judge_that_never_answers_ends_with_the_deadline(store: Store) -> None:
    async with open_desk(store, Counted(answers=0)) as desk:
        done = await desk.ended(await desk.check(deadline_s=0.3))
    assert done.status == "failed"
    assert done.error == {"code": "deadline_passed", "message": "It was not done within its deadline of 0.3 s."}
    assert done.grade is None


async def test_a_check_whose_questions_fail_has_no_grade_and_says_why(store: Store) -> None:
    async with open_desk(store, fairmark.FakeJudge(fairmark.FakeAnswer(fault="server_error"))) as desk:
        done = await desk.ended(await desk.check(probes=[]))
    assert (done.status, done.grade) == ("failed", None)
    assert done.error is not None
    assert done.error["code"] == "judge_failed"
    assert "40 of 40 questions failed" in done.error["message"]
    assert await store.checks.report(done) is not None


async def test_a_bug_of_ours_ends_the_check_and_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*given: object, **more: object) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr("fairmark.checks.workoff.run_check", broken)
    async with open_desk(store, Counted()) as desk:
        done = await desk.ended(await desk.check())
    assert (done.status, (done.error or {})["code"]) == ("failed", "internal_error")


async def test_no_more_checks_wait_than_a_project_may_have(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairmark.checks.check_calls.MOST_WAITING", 2)
    desk = Desk(store, Counted())  # which nobody has started
    await desk.check()
    await desk.check()
    with pytest.raises(ApiError) as refused:
        await desk.check()
    assert (refused.value.status, refused.value.code) == (429, "too_many_checks")
    await desk.check("other")


async def test_rows_that_are_deleted_with_their_file_are_still_there(store: Store) -> None:
    store.files.folder.mkdir(exist_ok=True)
    content = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    store.files.content("file-1").write_bytes(content)
    await store.files.create(PROJECT, "file-1", "labelled.jsonl", "evals", len(content), None)
    desk = Desk(store, Counted())
    check = await desk.check(rows=None, file_id="file-1")
    await store.files.delete(PROJECT, "file-1")
    async with open_desk(store, Counted()) as desk:
        done = await desk.ended(check)
    assert done.status == "completed"
    assert done.request["rows_from"] == "labelled.jsonl"
