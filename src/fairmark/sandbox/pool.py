"""Which runner grades what, how many there are, and when they end. Where runners come from is a backend's business."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

from fairmark.sandbox.base import Outcome, Policy, Program
from fairmark.sandbox.runners import Runner, RunnerGone, run_encoded

MAX_IDLE_RUNNERS = 32
IDLE_LIMIT_S = 300.0
ROWS_A_MESSAGE = 64


class Backend(Protocol):
    """Where runners come from."""

    async def spawn(self, program: Program) -> Runner:
        """A fresh runner with the program loaded. Raises RunnerGone."""
        ...

    async def close(self) -> None: ...


class RunnerPool:
    """A sandbox over a backend. It belongs to one event loop."""

    def __init__(self, policy: Policy, backend: Backend, at_once: int | None = None) -> None:
        self.policy = policy
        self._backend = backend
        self._slots = asyncio.Semaphore(at_once or 2 * (os.cpu_count() or 1))
        self._idle: OrderedDict[Runner, float] = OrderedDict()
        """Runners that wait for work, the longest waiting first, and since when."""
        self._sweep: asyncio.TimerHandle | None = None
        self._refilling: dict[Program, asyncio.Task[None]] = {}

    async def run(self, program: Program, rows: Sequence[Sequence[Any]]) -> list[Outcome]:
        return await run_encoded(rows, lambda encoded: self._run(program, encoded))

    async def _run(self, program: Program, rows: list[bytes]) -> list[Outcome]:
        if program.strict:
            return list(await asyncio.gather(*(self._run_alone(program, row) for row in rows)))
        outcomes: list[Outcome] = []
        while len(outcomes) < len(rows):
            outcomes += await self._run_together(program, rows[len(outcomes) : len(outcomes) + ROWS_A_MESSAGE])
        return outcomes

    async def _run_together(self, program: Program, rows: list[bytes]) -> list[Outcome]:
        """What one runner made of the rows: fewer outcomes than rows where it ended on one of them."""
        async with self._slots:
            try:
                runner = self._take_idle(program) or await self._backend.spawn(program)
            except RunnerGone as gone:
                return [gone.outcome] * len(rows)
            outcomes = await runner.grade(rows)
            self._keep(runner)
            return outcomes

    async def _run_alone(self, program: Program, row: bytes) -> Outcome:
        """One row in a process that nobody used before and nobody will use after."""
        async with self._slots:
            try:
                runner = self._take_idle(program) or await self._backend.spawn(program)
            except RunnerGone as gone:
                return gone.outcome
            if program not in self._refilling:
                self._refilling[program] = asyncio.create_task(self._refill(program))
            (outcome,) = await runner.grade([row])
            runner.end()
            return outcome

    async def _refill(self, program: Program) -> None:
        """Make the next strict runner ready while this one works."""
        try:
            self._keep(await self._backend.spawn(program))
        except RunnerGone:
            pass
        finally:
            del self._refilling[program]

    def _take_idle(self, program: Program) -> Runner | None:
        for runner in reversed(self._idle):
            if runner.program == program:
                del self._idle[runner]
                if runner.is_reusable:
                    return runner
                runner.end()
                return self._take_idle(program)
        return None

    def _keep(self, runner: Runner) -> None:
        if not runner.is_reusable:
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
        """End everything. What runs now fails."""
        if self._sweep is not None:
            self._sweep.cancel()
        for task in self._refilling.values():
            task.cancel()
        for runner in self._idle:
            runner.end()
        self._idle.clear()
        await self._backend.close()
