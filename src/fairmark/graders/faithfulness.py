"""faithfulness: the share of a reply's claims that the retrieved documents support."""

from collections.abc import Sequence
from typing import Literal

from fairmark.context import Context
from fairmark.graders.claims import ClaimsCheck, ShareGrader, grade_by_claims
from fairmark.graders.threads import documents_of
from fairmark.result import Grade
from fairmark.row import Row


class Faithfulness(ShareGrader):
    """Ask a judge model which claims of a reply the retrieved documents support; the reward is their share."""

    type: Literal["faithfulness"]


CHECK = ClaimsCheck(
    "faithfulness", "supported", "not supported", needs=lambda thread: {"documents": documents_of(thread)}
)


async def grade_many(spec: Faithfulness, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    return await grade_by_claims(spec, CHECK, rows, ctx)
