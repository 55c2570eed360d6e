"""A store with an engine that works off checks, and judges that are scripted, held up and counted."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from bench.scripted_judges import SCORE_GRADER, ScriptedJudge, World, clean

from fairmark.checks.check_calls import begin_check, plan_check
from fairmark.checks.engine import CheckEngine
from fairmark.checks.report_calls import begin_report, plan_report
from fairmark.errors import NotGraded
from fairmark.judgement import Judgement, Usage
from fairmark.judges.base import Budget, Judge, Question
from fairmark.registry.lookup import Registry
from fairmark.store import Store, StoredCheck

PROJECT = "default"
WORLD = World.of_scores(3, 40)
ROWS: list[dict[str, Any]] = [dict(row) for row in WORLD.rows]
BODY: dict[str, Any] = {"grader": SCORE_GRADER, "rows": ROWS, "probes": ["repeat"]}


class Counted(ScriptedJudge):
    """A good judge. It answers so many questions, and then holds the others until it is let go; it spends budgets."""

    def __init__(self, answers: int | None = None, tokens: int = 120) -> None:
        super().__init__(WORLD, clean, 5, 0.02)
        self.tokens = tokens
        self.left = answers
        self.go_on = asyncio.Event()
        self.asked: list[str] = []

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]:
        done: list[Judgement | NotGraded] = []
        for question in questions:
            if self.left == 0:
                await self.go_on.wait()
            elif self.left is not None:
                self.left -= 1
            try:
                if budget is not None:
                    budget.check()
            except NotGraded as reason:
                done.append(reason)
                continue
            self.asked.append(f"{question.repeat} {question.messages[-1]['content']}")
            usage = Usage(self.tokens, 0, self.tokens)
            answer = replace(self._answer(question), usage=usage)
            if budget is not None:
                budget.spend(answer.usage, answer.cost)
            done.append(answer)
        return done


class Desk:
    def __init__(self, store: Store, judge: Judge) -> None:
        self.store = store
        self.engine = CheckEngine(store, judge)
        self.registry = Registry(store.graders.find)

    async def check(self, project: str = PROJECT, **body: Any) -> StoredCheck:
        planned = await plan_check(self.store, self.registry, self.engine, project, {**BODY, **body})
        return await begin_check(self.store, self.engine, project, planned)

    async def report(self, project: str = PROJECT, **body: Any) -> StoredCheck:
        planned = await plan_report(self.store, self.registry, self.engine, project, body)
        return await begin_report(self.store, self.engine, project, planned)

    async def now(self, check: StoredCheck) -> StoredCheck:
        found = await self.store.checks.get(check.project, check.kind, check.id)
        assert found is not None
        return found

    async def ended(self, check: StoredCheck) -> StoredCheck:
        until = time.monotonic() + 60
        while (found := await self.now(check)).is_active:
            assert time.monotonic() < until, found
            await asyncio.sleep(0.02)
        return found

    async def answered(self, check: StoredCheck, least: int) -> None:
        """Until so many answers are stored."""
        until = time.monotonic() + 60
        while len(await self.store.checks.answers(check)) < least:
            assert time.monotonic() < until
            await asyncio.sleep(0.02)


@asynccontextmanager
async def open_desk(store: Store, judge: Judge) -> AsyncIterator[Desk]:
    desk = Desk(store, judge)
    await desk.engine.start()
    try:
        yield desk
    finally:
        await desk.engine.stop()
        # What is being written ends by itself; a server waits for it when it closes its store.
        until = time.monotonic() + 30
        while store._database._under_way:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
