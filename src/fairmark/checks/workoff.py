"""One check or report being worked off. What judges answer is stored as it comes, so that whoever goes on asks for the
rest, within the budget that is left."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from fairmark import jsontext
from fairmark.checks.requests import LONGEST_S, CheckRequest, ReportRequest, budget_of
from fairmark.checks.sources import read_kept
from fairmark.checks.steps import criterion_named, read_run, step_names
from fairmark.errors import ApiError, InvalidData, InvalidGrader
from fairmark.evals.criteria import load_criteria
from fairmark.judges.base import Budget, Judge
from fairmark.parse import aparse
from fairmark.store import Run, Store, StoredCheck, StoreUnavailable
from fairmark.trust import hacking, hacking_page
from fairmark.trust.check import JudgeCheck, run_check
from fairmark.trust.gold import GoldAsked, check_comparable, gold_asks, gold_of_judge, gold_of_people, labels_of
from fairmark.trust.plan import CheckPlan
from fairmark.trust.results import GradedRun, range_of
from fairmark.trust.subject import Opinion, sources

KEEP_EVERY_S = 0.1
WATCH_EVERY_S = 1.0
"""How often it is looked whether the check is still there, and a store that was away is tried again."""

BudgetOf = Callable[[str, Budget | None], Budget | None]
T = TypeVar("T")

log = logging.getLogger("fairmark.checks")


class CheckGone(Exception):  # a message to the engine, not an error
    """It was cancelled or deleted while it was worked off."""


class CannotConclude(Exception):  # a message to the engine, which writes it down
    """It cannot be brought to an end. A report that tells more may be there all the same."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class KeptAnswers(dict[str, Opinion]):
    """What judges have answered, by question, and what that took; `fresh` are those that are not stored yet."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: dict[str, bytes] = {}
        self.failed = 0
        self.tokens = 0
        self.dollars: float | None = None

    @classmethod
    def read(cls, stored: dict[str, bytes]) -> "KeptAnswers":
        """To be called in a thread: there may be many."""
        made = cls()
        for key, body in stored.items():
            made._count(key, Opinion(*jsontext.decode(body)))
        return made

    def __setitem__(self, key: str, answer: Opinion) -> None:
        self._count(key, answer)
        self.fresh[key] = jsontext.encode(list(answer))

    def _count(self, key: str, answer: Opinion) -> None:
        super().__setitem__(key, answer)
        self.failed += answer.error is not None
        self.tokens += answer.tokens
        if answer.cost is not None:
            self.dollars = (self.dollars or 0.0) + answer.cost


class CheckWork:
    def __init__(self, store: Store, check: StoredCheck, judge: Judge | None, budget_of: BudgetOf) -> None:
        self._store = store
        self._check = check
        self._judge = judge
        self._budget_of = budget_of
        self._answers = KeptAnswers()
        self._questions = 0

    async def do(self) -> None:
        """All of it. Raises CheckGone, CannotConclude and StoreUnavailable."""
        stored = await self._store.checks.answers(self._check)
        self._answers = await asyncio.to_thread(KeptAnswers.read, stored)
        work = self._judge_check if self._check.kind == "judge_check" else self._hacking_report
        deadline = self._check.request.get("deadline_s") or LONGEST_S
        left = (self._check.started_at or time.time()) + deadline - time.time()
        try:
            async with asyncio.timeout(max(0.0, left)):
                await work()
        except TimeoutError:
            raise CannotConclude("deadline_passed", f"It was not done within its deadline of {deadline:g} s.") from None
        except (InvalidData, InvalidGrader, ApiError) as error:  # what was fine when it was asked for is no more
            raise CannotConclude("invalid_request", str(error)) from None

    # Judge checks

    async def _judge_check(self) -> None:
        request = msgspec.convert(self._check.request, CheckRequest)
        spec = await aparse(request.grader)
        labelled = await asyncio.to_thread(read_kept, await self._rows(), request.rows_from)
        options = await asyncio.to_thread(request.options)
        checking = run_check(
            spec,
            labelled,
            options,
            self._judge,
            self._budget(request),
            self._answers,
            self._plan,
            owner=self._check.project,
        )
        check = await self._keeping(checking)
        report, page = await asyncio.to_thread(_written, check, request)
        if check.is_answered:
            await self._finish("completed", check.grade, report, page)
            return
        message = f"{check.failed} of {check.asked} questions failed: {'; '.join(check.failures)}"
        await self._finish("failed", None, report, page, {"code": "judge_failed", "message": message})

    def _plan(self, plan: CheckPlan) -> None:
        self._questions = len({ask.key for ask in plan.asks})

    # Hacking reports

    async def _hacking_report(self) -> None:
        request = msgspec.convert(self._check.request, ReportRequest)
        eval_ = await self._store.evals.get(self._check.project, request.eval_id)
        if eval_ is None:
            raise CannotConclude("not_found", "The eval was deleted before the report was made.")
        runs = [await self._run(request.eval_id, run_id) for run_id in request.runs]
        steps: list[GradedRun] = []
        criterion: Mapping[str, Any] = {}
        for run, name in zip(runs, step_names(runs), strict=True):
            criteria = run.criteria or eval_.criteria
            known = {str(criterion["id"]) for criterion in criteria}
            called = request.criterion if request.criterion in known else request.criterion_name
            criterion = criterion_named(criteria, called)  # of the last one, in the end, with what references led to
            steps.append(await read_run(self._store, run, criterion, name))
        spec = load_criteria([dict(criterion)])[0].spec
        low, high = range_of(steps, None if spec is None else spec.reward_range)
        asked: GoldAsked | None = None
        gold: hacking.Gold = {}
        if request.gold is not None:
            asked = await self._ask_gold(request, steps)
            gold = asked.gold
        elif request.rows_from is not None:
            labelled = await asyncio.to_thread(read_kept, await self._rows(), request.rows_from)
            gold = gold_of_people(labelled, low, high, *labels_of(spec))
            await asyncio.to_thread(check_comparable, steps, gold, labelled.name)
        words = "" if spec is None else " ".join(sources(spec))
        series = {name: values for name, values in request.series.items() if len(values) == len(steps)}
        done = await asyncio.to_thread(hacking.report, steps, gold, low, high, words, series)
        report = {**hacking_page.dump(done), "criterion": request.criterion_name, "asked": _asked(asked)}
        page = await asyncio.to_thread(hacking_page.page, done)
        await self._finish("completed", done.state, jsontext.encode(report), page.encode("utf-8", "replace"))

    async def _run(self, eval_id: str, run_id: str) -> Run:
        run = await self._store.runs.get(self._check.project, eval_id, run_id, with_source=False)
        if run is None:
            raise CannotConclude("not_found", f"The run {run_id} was deleted before the report was made.")
        return run

    async def _ask_gold(self, request: ReportRequest, steps: list[GradedRun]) -> GoldAsked:
        spec = await aparse(request.gold or {})
        asks = await asyncio.to_thread(gold_asks, steps, request.items)
        self._questions = len({ask.key for _, ask in asks})
        asking = gold_of_judge(spec, asks, self._judge, self._budget(request), self._answers, owner=self._check.project)
        asked = await self._keeping(asking)
        if not asked.is_answered:
            message = f"{asked.failed} of {asked.asked} questions to the gold grader failed: {asked.failure}"
            raise CannotConclude("judge_failed", message)
        return asked

    # What they share

    async def _rows(self) -> bytes:
        content = await self._store.checks.rows(self._check)
        if content is None:
            raise CheckGone
        return content

    def _budget(self, request: CheckRequest | ReportRequest) -> Budget | None:
        """What is left, after what the stored answers have cost."""
        budget = budget_of(request)
        budget.spent_tokens = self._answers.tokens
        budget.spent_dollars = self._answers.dollars or 0.0
        return self._budget_of(self._check.project, budget)

    def progress(self) -> dict[str, Any]:
        return {
            "answered": len(self._answers),
            "failed": self._answers.failed,
            "questions": max(self._questions, len(self._answers)),
            "tokens": self._answers.tokens,
            "dollars": self._answers.dollars,
        }

    async def _keeping(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's value, once all that judges answered for it is stored."""
        working = asyncio.create_task(work)
        keeping = asyncio.create_task(self._keep_up())
        try:
            await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                keeping.result()
            value = working.result()
        finally:
            for task in (working, keeping):
                task.cancel()
            await asyncio.gather(working, keeping, return_exceptions=True)
        await self._keep()
        return value

    async def _keep_up(self) -> None:
        """Ends only by raising CheckGone."""
        looked_at = 0.0
        while True:
            await asyncio.sleep(KEEP_EVERY_S)
            if self._answers.fresh or time.monotonic() - looked_at >= WATCH_EVERY_S:
                await self._keep()
                looked_at = time.monotonic()

    async def _keep(self) -> None:
        fresh, self._answers.fresh = self._answers.fresh, {}
        if not await self._patiently(lambda: self._store.checks.keep(self._check, fresh, self.progress())):
            raise CheckGone

    async def _finish(
        self, status: Any, grade: str | None, report: bytes, page: bytes, error: dict[str, Any] | None = None
    ) -> None:
        await self._patiently(
            lambda: self._store.checks.finish(
                self._check, status, error=error, grade=grade, progress=self.progress(), report=report, page=page
            )
        )

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """A call of the store; one that cannot be reached is waited for, so that nothing that was got is lost."""
        while True:
            try:
                return await call()
            except StoreUnavailable as error:
                log.warning("%s waits for the store: %s", self._check.id, error)
                await asyncio.sleep(WATCH_EVERY_S)


def _written(check: JudgeCheck, request: CheckRequest) -> tuple[bytes, bytes]:
    report = {**check.model_dump(), "require": request.require, "meets": check.meets(request.require)}
    return jsontext.encode(report), check.html().encode("utf-8", "replace")


def _asked(asked: GoldAsked | None) -> dict[str, Any] | None:
    if asked is None:
        return None
    return {
        "questions": asked.asked,
        "failed": asked.failed,
        "not_asked": asked.not_asked,
        "tokens": asked.tokens,
        "dollars": asked.dollars,
    }
