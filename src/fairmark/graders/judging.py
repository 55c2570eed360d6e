"""What the kinds that ask a judge share: their fields, the questions for a row, one grade out of many answers."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import PlainValidator, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, NotAnAnswer, NotGraded, Problem
from fairmark.judgement import Judgement
from fairmark.judges.base import Question, Shape
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.messages import Fence, Messages

REASONING_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
MOST_REPEATS = 100
MOST_LEVELS = 50
"""How deep an answer may be nested; a verdict has four."""
# Canonical name -> its other spellings.
_SPELLINGS = {"max_completions_tokens": ("max_completion_tokens", "max_tokens")}
_NUMBERS: dict[str, tuple[type, float, float]] = {
    "seed": (int, -(2**63), 2**63 - 1),
    "top_p": (float, 0, 1),
    "temperature": (float, 0, 2),
    "max_completions_tokens": (int, 1, 2**31 - 1),
}


def read_sampling(given: Any) -> dict[str, Any] | None:
    """Sampling parameters under their canonical names. Null is kept; keys that nobody knows are kept and not used."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidGrader.at("", f"found {jsontext.describe(given)}. It takes an object.", "invalid_type")
    found = dict(given)
    spelled: dict[str, str] = {}
    for name, others in _SPELLINGS.items():
        spellings = [key for key in (name, *others) if key in found]
        if spellings:
            # Null is what nobody set, so another spelling may still say something.
            spelled[name] = next((key for key in spellings if found[key] is not None), spellings[0])
            value = found[spelled[name]]
            for key in spellings:
                del found[key]
            found[name] = value
    problems = [
        problem.below(f".{spelled.get(name, name)}")
        for name, value in found.items()
        if value is not None
        for problem in _wrong(name, value)
    ]
    if problems:
        raise InvalidGrader(problems)
    return found


def _wrong(name: str, value: Any) -> Iterator[Problem]:
    if name == "reasoning_effort" and value not in REASONING_EFFORTS:
        shown = jsontext.quote(value) if isinstance(value, str) else jsontext.describe(value)
        yield Problem("", f"unknown reasoning_effort {shown}. Use one of: {', '.join(REASONING_EFFORTS)}.")
    if name in _NUMBERS:
        wanted, low, high = _NUMBERS[name]
        is_number = isinstance(value, (int, wanted)) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            what = "a whole number" if wanted is int else "a number"
            bounds = f" from {low} to {high}" if wanted is float else f", {low} or more" if low == 1 else ""
            code = "invalid_value" if is_number else "invalid_type"
            yield Problem("", f"found {jsontext.describe(value)}. It takes {what}{bounds}.", code)


def _read_repeats(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MOST_REPEATS:
        raise InvalidGrader.at(
            "", f"found {jsontext.describe(given)}. It takes a whole number from 1 to {MOST_REPEATS}."
        )
    return given


def read_names(given: Any) -> tuple[str, ...]:
    """A list of strings that are not empty."""
    if not isinstance(given, (list, tuple)):
        raise InvalidGrader.at("", f"found {jsontext.describe(given)}. It takes a list of strings.", "invalid_type")
    wrong = [
        Problem(f"[{index}]", f"found {jsontext.describe(value)}. It takes a string that is not empty.", "invalid_type")
        for index, value in enumerate(given)
        if not isinstance(value, str) or not value
    ]
    if wrong:
        raise InvalidGrader(wrong)
    return tuple(given)


class JudgeGrader(GraderSpec):
    """The fields of every kind that asks a judge. `guard` is an extension of ours."""

    other_names: ClassVar[dict[str, str]] = {
        "sampling_parameters": "sampling_params",
        "model_sampling_params": "sampling_params",
    }

    model: Annotated[str, Strict()]
    sampling_params: Annotated[Mapping[str, Any] | None, PlainValidator(read_sampling)] = None
    guard: Annotated[bool, Strict()] = False

    @property
    def models(self) -> Mapping[str, str]:
        return {".model": self.model}

    @property
    def sampling(self) -> dict[str, Any]:
        """What the grader sets, by canonical name."""
        return {name: value for name, value in (self.sampling_params or {}).items() if value is not None}

    def warnings(self) -> Iterator[str]:
        yield from super().warnings()
        if "{{" in self.model:
            yield f"$.model: {jsontext.quote(self.model)} looks like a template, but a model's name is taken as it is."


class PanelGrader(JudgeGrader):
    """A kind with one question a row, for one judge or several. `n`, `panel` and `combine` are extensions of ours."""

    n: Annotated[int, PlainValidator(_read_repeats)] = 1
    panel: Annotated[Sequence[str], PlainValidator(read_names)] = ()
    combine: Literal["mean", "median", "majority"] | None = None

    @property
    def models(self) -> Mapping[str, str]:
        return {**super().models, **{f".panel[{index}]": model for index, model in enumerate(self.panel)}}

    def messages(self, row: Row, fence: Fence | None = None) -> list[dict[str, Any]]:
        """What the judges are asked about a row. Raises GradingFailed."""
        raise NotImplementedError

    def quoted(self, row: Row) -> list[str]:
        """The texts of the row that stand in the messages."""
        raise NotImplementedError

    @classmethod
    def cross_check(cls, given: dict[str, Any]) -> Iterator[Problem]:
        if given.get("combine") is not None and given.get("n", 1) == 1 and not given.get("panel"):
            yield Problem(".combine", "there is one answer and nothing to combine. Ask several: set n or panel.")
        panel = given.get("panel")
        if isinstance(panel, (list, tuple)):
            for index, model in enumerate(panel):
                if isinstance(model, str) and model in (given.get("model"), *panel[:index]):
                    found = jsontext.quote(model)
                    yield Problem(f".panel[{index}]", f"{found} is asked already. To ask a model several times, set n.")


class ModelGrader(PanelGrader):
    """A kind whose question is written out as messages with templates."""

    input: Messages

    def messages(self, row: Row, fence: Fence | None = None) -> list[dict[str, Any]]:
        return self.input.render(row, fence)

    def quoted(self, row: Row) -> list[str]:
        return self.input.values(row)

    def warnings(self) -> Iterator[str]:
        yield from super().warnings()
        for template in self.input.templates:
            for text in template.stray():
                yield f"$.input: {text} is taken as plain text; a variable stands in two braces on both sides."


class Reading(NamedTuple):
    """What one answer is worth."""

    reward: float
    verdict: Any
    """The score or the label."""
    warning: str | None = None
    left_out: str | None = None
    """Why the row is to be left out, where the judge says that; the reward is none then."""


async def grade_by_judges(
    spec: PanelGrader, shape: Shape, read: Callable[[Mapping[str, Any]], Reading], rows: Sequence[Row], ctx: Context
) -> list[Grade]:
    """Asks every judge of the grader about every row, all at once, and combines what they say row by row."""
    questions: list[Question] = []
    counts: list[int | Grade] = []
    for row in rows:
        try:
            asked = _questions(spec, shape, row)
        except GradingFailed as failure:
            counts.append(Grade.failed(failure))
            continue
        questions += asked
        counts.append(len(asked))
    answers = iter(await ctx.judge.ask(questions, ctx.budget) if questions else [])
    return [
        count if isinstance(count, Grade) else _grade(spec, [next(answers) for _ in range(count)], read, row)
        for count, row in zip(counts, rows, strict=True)
    ]


def fenced(
    spec: JudgeGrader, render: Callable[[Fence | None], list[dict[str, Any]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    """The messages, with a fence where the grader has a guard, and what is the same about them every time."""
    messages = render(None)
    return (render(Fence()), [{"guard": True}, *messages]) if spec.guard else (messages, None)


def _questions(spec: PanelGrader, shape: Shape, row: Row) -> list[Question]:
    messages, identity = fenced(spec, lambda fence: spec.messages(row, fence))

    def quoted() -> list[str]:
        return spec.quoted(row)

    sampling = spec.sampling
    return [
        Question(model, messages, shape, sampling, repeat, identity, quoted)
        for model in (spec.model, *spec.panel)
        for repeat in range(spec.n)
    ]


def _grade(
    spec: PanelGrader, answers: list[Judgement | NotGraded], read: Callable[[Mapping[str, Any]], Reading], row: Row
) -> Grade:
    judgements = tuple(answer for answer in answers if isinstance(answer, Judgement))
    seconds = max((judgement.latency_s for judgement in judgements), default=0.0)
    readings: list[Reading] = []
    for judgement in judgements:
        if judgement.warning:
            row.warn(judgement.warning)
        if judgement.failure is None:
            reading = read(judgement.value)
            readings.append(reading)
            if reading.warning:
                row.warn(reading.warning)
    left_out = next((answer for answer in answers if isinstance(answer, NotGraded)), None)
    if left_out is not None:
        return Grade(0.0, skipped=str(left_out), judgements=judgements, seconds=seconds)
    failures = [judgement.failure for judgement in judgements if judgement.failure is not None]
    # A verdict needs more than half of those asked: what a minority says is not what the panel says.
    if failures and 2 * len(readings) <= len(answers):
        grade = Grade.failed(failures[0])
        return grade._replace(judgements=judgements, seconds=seconds)
    for failure in failures:
        row.warn(f"one of {len(answers)} judges gave no answer: {failure}")
    rewards = [reading.reward for reading in readings if reading.left_out is None]
    if 2 * len(rewards) <= len(readings):
        reason = next(reading.left_out for reading in readings if reading.left_out is not None)
        return Grade(0.0, skipped=reason, judgements=judgements, seconds=seconds)
    if len(answers) == 1:
        return Grade(rewards[0], judgements=judgements, seconds=seconds)
    combine = spec.combine or ("majority" if isinstance(readings[0].verdict, str) else "mean")
    spread = _spread(combine, rewards, [reading.verdict for reading in readings], len(answers))
    return Grade(_combined(combine, rewards), judgements=judgements, seconds=seconds, spread=spread)


def _combined(combine: str, rewards: list[float]) -> float:
    if combine == "mean":
        return math.fsum(rewards) / len(rewards)
    if combine == "median":
        ordered = sorted(rewards)
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    # The reward given most often. Where several are, the lowest of them: a tie is no majority for the better one.
    counts = Counter(rewards)
    most = max(counts.values())
    return min(reward for reward, count in counts.items() if count == most)


def _spread(combine: str, rewards: list[float], verdicts: list[Any], asked: int) -> dict[str, Any]:
    common = Counter(verdicts).most_common(1)[0][1]
    mean = math.fsum(rewards) / len(rewards)
    return {
        "combine": combine,
        "asked": asked,
        "answered": len(verdicts),
        "verdicts": verdicts,
        "min": min(rewards),
        "max": max(rewards),
        "stdev": math.sqrt(math.fsum((reward - mean) ** 2 for reward in rewards) / len(rewards)),
        "agreement": common / len(verdicts),
    }


def steps_of(value: Mapping[str, Any]) -> list[dict[str, str]]:
    """The reasoning steps, whatever a model made of them: they explain a verdict and never spoil it."""
    given = value.get("steps")
    steps: list[dict[str, str]] = []
    for step in given if isinstance(given, list) else []:
        if isinstance(step, Mapping):
            described, concluded = step.get("description"), step.get("conclusion")
            steps.append({"description": _text(described), "conclusion": _text(concluded)})
        elif isinstance(step, str):
            steps.append({"description": step, "conclusion": ""})
    return steps


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else jsontext.write(value)


def result_of(value: Any) -> Any:
    """The `result` of a structured answer; models that were told of scores and labels may call it that."""
    if not isinstance(value, Mapping):
        raise NotAnAnswer(f"the answer is {jsontext.describe(value)}, not an object with a result")
    if jsontext.deeper_than(value, MOST_LEVELS):
        raise NotAnAnswer("the answer is nested too deeply")
    for key in ("result", "score", "label"):
        if key in value:
            return value[key]
    raise NotAnAnswer("the answer has no result")


def answer_schema(result: dict[str, Any]) -> dict[str, Any]:
    """`{"steps": [{description, conclusion}, …], "result": …}`: reasons first, so that the result follows from them."""
    step = {
        "type": "object",
        "properties": {"description": {"type": "string"}, "conclusion": {"type": "string"}},
        "required": ["description", "conclusion"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": step}, "result": result},
        "required": ["steps", "result"],
        "additionalProperties": False,
    }
