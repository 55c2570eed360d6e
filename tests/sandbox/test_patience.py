"""When a grader that only times out is given up."""

import asyncio
import time
from dataclasses import replace

import pytest

import fairmark
from fairmark import run
from fairmark.sandbox.base import MB, Limits, Outcome, Program
from fairmark.sandbox.patience import Patience, Streak
from tests.sandbox.pools import grade, opened, program

LIMITS = Limits(wall_s=0.5, memory_bytes=256 * MB, disk_bytes=16 * MB, cpus=1)
AT_ONCE = 2
MOST_TRIED = 3 * AT_ONCE
HANGS = "import time\ndef grade(sample, item):\n    while item['hangs']:\n        time.sleep(60)\n    return 0.5\n"
SLEEPS = "import time\ndef grade(sample, item):\n    time.sleep(item['s'])\n    return 0.5\n"
ANSWER, TIMEOUT = Outcome(0.5), Outcome(failure="timeout")


@pytest.mark.parametrize(
    ("events", "timeouts"),
    [
        ([(TIMEOUT, 10), (TIMEOUT, 20), (TIMEOUT, 30)], 3),
        ([(TIMEOUT, 10), (TIMEOUT, 10), (TIMEOUT, 10.1), (TIMEOUT, 12)], 1),  # side by side
        ([(TIMEOUT, 10), (TIMEOUT, 15), (TIMEOUT, 20), (TIMEOUT, 25)], 2),  # two lanes, half a limit apart
        ([(TIMEOUT, 10), (TIMEOUT, 20), (ANSWER, 21), (TIMEOUT, 30)], 1),
        ([(TIMEOUT, 10), (Outcome(failure="error"), 11)], 0),  # it raised, and that is an answer
    ],
)
def test_time_limits_in_a_row_are_counted(events: list[tuple[Outcome, float]], timeouts: int) -> None:
    streak = Streak(10.0)
    for outcome, now in events:
        streak.add(outcome, now)
    assert streak.timeouts == timeouts


def test_each_program_of_a_call_has_its_own_count() -> None:
    patience, wanted = Patience(), program(HANGS)
    assert patience.with_program(wanted) is patience.with_program(replace(wanted))
    assert patience.with_program(wanted) is not patience.with_program(replace(wanted, owner="b"))
    assert patience.with_program(wanted) is not Patience().with_program(wanted)


def run_rows(hanging: list[bool], wanted: Program, timeouts_in_a_row: int = 3) -> list[Outcome]:
    async def scenario() -> list[Outcome]:
        async with opened(AT_ONCE) as pool:
            pool.policy = replace(pool.policy, timeouts_in_a_row=timeouts_in_a_row)
            return await grade(pool, wanted, *({"hangs": hangs} for hangs in hanging))

    return asyncio.run(scenario())


def is_given_up(outcome: Outcome) -> bool:
    return outcome.details.startswith("not tried: the grader was given up")


@pytest.mark.parametrize("strict", [False, True])
def test_a_grader_that_only_times_out_is_given_up(strict: bool) -> None:
    outcomes = run_rows([True] * 100, program(HANGS, limits=LIMITS, strict=strict))
    assert {outcome.failure for outcome in outcomes} == {"timeout"}
    tried = [outcome.details for outcome in outcomes if not is_given_up(outcome)]
    assert 3 <= len(tried) <= MOST_TRIED
    assert set(tried) == {"the grader took longer than 0.5 s"}
    assert outcomes[-1].details == (
        "not tried: the grader was given up, because it took longer than 0.5 s 3 times in a row"
    )


@pytest.mark.parametrize("strict", [False, True])
def test_rows_that_are_answered_keep_a_grader_from_being_given_up(strict: bool) -> None:
    hanging = [row % 3 == 0 for row in range(12)]
    outcomes = run_rows(hanging, program(HANGS, limits=LIMITS, strict=strict))
    assert [outcome.failure for outcome in outcomes] == ["timeout" if hangs else None for hangs in hanging]
    assert not any(map(is_given_up, outcomes))


def test_a_source_whose_body_hangs_is_given_up_too() -> None:
    outcomes = run_rows([False] * 64 * 5, program("while True:\n    pass\n", limits=LIMITS))
    assert {outcome.failure for outcome in outcomes} == {"timeout"}
    assert is_given_up(outcomes[-1])
    assert outcomes[0].at_load


def test_it_may_be_tried_for_ever() -> None:
    outcomes = run_rows([True] * 8, program(HANGS, limits=LIMITS), timeouts_in_a_row=0)
    assert [outcome.details for outcome in outcomes] == ["the grader took longer than 0.5 s"] * 8


def test_all_rows_of_a_call_count_together_and_another_call_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"type": "python", "name": "hangs", "source": HANGS}
    rows = [{"item": {"hangs": True}, "sample": ""}] * 600  # three batches of rows and more

    async def scenario() -> None:
        async with opened(AT_ONCE) as pool:
            pool.policy = replace(pool.policy, python=LIMITS)
            monkeypatch.setattr(run, "CONTEXT", replace(run.CONTEXT, sandbox=pool))
            results = await fairmark.agrade_many(spec, rows)
            assert {result.status for result in results} == {"error"}
            tried = [result for result in results if "given up" not in str(result.error)]
            assert 3 <= len(tried) <= MOST_TRIED
            told = results[-1].errors
            assert told["python_grader_server_error_type"] == "timeout"
            assert told["unresponsive_reward_error"] is True
            again = await fairmark.agrade_many(spec, [{"item": {"hangs": False}, "sample": ""}])
            assert [result.reward for result in again] == [0.5]

    asyncio.run(scenario())


def test_before_a_deadline_a_row_first_gets_little_and_then_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairmark.sandbox.patience.time.monotonic", lambda: 1000.0)
    streak = Streak(120.0, until=1300.0)
    whole = 120.0
    assert streak.first_limit(0.0) == 5.0
    assert streak.first_limit(0.001) == 0.5
    assert streak.first_limit(0.1) == 5.0
    assert streak.first_limit(1000.0) == 15.0
    assert streak.last_limit(rows=100, at_once=4) == 6.0
    assert streak.last_limit(rows=1, at_once=4) == min(whole, 600.0)
    assert not streak.is_whole(5.0)
    without = Streak(120.0)
    assert without.first_limit(0.001) == without.last_limit(100, 4) == whole


def test_the_second_turns_begin_when_all_rows_of_the_call_had_their_first() -> None:
    async def look() -> None:
        streak = Streak(120.0, until=1e12)
        streak.wait_for_turns(2)
        waiting = asyncio.create_task(streak.until_all_had_a_turn())
        streak.wait_for_turns(-1)
        await asyncio.sleep(0)
        assert not waiting.done()
        streak.wait_for_turns(-1)
        await waiting
        assert streak.all_had_a_turn

    asyncio.run(look())


def test_before_a_deadline_turns_grow_until_a_row_is_answered_and_then_fit_it() -> None:
    streak = Streak(120.0, time.monotonic() + 100)
    assert streak.first_limit() == pytest.approx(100 / 60, rel=0.01)
    streak.refused(2.0)
    assert streak.first_limit() == pytest.approx(4.0)
    streak.refused(4.0)
    assert streak.first_limit() == pytest.approx(8.0)
    streak.answered(6.0)
    assert streak.first_limit() == pytest.approx(18.0)
    assert streak.last_limit(1000, 2) == pytest.approx(18.0)
    streak.refused(18.0)  # one of several: it may never end
    assert streak.first_limit() == pytest.approx(18.0)


def test_a_turn_before_a_deadline_is_never_most_of_what_is_left() -> None:
    streak = Streak(120.0, time.monotonic() + 4)
    streak.refused(60.0)
    assert streak.first_limit() <= 1.0
    streak.answered(60.0)
    assert streak.first_limit() <= 2.0


@pytest.mark.parametrize("source", [SLEEPS, f"exec('')\n{SLEEPS}"], ids=["shared", "alone"])
def test_rows_that_all_take_their_time_are_graded_where_the_deadline_lets_them(source: str) -> None:
    """Each takes longer than a turn that is meant to find those that never end."""
    results = fairmark.grade_many(
        {"type": "python", "source": source}, [{"item": {"s": 0.5}, "sample": ""}] * 8, deadline_s=12
    )
    assert [result.reward for result in results] == [0.5] * 8
