"""Which runner grades what, how many there are, and when they end. Where runners come from is a backend's business."""

import asyncio
import os
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, Protocol

from fairmark.sandbox.base import Outcome, Policy, Program, T, Talk
from fairmark.sandbox.patience import Patience, Streak
from fairmark.sandbox.runners import Runner, RunnerGone, run_encoded
from fairmark.work.fair import FairSlots

MAX_IDLE_RUNNERS = 32
IDLE_LIMIT_S = 300.0
ROWS_A_MESSAGE = 64
FIRST_ROWS = 4
"""Rows in the first message to a runner, while nobody knows how long they take."""
MESSAGE_S = 0.05
"""What the rows of a message should take together: for that long its slot is not given to anybody else."""
SLOW_S = 0.1
"""Rows that take longer than this are spread over several runners."""
REMEMBERED_PROGRAMS = 1024

_ranks = count()
"""Of the parts of calls: what came first is done first."""


class RunnerSource(Protocol):
    """Where runners come from."""

    async def spawn(self, program: Program) -> Runner:
        """A fresh runner with the program loaded. Raises RunnerGone."""
        ...

    async def close(self) -> None: ...


class RunnerPool:
    """A sandbox over a backend. It belongs to one event loop.

    At most `at_once` grades run at once, shared fairly by owner; owners who have none running may have one beyond
    that, up to as many again.
    """

    def __init__(self, policy: Policy, backend: RunnerSource, at_once: int | None = None) -> None:
        self.policy = policy
        self.at_once = at_once or 2 * (os.cpu_count() or 1)
        self.slots = FairSlots(self.at_once, spare=self.at_once, what="sandbox")
        self._backend = backend
        self._idle: OrderedDict[Runner, float] = OrderedDict()
        """Runners that wait for work, the longest waiting first, and since when."""
        self._sweep: asyncio.TimerHandle | None = None
        self._ran_before: OrderedDict[int, None] = OrderedDict()
        """Strict programs, by their hash: a runner is made ready only for those that come again."""
        self._refilling: dict[Program, asyncio.Task[None]] = {}
        self._is_closed = False

    async def run(
        self, program: Program, rows: Sequence[Sequence[Any]], patience: Patience | None = None
    ) -> list[Outcome]:
        streak = (patience or Patience()).with_program(program)
        return await run_encoded(rows, lambda encoded: self._run(program, encoded, streak))

    async def _run(self, program: Program, rows: list[bytes], streak: Streak) -> list[Outcome]:
        work: _Alone | _Spread = (_Alone if program.strict else _Spread)(self, program, rows, streak)
        streak.wait_for_turns(len(rows))
        try:
            async with asyncio.timeout(None if streak.until is None else streak.until - time.monotonic()):
                await work.do()
        except TimeoutError:
            pass
        finally:
            streak.wait_for_turns(-work.waiting)
        late = streak.too_late()
        return [work.outcomes.get(number, late) for number in range(len(rows))]

    async def run_alone(
        self, program: Program, row: bytes, streak: Streak, limit: Callable[[], float]
    ) -> tuple[Outcome, float]:
        """One row in a process that nobody used before and nobody will use after. What came of it, and what it might
        take, by `limit`, which is asked when its turn has come."""
        async with self.slots.turn(program.owner):
            limit_s = limit()
            if self.gives_up(streak):
                return streak.given_up(), streak.whole_s
            try:
                runner = await self.take(program)
            except RunnerGone as gone:
                outcome = gone.outcome
            else:
                self._refill(program)
                try:
                    (outcome,) = await runner.grade([row], limit_s)
                finally:
                    runner.end()
                if outcome.failure != "timeout":
                    streak.answered(runner.row_s)
            if streak.is_whole(limit_s):
                streak.add(outcome, asyncio.get_running_loop().time())
            return outcome, limit_s

    async def converse(self, owner: str, conversation: Callable[[Talk], Awaitable[T]]) -> T:
        async with self.slots.turn(owner):
            talk = _Talk(self._spawn)
            try:
                return await conversation(talk)
            finally:
                talk.end()

    def gives_up(self, streak: Streak) -> bool:
        return 0 < self.policy.timeouts_in_a_row <= streak.timeouts

    def _refill(self, program: Program) -> None:
        """Make the next strict runner ready while this one works, where a slot is free and it came before."""
        known = hash(program)
        if known not in self._ran_before:
            self._ran_before[known] = None
            if len(self._ran_before) > REMEMBERED_PROGRAMS:
                self._ran_before.popitem(last=False)
        elif program not in self._refilling and self.slots.try_enter(program.owner):
            self._refilling[program] = asyncio.create_task(self._make_ready(program))
            self._refilling[program].add_done_callback(lambda _: self._end_refill(program))

    async def _make_ready(self, program: Program) -> None:
        try:
            self.keep(await self._spawn(program))
        except RunnerGone:
            pass

    def _end_refill(self, program: Program) -> None:
        del self._refilling[program]
        self.slots.leave(program.owner)

    async def take(self, program: Program) -> Runner:
        """A runner with the program loaded. Raises RunnerGone."""
        for runner in reversed(self._idle):
            if runner.program == program:
                del self._idle[runner]
                if runner.is_reusable:
                    return runner
                runner.end()
                return await self.take(program)
        return await self._spawn(program)

    async def _spawn(self, program: Program) -> Runner:
        if self._is_closed:
            raise RunnerGone(Outcome(failure="sandbox", details="the sandbox was closed"))
        return await self._backend.spawn(program)

    def keep(self, runner: Runner) -> None:
        """Put a runner aside for later, or end it where it cannot be used again."""
        if not runner.is_reusable or self._is_closed:
            runner.end()
            return
        self._idle[runner] = asyncio.get_running_loop().time()
        while len(self._idle) > MAX_IDLE_RUNNERS:
            self._idle.popitem(last=False)[0].end()
        if self._sweep is None:
            self._end_stale()

    def _end_stale(self) -> None:
        """End those that have waited too long, and look again when the next one will have."""
        loop = asyncio.get_running_loop()
        while self._idle and next(iter(self._idle.values())) <= loop.time() - IDLE_LIMIT_S:
            self._idle.popitem(last=False)[0].end()
        oldest = next(iter(self._idle.values()), None)
        self._sweep = None if oldest is None else loop.call_at(oldest + IDLE_LIMIT_S, self._end_stale)

    async def close(self) -> None:
        """End everything. What runs now fails, and so does what comes later."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for task in self._refilling.values():
            task.cancel()
        for runner in self._idle:
            runner.end()
        self._idle.clear()
        await self._backend.close()


class _Talk:
    """The processes of one conversation. Nobody used them before, and nobody will after."""

    def __init__(self, spawn: Callable[[Program], Awaitable[Runner]]) -> None:
        self._spawn = spawn
        self._runners: list[Runner] = []

    async def start(self, program: Program) -> "_Talker | Outcome":
        try:
            runner = await self._spawn(program)
        except RunnerGone as gone:
            return gone.outcome
        self._runners.append(runner)
        return _Talker(runner)

    def end(self) -> None:
        for runner in self._runners:
            runner.end()


class _Talker:
    """A runner of a conversation."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def ask(self, row: Sequence[Any], limit_s: float) -> Outcome:
        async def grade(encoded: list[bytes]) -> list[Outcome]:
            return (await self._runner.grade(encoded, limit_s))[:1]

        (outcome,) = await run_encoded([row], grade)
        return outcome

    def end(self) -> None:
        self._runner.end()


class _Alone:
    """Rows of one program that each have a process of their own."""

    def __init__(self, pool: RunnerPool, program: Program, rows: list[bytes], streak: Streak) -> None:
        self._pool = pool
        self._program = program
        self._rows = rows
        self._streak = streak
        self.outcomes: dict[int, Outcome] = {}
        self.waiting = len(rows)
        """How many had no turn yet."""
        self._slow: list[int] = []

    async def do(self) -> None:
        await asyncio.gather(*map(self._grade_first, range(len(self._rows))))
        if self._slow:
            await self._streak.until_all_had_a_turn()
            await asyncio.gather(*map(self._grade_again, list(self._slow)))

    async def _grade_first(self, number: int) -> None:
        streak = self._streak
        outcome, limit_s = await self._pool.run_alone(self._program, self._rows[number], streak, streak.first_limit)
        self.waiting -= 1
        streak.wait_for_turns(-1)
        if outcome.failure == "timeout" and not streak.is_whole(limit_s):
            streak.refused(limit_s)
            self._slow.append(number)
        else:
            self.outcomes[number] = outcome

    async def _grade_again(self, number: int) -> None:
        def limit() -> float:
            return self._streak.last_limit(len(self._slow), self._pool.at_once)

        outcome, limit_s = await self._pool.run_alone(self._program, self._rows[number], self._streak, limit)
        self._slow.remove(number)
        is_share = outcome.failure == "timeout" and not self._streak.is_whole(limit_s)
        self.outcomes[number] = self._streak.took_its_share() if is_share else outcome


class _Spread:
    """Rows of one program that may share processes.

    They go to a runner some at a time, and to several runners where they turn out to be slow: a lane is what works
    with one runner, and there are as many as the owner may have slots. The first lane is the caller's own.
    """

    def __init__(self, pool: RunnerPool, program: Program, rows: list[bytes], streak: Streak) -> None:
        self._pool = pool
        self._program = program
        self._rows = rows
        self._streak = streak
        self._rank = next(_ranks)
        self._left = deque(range(len(rows)))
        """The numbers of the rows that no runner has."""
        self._slow: deque[int] = deque()
        """Those that gave way to others before a deadline, and are to have another turn."""
        self.outcomes: dict[int, Outcome] = {}
        self.waiting = len(rows)
        """How many had no turn yet."""
        self._row_s = 0.0
        """What a row took last; 0 before the first."""
        self._loop = asyncio.get_running_loop()
        self._lanes: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._error: BaseException | None = None

    async def do(self) -> None:
        try:
            while self._is_more and not self._lanes:
                await self._grade_some()
            while len(self.outcomes) < len(self._rows):  # others are at it, or have put something back
                if not self._lanes and not self._left:
                    await self._streak.until_all_had_a_turn()
                self._add_lanes()
                await self._news.wait()
                self._news.clear()
                if self._error is not None:
                    raise self._error
        finally:
            for lane in self._lanes:  # they wait for a slot, and there is nothing left to do
                lane.cancel()

    @property
    def _is_more(self) -> bool:
        return bool(self._left or (self._slow and self._streak.all_had_a_turn))

    async def _lane(self) -> None:
        while self._is_more:
            await self._grade_some()

    async def _grade_some(self) -> None:
        async with self._pool.slots.turn(self._program.owner, self._streak, self._rank):
            if not self._is_more:  # others were faster
                return
            if self._pool.gives_up(self._streak):
                numbers = [*self._take(len(self._left)), *self._slow]
                self._slow.clear()
                self.outcomes.update((number, self._streak.given_up()) for number in numbers)
                return
            try:
                runner = await self._pool.take(self._program)
            except RunnerGone as gone:
                numbers = self._take(ROWS_A_MESSAGE)
                self.waiting -= len(numbers)
                self._streak.wait_for_turns(-len(numbers))
                numbers = numbers or self._take_slow()
                self._add(numbers, [gone.outcome] * len(numbers))
                return
            numbers = self._take(_rows_a_message(runner.row_s or self._row_s))
            if numbers:
                await self._grade(runner, numbers, self._streak.first_limit(self._row_s), first=True)
            elif numbers := self._take_slow():  # others may have taken them meanwhile
                limit_s = self._streak.last_limit(len(self._slow) + len(self._lanes), self._pool.at_once)
                await self._grade(runner, numbers, limit_s, first=False)
            self._pool.keep(runner)
            if self._row_s * len(self._left) > SLOW_S:
                self._add_lanes()

    async def _grade(self, runner: Runner, numbers: list[int], limit_s: float, first: bool) -> None:
        try:
            outcomes = await self._ask(runner, numbers, limit_s)
        except asyncio.CancelledError:  # at the deadline, what it has answered still counts
            self.outcomes.update(zip(numbers, runner.answered, strict=False))
            raise
        if first:
            self.waiting -= len(outcomes)
            self._streak.wait_for_turns(-len(outcomes))
        is_share = outcomes[-1].failure == "timeout" and not self._streak.is_whole(limit_s)
        if is_share and first:
            if len(outcomes) == 1:
                self._streak.refused(limit_s)
            self._slow.append(numbers.pop(len(outcomes) - 1))
            del outcomes[-1]
        elif is_share:
            outcomes[-1] = self._streak.took_its_share()
        else:
            self._row_s = runner.row_s
            if outcomes[-1].failure != "timeout":
                self._streak.answered(runner.row_s)
        self._add(numbers, outcomes)

    async def _ask(self, runner: Runner, numbers: list[int], limit_s: float) -> list[Outcome]:
        rows = [self._rows[number] for number in numbers]
        if len(self._rows) == 1:
            return await runner.grade(rows, limit_s)
        # A runner that took long to load is not thrown away so soon.
        slow = self._loop.call_later(SLOW_S + runner.load_s, self._spread, runner, numbers)
        try:
            return await runner.grade(rows, limit_s)
        finally:
            slow.cancel()

    def _take(self, count: int) -> list[int]:
        return [self._left.popleft() for _ in range(min(count, len(self._left)))]

    def _take_slow(self) -> list[int]:
        return [self._slow.popleft()] if self._slow else []

    def _put_back(self, numbers: list[int]) -> None:
        self._left.extendleft(reversed(numbers))

    def _add(self, numbers: list[int], outcomes: list[Outcome]) -> None:
        """Keep the outcomes of the first of these rows; the others are to be done yet."""
        self.outcomes.update(zip(numbers, outcomes, strict=False))
        self._put_back(numbers[len(outcomes) :])
        for outcome in (outcomes[:1] + outcomes[-1:])[:2]:  # only the last one can be a timeout
            self._streak.add(outcome, self._loop.time())

    def _spread(self, runner: Runner, numbers: list[int]) -> None:
        """Take back from a slow runner what it has not begun, and have others do it."""
        begun = runner.cut()
        self._put_back(numbers[begun:])
        del numbers[begun:]
        self._row_s = max(self._row_s, SLOW_S / begun)
        self._add_lanes()

    def _add_lanes(self) -> None:
        for _ in range(min(self._pool.at_once - len(self._lanes), len(self._left) + len(self._slow))):
            lane = self._loop.create_task(self._lane())
            self._lanes.add(lane)
            lane.add_done_callback(self._end_lane)

    def _end_lane(self, lane: asyncio.Task[None]) -> None:
        self._lanes.discard(lane)
        if not lane.cancelled() and lane.exception() is not None:
            self._error = lane.exception()
        self._news.set()


def _rows_a_message(row_s: float) -> int:
    return max(1, min(ROWS_A_MESSAGE, int(MESSAGE_S / row_s))) if row_s else FIRST_ROWS
