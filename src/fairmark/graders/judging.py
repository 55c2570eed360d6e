"""What the kinds that ask a judge share: their fields, the questions for a row, one grade out of many answers."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import PlainValidator, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, NotAnAnswer, NotGraded, Problem
from fairmark.judgement import NO_USAGE, Judgement
from fairmark.judges.base import Question, Shape
from fairmark.judges.logprobs import Unclear, weigh
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.messages import Fence, Messages

REASONING_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
MOST_REPEATS = 100
ASIDE_CHARS = 1_000
"""Longer rows are made into questions in a thread, where others need the event loop."""
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
SAMPLING = ("reasoning_effort", *_NUMBERS)
"""The canonical names of the parameters that models are sent."""


def read_sampling(options: Any) -> dict[str, Any] | None:
    """Sampling parameters under their canonical names. Null is kept; keys that nobody knows are kept and not used."""
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise InvalidGrader.at("", f"found {jsontext.describe(options)}. It takes an object.", "invalid_type")
    parameters = dict(options)
    spelled: dict[str, str] = {}
    for name, others in _SPELLINGS.items():
        spellings = [key for key in (name, *others) if key in parameters]
        if spellings:
            # Null is what nobody set, so another spelling may still say something.
            spelled[name] = next((key for key in spellings if parameters[key] is not None), spellings[0])
            value = parameters[spelled[name]]
            for key in spellings:
                del parameters[key]
            parameters[name] = value
    problems = [
        problem.below(f".{spelled.get(name, name)}")
        for name, value in parameters.items()
        if value is not None
        for problem in _wrong(name, value)
    ]
    if problems:
        raise InvalidGrader(problems)
    return parameters


def unused_sampling(parameters: Mapping[str, Any], used: Iterable[str] = SAMPLING) -> Iterator[tuple[str, str]]:
    """The parameters that no model is sent, by name, with a hint where one looks like a misspelt other."""
    known = (*used, *(other for name in used for other in _SPELLINGS.get(name, ())))
    for name, value in parameters.items():
        if name not in known and value is not None:
            yield jsontext.shorten(name, 40), jsontext.nearest(name, known, likeness=0.85)  # top_k is not top_p


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


def _read_repeats(count: Any) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_REPEATS:
        raise InvalidGrader.at(
            "", f"found {jsontext.describe(count)}. It takes a whole number from 1 to {MOST_REPEATS}."
        )
    return count


def read_names(names: Any) -> tuple[str, ...]:
    """A list of strings that are not empty."""
    if not isinstance(names, (list, tuple)):
        raise InvalidGrader.at("", f"found {jsontext.describe(names)}. It takes a list of strings.", "invalid_type")
    wrong = [
        Problem(f"[{index}]", f"found {jsontext.describe(value)}. It takes a string that is not empty.", "invalid_type")
        for index, value in enumerate(names)
        if not isinstance(value, str) or not value
    ]
    if wrong:
        raise InvalidGrader(wrong)
    return tuple(names)


def _read_logprobs(value: Any) -> bool | str:
    if value is None:
        return False
    if not isinstance(value, bool) and value != "letters":
        raise InvalidGrader.at(
            "", f'found {jsontext.describe(value)}. It takes true, false or "letters".', "invalid_type"
        )
    return bool(value) if isinstance(value, bool) else "letters"


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
        for name, hint in unused_sampling(self.sampling_params or {}):
            yield f"$.sampling_params.{name}: unknown parameter, kept but not used.{hint}"


class PanelGrader(JudgeGrader):
    """A kind with one question a row, for one judge or several. `n`, `panel`, `combine` and `logprobs` are
    extensions of ours."""

    n: Annotated[int, PlainValidator(_read_repeats)] = 1
    panel: Annotated[Sequence[str], PlainValidator(read_names)] = ()
    combine: Literal["mean", "median", "majority"] | None = None
    logprobs: Annotated[bool | Literal["letters"], PlainValidator(_read_logprobs)] = False

    @property
    def worth(self) -> Mapping[str, float]:
        """What each verdict is worth, by the text that the judge begins it with: for `logprobs`."""
        return {}

    @property
    def models(self) -> Mapping[str, str]:
        return {**super().models, **{f".panel[{index}]": model for index, model in enumerate(self.panel)}}

    @property
    def answers(self) -> int:
        """How many of them its grade of a row is made of."""
        return self.n * (1 + len(self.panel))

    def messages(self, row: Row, fence: Fence | None = None) -> list[dict[str, Any]]:
        """What the judges are asked about a row. Raises GradingFailed."""
        raise NotImplementedError

    def quoted(self, row: Row) -> list[str]:
        """The texts of the row that stand in the messages."""
        raise NotImplementedError

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        if fields.get("combine") is not None and fields.get("n", 1) == 1 and not fields.get("panel"):
            yield Problem(".combine", "there is one answer and nothing to combine. Ask several: set n or panel.")
        panel = fields.get("panel")
        if isinstance(panel, (list, tuple)):
            for index, model in enumerate(panel):
                if isinstance(model, str) and model in (fields.get("model"), *panel[:index]):
                    shown = jsontext.quote(model)
                    yield Problem(f".panel[{index}]", f"{shown} is asked already. To ask a model several times, set n.")


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


def asks_several(spec: GraderSpec) -> bool:
    """Whether a grade of it, or of one inside it, is made of several judges' answers, or of several of one."""
    alone = isinstance(spec, PanelGrader) and spec.answers > 1
    return alone or any(map(asks_several, spec.children.values()))


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
    return await grade_by_questions(spec, lambda row: questions_of(spec, shape, row, spec.messages), read, rows, ctx)


async def grade_by_questions(
    spec: PanelGrader,
    ask: Callable[[Row], list[Question]],
    read: Callable[[Mapping[str, Any]], Reading],
    rows: Sequence[Row],
    ctx: Context,
    shared: bool = False,
) -> list[Grade]:
    """The same for kinds that ask each judge more than one question: `ask` makes those of a row, or raises
    GradingFailed. `shared`: rows may have questions in common, each of which is asked once."""
    questions: list[Question] = []
    counts: list[int | Grade] = []
    for row in rows:
        try:
            # Filling in a long row takes its time, and a loop over it in a template many times that.
            asked = await asyncio.to_thread(ask, row) if ctx.apart and row.chars > ASIDE_CHARS else ask(row)
        except GradingFailed as failure:
            counts.append(Grade.failed(failure))
            continue
        questions += asked
        counts.append(len(asked))
    asking = _ask_once if shared else _ask
    answers = iter(await asking(questions, ctx) if questions else [])
    return [
        count if isinstance(count, Grade) else _grade(spec, [next(answers) for _ in range(count)], read, row)
        for count, row in zip(counts, rows, strict=True)
    ]


async def _ask(questions: Sequence[Question], ctx: Context) -> list[Judgement | NotGraded]:
    return await ctx.judge.ask(questions, ctx.budget)


async def _ask_once(questions: Sequence[Question], ctx: Context) -> list[Judgement | NotGraded]:
    """Equal questions are asked once, and paid by the first; each reads the answer in its own way."""
    firsts: dict[Any, int] = {}
    keys = [
        (question.model, question.repeat, jsontext.encode(question.identity or question.messages))
        for question in questions
    ]
    for index, key in enumerate(keys):
        firsts.setdefault(key, index)
    replies = dict(zip(firsts, await _ask([questions[index] for index in firsts.values()], ctx), strict=True))
    answers: list[Judgement | NotGraded] = []
    for index, (question, key) in enumerate(zip(questions, keys, strict=True)):
        answer = replies[key]
        if index != firsts[key] and isinstance(answer, Judgement):
            value = answer.value if answer.failure is not None else question.shape.read(answer.value)
            cost = None if answer.cost is None else 0.0
            answer = replace(answer, value=value, usage=NO_USAGE, cost=cost, attempts=0)
        answers.append(answer)
    return answers


def fenced(
    spec: JudgeGrader, render: Callable[[Fence | None], list[dict[str, Any]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    """The messages, with a fence where the grader has a guard, and what is the same about them every time."""
    messages = render(None)
    return (render(Fence()), [{"guard": True}, *messages]) if spec.guard else (messages, None)


def questions_of(
    spec: PanelGrader, shape: Shape, row: Row, render: Callable[[Row, Fence | None], list[dict[str, Any]]]
) -> list[Question]:
    """One question about a row, to every judge, as often as each is asked. Raises GradingFailed."""
    messages, identity = fenced(spec, lambda fence: render(row, fence))

    def quoted() -> list[str]:
        return spec.quoted(row)

    sampling = spec.sampling
    return [
        Question(model, messages, shape, sampling, repeat, identity, quoted, bool(spec.logprobs))
        for model in (spec.model, *spec.panel)
        for repeat in range(spec.n)
    ]


def _grade(
    spec: PanelGrader, answers: list[Judgement | NotGraded], read: Callable[[Mapping[str, Any]], Reading], row: Row
) -> Grade:
    if not answers:  # there was nothing to ask
        return Grade(0.0)
    judgements = tuple(answer for answer in answers if isinstance(answer, Judgement))
    seconds = max((judgement.latency_s for judgement in judgements), default=0.0)
    if spec.logprobs:
        judgements = tuple(_weighed(spec, judgement, row) for judgement in judgements)
    readings: list[Reading] = []
    speakers: list[str] = []
    for judgement in judgements:
        if judgement.warning:
            row.warn(judgement.warning)
        if judgement.failure is None:
            reading = read(judgement.value)
            if judgement.weighed is not None and reading.left_out is None:
                reading = reading._replace(reward=judgement.weighed.expected)
            readings.append(reading)
            speakers.append(judgement.model)
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
    reward = _combined(combine, rewards)
    spread = _spread(combine, rewards, readings, len(answers)) | _sides(spec, reward, readings, speakers)
    return Grade(reward, judgements=judgements, seconds=seconds, spread=spread)


def _weighed(spec: PanelGrader, judgement: Judgement, row: Row) -> Judgement:
    """The judgement with the expectation over what it could have been; where that is unclear, as it is."""
    if judgement.failure is not None:
        return judgement
    try:
        return replace(judgement, weighed=weigh(judgement.listed, spec.worth))
    except Unclear as why:
        row.warn(f"logprobs_unclear: {why}; the verdict counts as it is.")
        return judgement


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


def _spread(combine: str, rewards: list[float], readings: list[Reading], asked: int) -> dict[str, Any]:
    verdicts = [reading.verdict for reading in readings]
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


def _sides(spec: PanelGrader, reward: float, readings: list[Reading], speakers: list[str]) -> dict[str, Any]:
    """Who said what, whether they were of one mind, and who was not of the panel's.

    Labels are of one mind where they are the same. Numbers hardly ever are: theirs are, where all pass the row or all
    fail it.
    """

    threshold = reward if spec.threshold is None else spec.threshold
    sides: list[Any] = [
        reading.verdict if isinstance(reading.verdict, str) else reading.reward >= threshold for reading in readings
    ]
    prevailing: Any = reward >= threshold
    if isinstance(readings[0].verdict, str):
        # Of labels given equally often the worst one, as for a majority.
        worth = {label: reading.reward for label, reading in zip(sides, readings, strict=True)}
        prevailing = max(worth, key=lambda label: (sides.count(label), -worth[label]))
    differs = [side != prevailing for side in sides]
    return {
        "models": speakers,
        "differs": differs,
        "split": len(set(sides)) > 1,
        "dissent": list(dict.fromkeys(compress(speakers, differs))),
    }


def steps_of(value: Mapping[str, Any]) -> list[dict[str, str]]:
    """The reasoning steps, whatever a model made of them: they explain a verdict and never spoil it."""
    listed = value.get("steps")
    steps: list[dict[str, str]] = []
    for step in listed if isinstance(listed, list) else []:
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
