"""A process's side of the cluster's limits: gates of several processes, on one limiter."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from fairmark.cluster import leases as leasing
from fairmark.cluster.dispatch import Lost
from fairmark.cluster.leases import ModelLeases
from fairmark.cluster.limiter import Grant, Limiter, Report
from fairmark.outbound.limits import Breaker, CallGate
from fairmark.work import together
from tests.cluster.near import on_a_loop, until


class Process:
    """Its gate for one model, as it would be in a process of its own."""

    def __init__(
        self,
        limiter: Limiter,
        most: int = 4,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self.reached = True
        self.limiter = limiter
        self.leases = ModelLeases(self.beat)
        with sharing(self.leases):
            self.gate = CallGate(most, requests_per_minute, tokens_per_minute, name="judge m")
            self.breaker = Breaker("m at house", self.gate.line)

    async def beat(self, process: str, reports: Sequence[Report]) -> list[Grant]:
        await asyncio.sleep(0)
        if not self.reached:
            raise Lost("it is gone")
        return self.limiter.beat(process, reports)


@contextmanager
def sharing(leases: ModelLeases) -> Iterator[None]:
    together.use(leases)
    try:
        yield
    finally:
        together.use(None)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leasing, "BEAT_EVERY_S", 0.02)
    monkeypatch.setattr(leasing, "HUNGRY_S", 0.005)


async def ask(process: Process, inside: list[int], most: list[int], at: list[float]) -> None:
    await process.gate.enter(owner="o")
    try:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        at.append(time.monotonic())
        await asyncio.sleep(0.003)
    finally:
        inside[0] -= 1
        process.gate.leave("o", good=True)


@on_a_loop
async def test_no_more_are_inside_than_the_model_bears_though_every_process_asks() -> None:
    limiter = Limiter()
    processes = [Process(limiter, most=4) for _ in range(3)]
    inside, most = [0], [0]
    at: list[float] = []
    async with asyncio.timeout(60):
        await asyncio.gather(*(ask(process, inside, most, at) for process in processes for _ in range(40)))
    assert len(at) == 120
    assert most[0] <= 4
    assert most[0] >= 2


@on_a_loop
async def test_who_has_nothing_to_do_gives_back_at_once() -> None:
    limiter = Limiter()
    first, second = Process(limiter, most=3), Process(limiter, most=3)
    inside, most = [0], [0]
    at: list[float] = []
    async with asyncio.timeout(60):
        await asyncio.gather(*(ask(first, inside, most, at) for _ in range(12)))
        began = time.monotonic()
        await asyncio.gather(*(ask(second, inside, most, at) for _ in range(12)))
    assert at[-1] - began < leasing.KEPT_S  # it did not wait for the other's lease to end


@on_a_loop
async def test_the_rate_is_that_of_one_process_though_several_ask() -> None:
    """60 a second for all of them together."""
    limiter = Limiter()
    processes = [Process(limiter, most=50, requests_per_minute=3600) for _ in range(3)]
    inside, most = [0], [0]
    at: list[float] = []
    began = time.monotonic()
    async with asyncio.timeout(60):
        await asyncio.gather(*(ask(process, inside, most, at) for process in processes for _ in range(40)))
    assert len(at) == 120
    assert max(at) - began >= 120 / 60 * 0.85, "a little is there at the beginning"


@on_a_loop
async def test_tokens_that_a_question_turned_out_to_need_are_owed() -> None:
    process = Process(Limiter(), tokens_per_minute=60_000)
    await process.gate.enter(100)
    process.gate.leave()
    process.gate.correct(500)
    began = time.monotonic()
    for _ in range(2):  # the first goes as soon as there is anything, and the second after what is owed
        async with asyncio.timeout(30):
            await process.gate.enter(100)
        process.gate.leave()
    assert time.monotonic() - began >= 0.4


@on_a_loop
async def test_a_pause_that_one_was_asked_for_stops_the_others_too() -> None:
    limiter = Limiter()
    told, other = Process(limiter), Process(limiter)
    for process in (told, other):
        await process.gate.enter()
    told.gate.throttle(30.0)
    await until(lambda: other.gate._paused_until > time.monotonic() + 20)
    assert other.gate._limit < 4
    for process in (told, other):
        process.gate.leave()


@on_a_loop
async def test_a_model_that_is_dead_for_one_is_not_asked_by_the_others_until_it_answers() -> None:
    limiter = Limiter()
    one, other = Process(limiter), Process(limiter)
    await other.gate.enter()
    one.breaker._since = time.monotonic() - 10
    one.breaker._failed = set(range(10))
    one.breaker.failed(11, "the server answered 502")
    assert one.breaker.is_open
    await until(lambda: other.breaker.is_open)
    assert "502" in other.breaker.why
    one.breaker.answered()
    await one.gate.enter()
    await until(lambda: not other.breaker.is_open)
    for process in (one, other):
        process.gate.leave()


@on_a_loop
async def test_one_process_of_all_tries_whether_a_dead_model_answers() -> None:
    limiter = Limiter()
    one, other = Process(limiter), Process(limiter)
    limiter.beat("somebody", [Report("judge m", 4, dead="502")])
    limiter._models["judge m"].tried_at -= 10
    assert sorted([await one.gate.line.may_try(), await other.gate.line.may_try()]) == [False, True]


@on_a_loop
async def test_without_the_limiter_nobody_new_goes_in_and_after_a_while_the_own_limits_hold(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(leasing, "ALONE_AFTER_S", 0.3)
    process = Process(Limiter(), most=1, requests_per_minute=6000)
    process.reached = False
    entering = asyncio.create_task(process.gate.enter())
    await asyncio.wait([entering], timeout=0.1)
    assert not entering.done()
    async with asyncio.timeout(30):
        await entering
    assert process.leases.is_alone
    assert not process.gate._places.has_room("other")
    process.gate.leave()
    assert "the cluster's limits cannot be asked, and hold for this process alone: it is gone" in caplog.text


@on_a_loop
async def test_a_limiter_that_was_begun_anew_takes_over() -> None:
    process = Process(Limiter(), most=2)
    await process.gate.enter()
    process.limiter = Limiter()
    async with asyncio.timeout(30):
        await process.gate.enter()
    for _ in range(2):
        process.gate.leave()


@on_a_loop
async def test_a_process_that_asks_nothing_tells_nothing() -> None:
    process = Process(Limiter())
    await process.gate.enter()
    process.gate.leave()
    assert process.leases._task is not None
    async with asyncio.timeout(30):
        await process.leases._task
