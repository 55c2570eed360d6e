"""How long a judge is waited for, and whom a judge that hangs keeps waiting: nobody else."""

import asyncio
import json
import resource
import time
from collections.abc import Sequence
from typing import Any

import pytest

import fairmark
from fairmark.errors import NotGraded
from fairmark.judgement import Judgement
from fairmark.judges.base import Question
from fairmark.outbound.limits import Breaker
from fairmark.work import eventloop
from tests.judges.faults import (
    Answer,
    Behaviour,
    Cut,
    Endless,
    Huge,
    Raw,
    Slow,
    Status,
)
from tests.judges.misbehaving import LATE, RETRIES, SCORE_GRADER, SERVER, Setup, assert_failed, flags, setup
from tests.judges.scripted import question

__all__ = ["setup"]


# Time and memory.


@pytest.mark.parametrize("fault", [Slow(60), Slow(60, "body"), Endless()], ids=["head", "body", "endless"])
def test_a_judge_that_takes_too_long_is_left_and_told(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(judge_timeout_s=0.3)
    result = setup.grade(always=fault)
    assert_failed(result, SERVER, "no answer within 0.3 s", f"asked {RETRIES + 1} times")
    assert flags(result) == {SERVER, LATE}
    assert setup.asked == RETRIES + 1


def test_a_judge_that_is_slow_once_is_asked_again(setup: Setup) -> None:
    setup.judge = setup.open(judge_timeout_s=0.5)
    assert setup.grade(Slow(60), Answer()).reward == 0.75


@pytest.mark.parametrize(
    "fault",
    [Slow(60), Status(503), Status(429, retry_after=0.2), Cut("before"), Raw(b"<html>")],
    ids=["slow", "503", "429", "cut", "html"],
)
def test_a_question_ends_at_its_deadline_however_many_retries_are_left(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(judge_timeout_s=0.4, judge_deadline_s=1.0, judge_retries=1000)
    started = time.monotonic()
    result = setup.grade(always=fault)
    assert time.monotonic() - started < 10  # not how fast, but that it does not go on for ever
    assert_failed(result, SERVER)


@pytest.mark.parametrize(
    "fault",
    [
        Status(429, "come back later", retry_after=3600),
        Status(429, "come back later", retry_after_ms=3_600_000),
        Status(503, "come back later", retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
    ],
)
def test_a_server_that_wants_more_time_than_there_is_is_not_waited_for(setup: Setup, fault: Status) -> None:
    assert_failed(setup.grade(always=fault), SERVER, "come back later")
    assert setup.asked == 1


@pytest.mark.parametrize("fault", [Status(429, retry_after=0.3), Status(429, retry_after_ms=300)])
def test_a_server_that_says_when_to_come_back_is_not_asked_before(setup: Setup, fault: Status) -> None:
    assert setup.grade(fault, Answer()).reward == 0.75
    first, second = setup.server.requests
    assert second.at - first.at >= 0.3


@pytest.mark.parametrize("told", ["-5", "nan", "inf", "", "0x10", "9" * 400])
def test_no_retry_after_breaks_the_client(setup: Setup, told: str) -> None:
    result = setup.grade(Status(429, retry_after=told), Answer())
    assert result.status == "graded" or SERVER in flags(result)
    assert "internal error" not in (result.error or "")


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_huge_answer_is_neither_taken_nor_held(setup: Setup, told: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = setup.grade(always=Huge(200_000_000, told))
    assert_failed(result, SERVER, "larger than 16 MB")
    assert setup.server.sent < 100_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_one_bad_row_leaves_the_others_alone(setup: Setup) -> None:
    def bad(request: Any) -> bool:
        return "row 3" in request.body["messages"][0]["content"]

    class Picky:
        async def play(self, wire: Any, request: Any) -> None:
            await (Status(400, "not this one") if bad(request) else Answer()).play(wire, request)

    setup.server.always(Picky())
    rows = [{"item": {}, "sample": f"row {number}"} for number in range(10)]
    results = fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)
    assert [result.status for result in results] == ["graded"] * 3 + ["error"] + ["graded"] * 6
    assert_failed(results[3], SERVER, "400: not this one")


# Judges that hang.


class Hanging:
    """Never answers what holds the word, and everything else at once."""

    async def play(self, wire: Any, request: Any) -> None:
        hangs = "hang" in json.dumps([request.body["model"], request.body["messages"]])
        await (Slow(600) if hangs else Answer()).play(wire, request)


def ask_beside(setup: Setup, hanging: Sequence[Question], under_way: int, healthy: Question) -> Judgement | NotGraded:
    """What one owner gets for a healthy question, while so many of another's hanging ones are under way."""
    setup.server.always(Hanging())

    async def scenario() -> Judgement | NotGraded:
        tasks = [asyncio.create_task(setup.judge.ask([each], None, "theirs")) for each in hanging]
        while setup.asked < under_way:
            await asyncio.sleep(0.001)
        (answer,) = await setup.judge.ask([healthy], None, "ours")
        assert not any(task.done() for task in tasks)
        assert setup.asked == under_way + 1  # theirs wait for one another, and ours for nobody
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return answer

    return eventloop.run(scenario())


@pytest.mark.parametrize(
    ("models", "under_way", "healthy"),
    [
        (["hangs"], 8, question("fine", "other")),  # another model
        (["m"], 8, question("fine", "m")),  # the same one
        ([f"hangs-{number}" for number in range(12)], 36, question("fine", "other")),  # many models of one owner
    ],
    ids=["another model", "the same model", "many models"],
)
def test_a_judge_that_hangs_keeps_nobody_else_from_his_answer(
    setup: Setup, models: list[str], under_way: int, healthy: Question
) -> None:
    setup.judge = setup.open(judge_concurrency=8)
    hanging = [question(f"hang {number}", model) for model in models for number in range(20)]
    answer = ask_beside(setup, hanging, under_way, healthy)
    assert isinstance(answer, Judgement)
    assert (answer.failure, answer.value["result"]) == (None, 0.75)


def test_many_judges_that_hang_do_not_keep_their_owner_from_one_that_answers(setup: Setup) -> None:
    setup.judge = setup.open(judge_concurrency=8)
    setup.server.always(Hanging())

    async def scenario() -> list[Judgement | NotGraded]:
        hanging = [question(f"hang {number}", f"hangs-{model}") for model in range(4) for number in range(8)]
        tasks = [asyncio.create_task(setup.judge.ask([each], None, "ours")) for each in hanging]
        while setup.asked < 32:  # all that one owner may have under way
            await asyncio.sleep(0.001)
        answers = await setup.judge.ask([question(f"fine {number}", "other") for number in range(20)], None, "ours")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return answers

    answers = eventloop.run(scenario())
    assert [answer.value["result"] for answer in answers if isinstance(answer, Judgement)] == [0.75] * 20


# A server that is dead.


@pytest.fixture
def quick_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions without an answer open it, and somebody tries every hundredth of a second."""
    for name, value in (("FAILURES", 2), ("OVER_S", 0.0), ("PAUSE_S", 0.01)):
        monkeypatch.setattr(Breaker, name, value)


@pytest.mark.usefixtures("quick_breaker")
def test_a_question_that_the_server_cannot_bear_spoils_no_others(setup: Setup) -> None:
    class Picky:
        async def play(self, wire: Any, request: Any) -> None:
            bad = "poison" in request.body["messages"][0]["content"]
            await (Status(500) if bad else Answer()).play(wire, request)

    setup.server.always(Picky())
    bad = fairmark.grade({**SCORE_GRADER, "n": 5}, sample="poison", judge=setup.judge)
    assert_failed(bad, SERVER, "500")
    assert setup.asked == 5 * (RETRIES + 1)
    rows = [{"sample": f"row {number}"} for number in range(30)]
    assert [each.status for each in fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)] == ["graded"] * 30


@pytest.mark.usefixtures("quick_breaker")
@pytest.mark.parametrize("fault", [Status(500), Cut("before"), Raw(b"<html>")], ids=["500", "cut", "html"])
def test_rows_wait_for_a_server_that_comes_back(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(judge_retries=30)
    setup.server.script(*[fault] * 40)
    rows = [{"sample": f"row {number}"} for number in range(30)]
    results = fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)
    assert [(each.status, each.reward) for each in results] == [("graded", 0.75)] * 30


@pytest.mark.usefixtures("quick_breaker")
def test_rows_wait_for_a_dead_server_until_their_deadline_and_are_errors_then(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Breaker, "PAUSE_S", 60.0)
    setup.judge = setup.open(judge_deadline_s=1.0, judge_concurrency=4)
    setup.server.always(Status(503, "we are full"))
    rows = [{"sample": f"row {number}"} for number in range(30)]
    results = fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)
    for result in results:
        assert_failed(result, SERVER, "no answer within 1 s: the server answered none of the last 2", "we are full")
        assert flags(result) == {SERVER, LATE}
    assert setup.asked <= 8  # the others, and all that came again, waited outside
