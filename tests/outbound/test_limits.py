"""Gates, rates and breakers, on a clock that runs only when everybody waits."""

import asyncio
import selectors
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.outbound import limits
from fairmark.outbound.limits import Breaker, CallGate


class Clock:
    """Jumps to the next moment at which something happens, so that hours pass in no time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        clock = self

        class Selector(selectors.DefaultSelector):
            def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
                assert timeout is not None, "everybody waits and nothing will ever happen"
                clock.now += max(0.0, timeout)
                return super().select(0)

        class Loop(asyncio.SelectorEventLoop):
            def time(self) -> float:
                return clock.now

        with asyncio.Runner(loop_factory=lambda: Loop(Selector())) as runner:
            runner.run(work)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


class Visits:
    """Goes through a gate and writes down who was inside, and when they came in."""

    def __init__(self, gate: CallGate, clock: Clock) -> None:
        self.gate, self.clock = gate, clock
        self.inside = self.most = 0
        self.entered: list[tuple[Any, float]] = []

    async def go(self, name: Any, stay_s: float = 1.0, tokens: float = 0.0, *, good: bool = True) -> None:
        await self.gate.enter(tokens)
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.append((name, self.clock.now - 1000.0))
        try:
            await asyncio.sleep(stay_s)
        finally:
            self.inside -= 1
            self.gate.leave(good=good)

    @property
    def order(self) -> list[Any]:
        return [name for name, _ in self.entered]

    @property
    def times(self) -> list[float]:
        return [round(moment, 2) for _, moment in self.entered]


async def full(gate: CallGate, places: int) -> bool:
    """Whether just so many can be inside: nothing has leaked, and nothing was given away twice."""
    for _ in range(places):
        await asyncio.wait_for(gate.enter(), 1.0)
    try:
        await asyncio.wait_for(gate.enter(), 1.0)
    except TimeoutError:
        pass
    else:
        return False
    for _ in range(places):
        gate.leave()
    return True


# Places


def test_never_more_than_the_limit_are_inside_and_all_come_through(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(5), clock)
        await asyncio.gather(*(visits.go(index, stay_s=1 + index % 3) for index in range(100)))
        assert visits.most == 5
        assert visits.inside == 0
        assert visits.order == list(range(100))
        assert await full(visits.gate, 5)

    clock.run(scenario())


def test_who_comes_later_does_not_pass_those_who_wait(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(1), clock)
        first = [asyncio.create_task(visits.go(index)) for index in range(3)]
        await asyncio.sleep(1.0)  # the first leaves at this very moment
        await asyncio.gather(*first, visits.go("late"))
        assert visits.order == [0, 1, 2, "late"]

    clock.run(scenario())


def test_a_limit_of_none_at_all_still_lets_one_through(clock: Clock) -> None:
    async def scenario() -> None:
        assert await full(CallGate(0), 1)

    clock.run(scenario())


def test_who_gives_up_waiting_leaves_no_gap_and_holds_nobody_up(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(1), clock)
        tasks = [asyncio.create_task(visits.go(index)) for index in range(5)]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        tasks[3].cancel()
        await asyncio.wait(tasks)
        assert visits.order == [0, 2, 4]
        assert visits.times == [0, 1, 2]
        assert await full(visits.gate, 1)

    clock.run(scenario())


def test_who_is_cancelled_just_when_let_in_gives_the_place_on(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(1), clock)
        await visits.gate.enter()
        waiting = [asyncio.create_task(visits.go(name)) for name in ("cancelled", "next")]
        await asyncio.sleep(0)
        visits.gate.leave()  # lets the first in, who does not run before we cancel him
        waiting[0].cancel()
        await asyncio.wait(waiting)
        assert visits.order == ["next"]
        assert await full(visits.gate, 1)

    clock.run(scenario())


def test_a_storm_of_cancellations_leaks_no_place(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(7, requests_per_minute=6000), clock)
        tasks = [asyncio.create_task(visits.go(index, stay_s=0.3)) for index in range(400)]
        for step in range(400):
            await asyncio.sleep(0.004 if step % 3 else 0)
            tasks[(step * 7) % 400].cancel()
        await asyncio.wait(tasks)
        assert visits.most <= 7
        assert visits.inside == 0
        await asyncio.sleep(60)
        assert await full(visits.gate, 7)

    clock.run(scenario())


# Too much


def test_a_throttled_gate_lets_nobody_in_for_the_pause_and_fewer_from_then_on(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(10), clock)
        tasks = [asyncio.create_task(visits.go(index, good=False)) for index in range(40)]
        await asyncio.sleep(0.5)
        visits.gate.throttle(4.0)
        await asyncio.wait(tasks)
        moments = [moment for _, moment in visits.entered]
        assert moments[:10] == [0.0] * 10
        assert moments[10] == pytest.approx(4.5)
        assert sum(moment < 5.0 for moment in moments) == 10 + 7
        assert visits.inside == 0

    clock.run(scenario())


def test_a_gate_may_be_cut_in_half(clock: Clock) -> None:
    async def work() -> None:
        gate = CallGate(4, cut=0.5)
        for held, expected in ((4, 2), (2, 1), (1, 1)):
            for _ in range(held):
                await gate.enter()
            gate.throttle(1.5)
            for _ in range(held):
                gate.leave()
            visits = Visits(gate, clock)
            await asyncio.gather(*(visits.go(number, good=False) for number in range(6)))
            assert visits.most == expected

    clock.run(work())


def test_many_refusals_at_once_are_one_message(clock: Clock) -> None:
    async def scenario() -> None:
        gate = CallGate(10)
        for _ in range(10):
            await gate.enter()
        for _ in range(10):
            gate.throttle(0.1)
            gate.leave()
        await asyncio.sleep(1.0)
        assert await full(gate, 7)

    clock.run(scenario())


def test_success_brings_the_limit_back_and_never_beyond(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(10), clock)
        for _ in range(8):
            await asyncio.sleep(2.0)
            await visits.gate.enter()
            visits.gate.throttle(0.0)
            visits.gate.leave()
        assert await full(visits.gate, 1)  # never less than one
        await asyncio.gather(*(visits.go(index) for index in range(200)))
        assert visits.most == 10
        assert await full(visits.gate, 10)

    clock.run(scenario())


def test_a_pause_is_kept_by_those_who_already_wait_for_a_shorter_one(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(1), clock)
        visits.gate.throttle(1.0)
        task = asyncio.create_task(visits.go("waiting"))
        await asyncio.sleep(0.5)
        visits.gate.throttle(5.0)
        visits.gate.throttle(1.0)
        await task
        assert visits.times == [5.5]

    clock.run(scenario())


# Rates


def test_requests_go_evenly_once_the_first_second_is_used_up(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(100, requests_per_minute=120), clock)
        await asyncio.gather(*(visits.go(index, stay_s=0.0) for index in range(8)))
        assert visits.times == [0, 0, 0.5, 1, 1.5, 2, 2.5, 3]

    clock.run(scenario())


def test_less_than_one_request_a_second_still_goes(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(100, requests_per_minute=6), clock)
        await asyncio.gather(*(visits.go(index, stay_s=0.0) for index in range(3)))
        assert visits.times == [0, 10, 20]

    clock.run(scenario())


def test_no_more_requests_go_in_a_minute_than_allowed_after_a_long_rest(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(1000, requests_per_minute=60), clock)
        await asyncio.sleep(3600)
        await asyncio.gather(*(visits.go(index, stay_s=0.0) for index in range(100)))
        moments = [moment for _, moment in visits.entered]
        assert max(sum(0 <= other - moment < 60 for other in moments) for moment in moments) <= 61

    clock.run(scenario())


def test_tokens_are_counted_as_expected_and_corrected_by_what_it_was(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(100, tokens_per_minute=6000), clock)  # a hundred a second
        await visits.go("a", 0.0, tokens=100)
        await visits.go("b", 0.0, tokens=50)
        visits.gate.correct(150)  # b took 200 in fact
        await visits.go("c", 0.0, tokens=100)
        visits.gate.correct(-50)  # and c only 50
        await visits.go("d", 0.0, tokens=100)
        assert visits.order == ["a", "b", "c", "d"]
        assert visits.times == [0, 0.5, 3, 3.5]

    clock.run(scenario())


def test_a_question_larger_than_the_rate_goes_and_is_owed(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(100, tokens_per_minute=6000), clock)
        await asyncio.gather(visits.go("huge", 0.0, tokens=1000), visits.go("small", 0.0, tokens=1))
        assert visits.times == [0, 9.01]

    clock.run(scenario())


def test_when_a_large_question_is_taken_back_the_small_one_behind_it_goes(clock: Clock) -> None:
    async def scenario() -> None:
        visits = Visits(CallGate(100, tokens_per_minute=6000), clock)
        await visits.go("first", 0.0, tokens=90)
        large, small = (asyncio.create_task(visits.go(tokens, 0.0, tokens)) for tokens in (100.0, 5.0))
        await asyncio.sleep(0.1)
        assert visits.order == ["first"]
        large.cancel()
        await small
        assert visits.times == [0, 0.1]

    clock.run(scenario())


# Owners


def test_an_owner_who_has_none_inside_need_not_wait_for_one_who_has_all(clock: Clock) -> None:
    async def scenario() -> None:
        gate = CallGate(4, spare=1)
        entered: list[str] = []

        async def go(owner: str, stay_s: float) -> None:
            await gate.enter(0.0, owner)
            entered.append(owner)
            await asyncio.sleep(stay_s)
            gate.leave(owner)

        hanging = [asyncio.create_task(go("a", 60.0)) for _ in range(20)]
        await asyncio.sleep(1.0)
        await asyncio.gather(go("b", 0.1), go("b", 0.1))
        assert entered == ["a"] * 4 + ["b"] * 2
        assert clock.now < 1010.0
        await asyncio.gather(*hanging)

    clock.run(scenario())


def test_owners_take_turns_at_a_rate(clock: Clock) -> None:
    async def scenario() -> None:
        gate = CallGate(100, requests_per_minute=60)
        entered: list[str] = []

        async def go(owner: str) -> None:
            await gate.enter(0.0, owner)
            entered.append(owner)
            gate.leave(owner)

        many = [asyncio.create_task(go("a")) for _ in range(10)]
        await asyncio.sleep(0)
        await asyncio.gather(*(go("b") for _ in range(3)))
        assert entered.count("a") <= 6
        await asyncio.gather(*many)

    clock.run(scenario())


# Servers that are dead


def fail(breaker: Breaker, clock: Clock, times: int, seconds: float, question: int | None = None) -> None:
    for index in range(times):
        clock.now += seconds / (times - 1) if index else 0.0
        breaker.failed(index if question is None else question, f"cannot connect ({index + 1}).")


@pytest.mark.parametrize(
    ("failures", "seconds", "opened"), [(9, 10.0, False), (10, 2.9, False), (10, 3.0, True), (50, 4.0, True)]
)
def test_a_breaker_opens_after_ten_failures_over_three_seconds(
    clock: Clock, failures: int, seconds: float, opened: bool
) -> None:
    breaker = Breaker("vllm (127.0.0.1:8000)")
    fail(breaker, clock, failures, seconds + 1e-6)
    assert breaker.is_open == opened


def test_one_question_that_fails_again_and_again_is_one_failure(clock: Clock) -> None:
    breaker = Breaker("x")
    fail(breaker, clock, 100, 60.0, question=7)
    assert not breaker.is_open
    fail(breaker, clock, 9, 1.0)  # seven is among them
    assert not breaker.is_open


def test_an_open_breaker_tells_what_happened_and_the_log_says_who_does_not_answer(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = Breaker("vllm (127.0.0.1:8000)")
    fail(breaker, clock, 12, 4.0)
    assert breaker.why == (
        "the server answered none of the last 10 different questions, so that only one every 5 s is sent there. "
        "The last time: cannot connect (12)."
    )
    breaker.answered()
    opened, closed = (record.getMessage() for record in caplog.records)
    assert opened.startswith("vllm (127.0.0.1:8000) does not answer.")
    assert closed == "vllm (127.0.0.1:8000) answers again."


def test_one_answer_closes_a_breaker_and_starts_the_count_again(clock: Clock) -> None:
    breaker = Breaker("x")
    fail(breaker, clock, 10, 4.0)
    breaker.answered()
    assert not breaker.is_open
    fail(breaker, clock, 9, 4.0)
    assert not breaker.is_open
    breaker.answered()
    clock.now += 100.0
    fail(breaker, clock, 10, 1.0)  # the three seconds are counted from the first failure after the answer
    assert not breaker.is_open


def test_while_a_breaker_is_open_one_tries_at_a_time_and_the_others_wait_for_an_answer(clock: Clock) -> None:
    async def scenario() -> None:
        breaker = Breaker("x")
        fail(breaker, clock, 10, 4.0)
        opened_at = clock.now
        seen: list[tuple[float, bool]] = []

        async def go(question: int) -> None:
            is_trial = await breaker.passed(60.0)
            seen.append((round(clock.now - opened_at, 2), is_trial))
            if is_trial and len(seen) < 3:
                breaker.failed(question, "still dead")
            elif is_trial:
                await asyncio.sleep(1.0)
                breaker.answered()

        await asyncio.gather(*(go(question) for question in range(6)))
        assert seen == [(5.0, True), (10.0, True), (15.0, True), *[(16.0, False)] * 3]
        assert await breaker.passed(0.0) is False

    clock.run(scenario())


def test_who_tries_and_is_cancelled_is_followed_by_the_next(clock: Clock) -> None:
    async def scenario() -> None:
        breaker = Breaker("x")
        fail(breaker, clock, 10, 4.0)
        assert await breaker.passed(60.0) is True  # and nothing is ever heard of this one
        opened_at = clock.now
        assert await breaker.passed(60.0) is True
        assert clock.now == pytest.approx(opened_at + 5.0)

    clock.run(scenario())


def test_nobody_waits_for_a_dead_server_longer_than_there_is_time(clock: Clock) -> None:
    async def scenario() -> None:
        breaker = Breaker("x")
        fail(breaker, clock, 10, 4.0)
        opened_at = clock.now
        with pytest.raises(TimeoutError):
            await breaker.passed(3.0)
        assert clock.now == pytest.approx(opened_at + 3.0)

    clock.run(scenario())
