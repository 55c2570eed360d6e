"""A judge that is asked once more."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from fairmark.judges.base import Budget, Question, Shape
from fairmark.judges.fake import FakeJudge
from fairmark.judges.repeating import Repeating


class Noting(FakeJudge):
    """Remembers which of several askings each question was."""

    def __init__(self) -> None:
        super().__init__(0.5)
        self.repeats: list[int] = []

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> Any:
        self.repeats += [question.repeat for question in questions]
        return []


def test_every_asking_is_apart_from_all_others_of_a_grader_that_asks_several_times() -> None:
    judge, shape = Noting(), cast("Shape", None)  # nobody looks at it
    for repeat in (0, 1, 2):
        questions = [Question("m", [], shape, repeat=own) for own in range(3)]
        asyncio.run(Repeating(judge, repeat).ask(questions, None))
    assert len(set(judge.repeats)) == 9
