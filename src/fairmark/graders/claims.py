"""Grading by claims: a judge takes the reply apart into claims, and then gives each of them a verdict.

The reward is the share of claims with the verdict 1. Both answers of the judge are kept, so that one can see which
claims there were and what became of each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, NotAnAnswer, NotGraded
from fairmark.failures import as_grade
from fairmark.graders.judging import MOST_LEVELS, JudgeGrader, fenced
from fairmark.graders.threads import OTHER_NAMES, chat, completion_of, prompt
from fairmark.judgement import Judgement
from fairmark.judges.base import Question, Shape
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.text.handlebars import Own
from fairmark.text.thread import Thread, thread_of

MOST_CLAIMS = 64

_CLAIMS_SCHEMA = {
    "type": "object",
    "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
    "required": ["claims"],
    "additionalProperties": False,
}
_VERDICT = {
    "index": {"type": "integer"},
    "reason": {"type": "string"},
    "verdict": {"type": "integer", "enum": [0, 1]},
}
_VERDICTS_SCHEMA = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _VERDICT,
                "required": list(_VERDICT),
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}
_BITS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1}


class ShareGrader(JudgeGrader):
    """A kind whose reward is a share: of claims, or of documents."""

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    other_names: ClassVar[dict[str, str]] = OTHER_NAMES

    @property
    def sampling(self) -> dict[str, Any]:
        return {"temperature": 0, **super().sampling}


@dataclass(frozen=True, slots=True)
class ClaimsShape:
    """A list of texts. Blank ones are left out, and those that were there already."""

    schema: Mapping[str, Any]
    name: str = "claims"

    def read(self, value: Any) -> dict[str, Any]:
        texts = _list_in(value, "claims")
        for claim in texts:
            if not isinstance(claim, str):
                raise NotAnAnswer(f"a claim is {jsontext.describe(claim)}, not a string")
        claims = list(dict.fromkeys(text for claim in texts if (text := " ".join(claim.split()))))
        return {"steps": [], "result": claims, "claims": claims}

    def read_bare(self, text: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class VerdictsShape:
    """One verdict for each claim, no more and no fewer."""

    claims: tuple[str, ...]
    holds: str
    fails: str
    schema: Mapping[str, Any] = field(default_factory=lambda: _VERDICTS_SCHEMA)
    name: str = "verdicts"

    def read(self, value: Any) -> dict[str, Any]:
        entries = _list_in(value, "verdicts")
        if not all(isinstance(verdict, Mapping) for verdict in entries):
            raise NotAnAnswer("a verdict is not an object with an index")
        by_index = {_index(verdict): (bit_of(verdict), reason_of(verdict)) for verdict in entries}
        if len(by_index) != len(entries) or set(by_index) != set(range(1, len(self.claims) + 1)):
            shown = jsontext.shorten(", ".join(str(_index(verdict)) for verdict in entries), 100) or "none"
            raise NotAnAnswer(f"the verdicts are for: {shown}; wanted is one for each of 1 to {len(self.claims)}")
        verdicts = [
            {"index": index, "reason": by_index[index][1], "verdict": by_index[index][0]} for index in sorted(by_index)
        ]
        steps = [
            {"description": claim, "conclusion": f"{self.holds if bit else self.fails}: {reason}".removesuffix(": ")}
            for claim, (bit, reason) in zip(self.claims, (by_index[index] for index in sorted(by_index)), strict=True)
        ]
        share = sum(bit for bit, _ in by_index.values()) / len(by_index)
        return {"steps": steps, "result": share, "verdicts": verdicts}

    def read_bare(self, text: str) -> None:
        return None


def _list_in(value: Any, key: str) -> list[Any]:
    entries = value.get(key) if isinstance(value, Mapping) else value
    if not isinstance(entries, list):
        raise NotAnAnswer(f"the answer has no list of {key}")
    if jsontext.deeper_than(value, MOST_LEVELS):
        raise NotAnAnswer("the answer is nested too deeply")
    return entries


def _index(verdict: Mapping[str, Any]) -> int:
    """The number of the claim, also written as a string; 0, which no claim has, for anything else."""
    text = str(verdict.get("index"))
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def bit_of(verdict: Mapping[str, Any]) -> int:
    """The verdict, 0 or 1. Raises NotAnAnswer."""
    value = next((verdict[key] for key in ("verdict", "result", "score") if key in verdict), None)
    bit = _BITS.get(str(value).strip().casefold()) if isinstance(value, (str, int, float)) else None
    if bit is None:
        raise NotAnAnswer(f"a verdict is {jsontext.describe(value)}, not 0 or 1")
    return bit


def reason_of(verdict: Mapping[str, Any]) -> str:
    reason = verdict.get("reason")
    return reason if isinstance(reason, str) else ""


@dataclass(frozen=True, slots=True)
class ClaimsCheck:
    """What is asked about the claims."""

    prompt: str
    """The name of the prompt's two files, without their endings."""
    holds: str
    """A word for claims with the verdict 1, and one for the others."""
    fails: str
    needs: Callable[[Thread], dict[str, Any]]
    """What the prompt needs of a row besides the claims. Raises GradingFailed."""


@dataclass(slots=True)
class _Case:
    """A row on its way."""

    row: Row
    thread: Thread
    completion: str
    needed: dict[str, Any]
    judgements: tuple[Judgement, ...] = ()

    def ended(self, grade: Grade) -> Grade:
        """The grade with what the judge said up to here, which was said one after the other."""
        seconds = sum(judgement.latency_s for judgement in self.judgements)
        return grade._replace(judgements=self.judgements, seconds=seconds)

    def heard(self, answer: Judgement | NotGraded) -> Grade | None:
        """Keeps the answer. A grade where there is no going on."""
        if isinstance(answer, NotGraded):
            return self.ended(Grade(0.0, skipped=str(answer)))
        self.judgements += (answer,)
        if answer.warning:
            self.row.warn(answer.warning)
        return None if answer.failure is None else self.ended(Grade.failed(answer.failure))


async def grade_by_claims(spec: ShareGrader, check: ClaimsCheck, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    """The share of claims that hold, for every row; a row whose reply makes no claims is left out."""
    grades: dict[int, Grade] = {}
    cases: dict[int, _Case] = {}
    questions: dict[int, Question] = {}
    for index, row in enumerate(rows):
        try:
            cases[index] = case = _case(check, row)
            questions[index] = _what_claims(spec, case)
        except (GradingFailed, NotGraded) as error:
            grades[index] = as_grade(error)
    for index, answer in (await ask(questions, ctx)).items():
        case = cases[index]
        if ended := case.heard(answer):
            grades[index] = ended
            continue
        try:
            questions[index] = _what_verdicts(spec, check, case)
        except (GradingFailed, NotGraded) as error:
            grades[index] = case.ended(as_grade(error))
    for index, answer in (await ask({i: q for i, q in questions.items() if i not in grades}, ctx)).items():
        case = cases[index]
        grades[index] = case.heard(answer) or case.ended(Grade(case.judgements[-1].value["result"]))
    return [grades[index] for index in range(len(rows))]


async def ask(questions: Mapping[Any, Question], ctx: Context) -> dict[Any, Judgement | NotGraded]:
    """All at once: the answers under the keys of the questions."""
    answers = await ctx.judge.ask(list(questions.values()), ctx.budget) if questions else []
    return dict(zip(questions, answers, strict=True))


def question(spec: ShareGrader, name: str, values: Mapping[str, Any], shape: Shape, quoted: Sequence[str]) -> Question:
    """The prompt of that name as a question. Raises GradingFailed where it is too long."""
    system, user = prompt(f"{name}.system"), prompt(f"{name}.user")
    values = {"output_schema": Own(jsontext.write(shape.schema)), **values}
    messages, identity = fenced(spec, lambda fence: chat(system, user, values, fence))
    return Question(spec.model, messages, shape, spec.sampling, identity=identity, quoted=lambda: quoted)


def _case(check: ClaimsCheck, row: Row) -> _Case:
    thread = thread_of(row)
    completion = completion_of(thread)
    case = _Case(row, thread, completion, check.needs(thread))
    if not completion.strip():
        raise NotGraded("the reply is empty, so that it makes no claims.")
    return case


def _what_claims(spec: ShareGrader, case: _Case) -> Question:
    asked = case.thread.question or ""
    values = {"completion": case.completion, "question": asked, "most": MOST_CLAIMS}
    return question(spec, "claims", values, ClaimsShape(_CLAIMS_SCHEMA), [case.completion, asked])


def _what_verdicts(spec: ShareGrader, check: ClaimsCheck, case: _Case) -> Question:
    claims: list[str] = case.judgements[-1].value["claims"]
    if not claims:
        raise NotGraded("the reply makes no claims.")
    if len(claims) > MOST_CLAIMS:
        case.row.warn(f"the judge found {len(claims)} claims in the reply; the first {MOST_CLAIMS} of them count.")
        claims = claims[:MOST_CLAIMS]
    numbered = [{"number": number, "text": claim} for number, claim in enumerate(claims, 1)]
    shape = VerdictsShape(tuple(claims), check.holds, check.fails)
    quoted = [*claims, *(text for value in case.needed.values() for text in _texts(value))]
    return question(spec, check.prompt, {**case.needed, "claims": numbered}, shape, quoted)


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
