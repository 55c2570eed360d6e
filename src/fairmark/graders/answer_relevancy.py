"""answer_relevancy: the share of a reply's claims that the question asked for."""

from collections.abc import Sequence
from typing import Literal

from fairmark.context import Context
from fairmark.graders.claims import ClaimsCheck, ShareGrader, grade_by_claims
from fairmark.graders.threads import question_of
from fairmark.result import Grade
from fairmark.row import Row


class AnswerRelevancy(ShareGrader):
    """Ask a judge model which claims of a reply answer the question; the reward is their share."""

    type: Literal["answer_relevancy"]


CHECK = ClaimsCheck(
    "answer_relevancy", "relevant", "not relevant", needs=lambda thread: {"question": question_of(thread)}
)


async def grade_many(spec: AnswerRelevancy, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    return await grade_by_claims(spec, CHECK, rows, ctx)
