"""For trainers that ask for one row at a time: calls that come while others are graded go on together.

A lone call pays nothing: when nothing is under way it goes at once. One that meets others waits until they are done and
back again, or for two milliseconds, whichever is sooner, so that no slow row holds up the next. Nor does one hold up
for long those that it came with: it goes on alone.
"""

import asyncio
import contextlib
import math
import os
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from fairmark.errors import GradingFailed, SandboxFailed, TookTooLong
from fairmark.failures import in_words
from fairmark.judges.base import Judge
from fairmark.readiness import models
from fairmark.result import Grade, Result
from fairmark.run import agrade_many
from fairmark.spec import GraderSpec
from fairmark.work import eventloop

WAIT_S = 0.002
ROWS_AT_ONCE = 512
COMPANY_S = 2.0
"""So long rows of a grader with code wait for each other, but no longer than half of their deadline. Those that are not
done by then go on alone."""
TIME_FLAGS = frozenset({SandboxFailed.flag, TookTooLong.flag})


class CallOfThread:
    """A thread that waits for the result of a row. A bare lock: a `Future` takes three times as long."""

    __slots__ = ("_answered", "_result", "is_gone", "row")

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.is_gone = False
        self._answered = threading.Lock()
        self._answered.acquire()
        self._result: Result | None = None

    def answer(self, result: Result) -> None:
        self._result = result
        self._answered.release()

    def wait(self, limit_s: float = -1) -> Result:
        try:
            self._answered.acquire(timeout=limit_s)
        except BaseException:
            self.is_gone = True
            raise
        if self._result is None:
            raise TimeoutError
        return self._result


class CallOfLoop:
    """A task of some event loop that waits for the result of a row."""

    __slots__ = ("future", "loop", "row")

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Result] = self.loop.create_future()

    @property
    def is_gone(self) -> bool:
        return self.future.cancelled()


Call = CallOfThread | CallOfLoop
SomeCall = TypeVar("SomeCall", CallOfThread, CallOfLoop)


class Gatherer:
    """Of one grader in this process. Calls may come from any thread and any event loop."""

    def __init__(self, spec: GraderSpec, deadline_s: float, judge: Judge | None = None) -> None:
        self._spec = spec
        self._deadline_s = deadline_s
        self._judge = judge
        # Rows of a grader that asks models gain nothing by company: a slow answer would hold up the others'.
        self._at_once = 1 if any(models(spec)) else ROWS_AT_ONCE
        self._has_code = _has_code(spec)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: list[Call] = []
        self._woken = False
        self._company = 1
        """How many were answered together last, and how many waited then. Those come again one after the other, and all
        are to go together: two companies would take turns for ever."""
        # Of the loop alone.
        self._answered_at = -math.inf
        self._under_way: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def grade(self, row: Mapping[str, Any]) -> Result:
        """For synchronous callers."""
        return self._put(CallOfThread(row)).wait()

    async def agrade(self, row: Mapping[str, Any]) -> Result:
        """For callers on an event loop. Who is cancelled leaves the others alone."""
        return await self._put(CallOfLoop(row)).future

    def _put(self, call: SomeCall) -> SomeCall:
        if self._pid != os.getpid():  # a forked child has neither the loop nor whoever held the lock
            self._begin_anew()
        with self._lock:
            self._waiting.append(call)
            wake = not self._woken or 1 < len(self._waiting) == self._company
            self._woken = True
        if wake:
            eventloop.call(self._look)
        return call

    def _look(self) -> None:
        """On the loop: begin with what waits, or see to it that somebody does soon."""
        if not self._under_way and not self._expects_more():
            self._begin()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WAIT_S, self._begin)

    def _expects_more(self) -> bool:
        return len(self._waiting) < self._company and time.monotonic() < self._answered_at + WAIT_S

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with self._lock:
            calls, self._waiting, self._woken = self._waiting, [], False
        for start in range(0, len(calls), self._at_once):
            self._start(self._grade(calls[start : start + self._at_once]))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        if self._waiting:
            self._look()

    async def _grade(self, calls: list[Call]) -> None:
        began = time.monotonic()
        wanted = [call for call in calls if not call.is_gone]
        in_company = self._has_code and len(wanted) > 1
        allowed_s = min(COMPANY_S, self._deadline_s / 2) if in_company else self._deadline_s
        results = await self._results([call.row for call in wanted], allowed_s)
        left_s = self._deadline_s - (time.monotonic() - began)
        answers = []
        for call, result in zip(wanted, results, strict=True):
            if in_company and left_s > 0 and not TIME_FLAGS.isdisjoint(result.grade.flags):
                self._start(self._grade_alone(call, left_s))
            else:
                answers.append((call, result))
        self._company, self._answered_at = len(answers) + len(self._waiting), time.monotonic()
        _answer(answers)

    async def _grade_alone(self, call: Call, allowed_s: float) -> None:
        """A row that took longer than those it came with have to wait for it."""
        (result,) = await self._results([call.row], allowed_s)
        _answer([(call, result)])

    async def _results(self, rows: list[Mapping[str, Any]], allowed_s: float) -> list[Result]:
        try:
            return await agrade_many(self._spec, rows, deadline_s=allowed_s, judge=self._judge)
        except BaseException as error:
            failed = Grade.failed(GradingFailed(f"not graded: {in_words(error)}"))
            return [Result(self._spec, failed, 0.0) for _ in rows]


def _answer(answers: Iterable[tuple[Call, Result]]) -> None:
    """Each event loop is woken once, with all that is its."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Result], Result]]] = {}
    for call, result in answers:
        if isinstance(call, CallOfThread):
            call.answer(result)
        else:
            by_loop.setdefault(call.loop, []).append((call.future, result))
    for loop, results in by_loop.items():
        with contextlib.suppress(RuntimeError):  # it is closed: nobody waits there any more
            loop.call_soon_threadsafe(_set_results, results)


def _set_results(results: Iterable[tuple["asyncio.Future[Result]", Result]]) -> None:
    for future, result in results:
        if not future.done():
            future.set_result(result)


def _has_code(spec: GraderSpec) -> bool:
    return spec.code is not None or any(map(_has_code, spec.children.values()))
