"""A sandbox for tests of graders: it runs nothing and answers what it was told to."""

from collections.abc import Callable, Sequence
from typing import Any

from fairmark.sandbox.base import Outcome, Policy, Program


class FakeSandbox:
    """Answers each row by `answer(program, row)`; `asked` keeps what came."""

    def __init__(self, answer: Callable[[Program, Sequence[Any]], Outcome]) -> None:
        self.policy = Policy()
        self.asked: list[tuple[Program, Sequence[Any]]] = []
        self._answer = answer

    async def run(self, program: Program, rows: Sequence[Sequence[Any]]) -> list[Outcome]:
        self.asked += [(program, row) for row in rows]
        return [self._answer(program, row) for row in rows]
