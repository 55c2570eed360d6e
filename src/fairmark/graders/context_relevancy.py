"""context_relevancy: the share of the retrieved documents that are relevant to the question.

One question a document: what the judge says about one does not depend on its neighbours, and is found again in the
cache wherever the same document was retrieved for the same question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, NotAnAnswer, NotGraded
from fairmark.graders.claims import ShareGrader, ask, bit_of, question, reason_of
from fairmark.graders.judging import MOST_LEVELS
from fairmark.graders.threads import documents_of, question_of
from fairmark.judgement import Judgement
from fairmark.judges.base import Question
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.text.thread import thread_of

_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "verdict": {"type": "integer", "enum": [0, 1]}},
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class RelevanceShape:
    """0 or 1, and why."""

    schema: Mapping[str, Any]
    name: str = "relevance"

    def read(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise NotAnAnswer("the answer is not an object with a verdict")
        if jsontext.deeper_than(value, MOST_LEVELS):
            raise NotAnAnswer("the answer is nested too deeply")
        return self._canonical(reason_of(value), bit_of(value))

    def read_bare(self, text: str) -> dict[str, Any] | None:
        try:
            return self._canonical("", bit_of({"verdict": text}))
        except NotAnAnswer:
            return None

    @staticmethod
    def _canonical(reason: str, bit: int) -> dict[str, Any]:
        steps = [{"description": reason, "conclusion": "relevant" if bit else "not relevant"}]
        return {"steps": steps, "result": bit, "verdict": bit, "reason": reason}


SHAPE = RelevanceShape(_SCHEMA)


class ContextRelevancy(ShareGrader):
    """Ask a judge model which retrieved documents are relevant to the question; the reward is their share."""

    type: Literal["context_relevancy"]


async def grade_many(spec: ContextRelevancy, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    grades: dict[int, Grade] = {}
    questions: dict[tuple[int, int], Question] = {}
    for index, row in enumerate(rows):
        try:
            asked = _questions(spec, row)
        except GradingFailed as failure:
            grades[index] = Grade.failed(failure)
        else:
            questions |= {(index, number): query for number, query in enumerate(asked)}
    answers: dict[int, list[Judgement | NotGraded]] = {}
    for (index, _), answer in (await ask(questions, ctx)).items():
        answers.setdefault(index, []).append(answer)
    grades |= {index: _grade(rows[index], replies) for index, replies in answers.items()}
    return [grades[index] for index in range(len(rows))]


def _questions(spec: ContextRelevancy, row: Row) -> list[Question]:
    thread = thread_of(row)
    asked, documents = question_of(thread), documents_of(thread)
    return [
        question(spec, "context_relevancy", {"question": asked, "document": document}, SHAPE, [asked, document])
        for document in documents
    ]


def _grade(row: Row, answers: list[Judgement | NotGraded]) -> Grade:
    judgements = tuple(answer for answer in answers if isinstance(answer, Judgement))
    for judgement in judgements:
        if judgement.warning:
            row.warn(judgement.warning)
    left_out = next((answer for answer in answers if isinstance(answer, NotGraded)), None)
    failure = next((judgement.failure for judgement in judgements if judgement.failure is not None), None)
    if left_out is not None:
        grade = Grade(0.0, skipped=str(left_out))
    elif failure is not None:
        # A share of the documents that happened to get an answer would be a share of something else.
        grade = Grade.failed(failure)
    else:
        grade = Grade(sum(judgement.value["verdict"] for judgement in judgements) / len(judgements))
    return grade._replace(
        judgements=judgements, seconds=max((judgement.latency_s for judgement in judgements), default=0.0)
    )
