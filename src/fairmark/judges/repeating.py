"""A judge that is asked once more what it was asked before, although its answers are cached."""

from collections.abc import Sequence
from dataclasses import replace

from fairmark.errors import NotGraded
from fairmark.judgement import Judgement
from fairmark.judges.base import Budget, Completion, Embedded, Judge, Prompt, Question

REPEATS_APART = 1_000
"""Between the askings: a grader's own `n` stays below."""


class Repeating:
    """Its answers are cached apart, by the number of the repeat."""

    def __init__(self, judge: Judge, repeat: int) -> None:
        self._judge = judge
        self._apart = repeat * REPEATS_APART

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]:
        again = [replace(question, repeat=question.repeat + self._apart) for question in questions]
        return await self._judge.ask(again, budget)

    async def complete(self, prompts: Sequence[Prompt], budget: Budget | None) -> list[Completion | NotGraded]:
        return await self._judge.complete(prompts, budget)

    async def embed(self, model: str, texts: Sequence[str], budget: Budget | None) -> Embedded:
        return await self._judge.embed(model, texts, budget)
