"""Testing criteria: graders as an eval has them, each with an id, and what their results mean for a row."""

import re
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from fairmark import jsontext, references
from fairmark.errors import InvalidGrader, Problem
from fairmark.graders import find, grades_by_itself
from fairmark.graders.python import MAX_SOURCE_BYTES
from fairmark.judgement import Judgement, total_cost
from fairmark.parse import aparse, parse
from fairmark.result import Result
from fairmark.spec import GraderSpec

Expand = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Replaces the references in a grader's JSON. Raises InvalidGrader."""
Outcome = Literal["pass", "fail", "error", "skip"]

_PLACEHOLDER = re.compile(r"[<>{}\[\]\s]|^your[-_]|^(placeholder|model|todo)$", re.IGNORECASE)
"""What people write where a model's name is to come."""
DEFAULT_THRESHOLD = 0.5
"""Of kinds that have none of their own, such as multi: an eval has to say pass or fail."""


class Criterion(NamedTuple):
    """One criterion. Without a spec it cannot grade, and `broken` says why: every row then fails with score 0."""

    id: str
    name: str
    type: str
    spec: GraderSpec | None
    broken: str | None = None

    @property
    def wire_type(self) -> str:
        return f"{self.type.replace('_', '-')}-grader"

    def outcome(self, result: Result) -> Outcome:
        if result.skipped is not None:
            return "skip"
        if result.error is not None:
            return "error"  # the grader's own code too: what it raised is no answer about the sample
        return "pass" if self.passes(result) else "fail"

    def passes(self, result: Result) -> bool:
        if result.error is not None or result.skipped is not None:
            return False
        return result.reward >= DEFAULT_THRESHOLD if result.passed is None else result.passed

    def wire(self, result: Result) -> dict[str, Any]:
        """An entry of an output item's `results`. Every row has the same keys: clients make columns of them."""
        return {
            "name": self.id,
            "type": self.wire_type,
            "score": result.reward,
            "passed": self.passes(result),
            "sample": _judge_sample(result.judgements),
            "judgements": _several(result.judgements),
            "spread": result.spread,
            "status": _status(self.outcome(result)),
            "error": result.error or result.skipped,
            "warnings": list(result.warnings),
            "sub_rewards": result.sub_rewards,
            "printed": result.printed,
            **self._registered(),
        }

    def failed(self, error: str, outcome: Outcome) -> dict[str, Any]:
        """The same for a row that was not graded."""
        return {
            "name": self.id,
            "type": self.wire_type,
            "score": 0.0,
            "passed": False,
            "sample": None,
            "judgements": [],
            "spread": None,
            "status": _status(outcome),
            "error": error,
            "warnings": [],
            "sub_rewards": {},
            "printed": None,
            **self._registered(),
        }

    def _registered(self) -> dict[str, Any]:
        """Which versions of registered graders this is made of."""
        registered = self.spec.registered if self.spec is not None else []
        return {"registered": registered} if registered else {}


def _status(outcome: Outcome) -> str:
    return {"error": "error", "skip": "skipped"}.get(outcome, "graded")


async def new_criteria(graders: Any, expand: Expand) -> list[dict[str, Any]]:
    """The criteria of a new eval as they are stored and shown: normalised, each with its id; references stay such.

    Raises InvalidGrader with paths below `testing_criteria`. Python source that does not compile is taken, as the
    hosted service takes it: its rows fail.
    """
    if not isinstance(graders, list):
        raise InvalidGrader.at("", f"found {jsontext.describe(graders)}. It takes a list of graders.", "invalid_type")
    if not graders:
        raise InvalidGrader.at("", "found an empty list. It takes at least one grader.")
    shown = await _each(graders, partial(_echo, expand))
    return [{**grader, "id": f"{grader['name']}-{uuid.uuid4()}"} for grader in shown]


async def _each(graders: Sequence[Any], work: Callable[[Any], Awaitable[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What `work` gives for each of them. Raises InvalidGrader with the problems of all, each with its place."""
    problems: list[Problem] = []
    done: list[dict[str, Any]] = []
    for index, grader in enumerate(graders):
        try:
            done.append(await work(grader))
        except InvalidGrader as error:
            problems += [
                problem._replace(path=f"[{index}]{problem.path.removeprefix('$')}") for problem in error.problems
            ]
    if problems:
        raise InvalidGrader(problems)
    return done


async def _echo(expand: Expand, grader: Any) -> dict[str, Any]:
    if isinstance(grader, dict):
        grader = {key: value for key, value in grader.items() if key not in ("id", references.NOTE)}
    try:
        spec = await aparse(await expand(grader) if isinstance(grader, dict) else grader)
    except InvalidGrader as error:
        if not _only_source_is_wrong(grader, error):
            raise
        return {**grader, "name": grader.get("name") or grader["type"]}
    _check_usable(spec)
    return {**grader, "name": spec.name} if spec.registered else spec.echo()


def _check_usable(spec: GraderSpec) -> None:
    """What a criterion needs beyond what any grader does. Raises InvalidGrader."""
    if find(spec.type).needs_threshold and spec.pass_threshold is None:
        message = f"missing. As a criterion of an eval a {spec.type} grader needs it: a number."
        raise InvalidGrader.at("$.pass_threshold", message, "missing_required_parameter")
    if not grades_by_itself(spec):
        message = "a custom grader cannot be a criterion: its scores are computed elsewhere and pushed in."
        raise InvalidGrader.at("$.type", message)


def _only_source_is_wrong(grader: Any, error: InvalidGrader) -> bool:
    return (
        isinstance(grader, dict)
        and grader.get("type") == "python"
        and isinstance(grader.get("source"), str)
        and len(grader["source"]) < MAX_SOURCE_BYTES
        and all(problem.path == "$.source" for problem in error.problems)
    )


async def pinned_criteria(stored: Sequence[dict[str, Any]], expand: Expand) -> list[dict[str, Any]] | None:
    """The criteria with what their references lead to now; None where there are no references.

    A run keeps them: whatever becomes of the graders later, all its rows are graded by the same ones. Raises
    InvalidGrader where a grader is gone, or has become one that no run can use, since the eval was created.
    """
    if not any(map(references.may_hold, stored)):
        return None
    return await _each(stored, partial(_pin, expand))


async def _pin(expand: Expand, grader: dict[str, Any]) -> dict[str, Any]:
    if not references.may_hold(grader):
        return grader
    expanded = await expand(grader)
    _check_usable(await aparse({key: value for key, value in expanded.items() if key != "id"}))
    return expanded


def load_criteria(stored: Sequence[dict[str, Any]]) -> list[Criterion]:
    """The criteria of an eval, ready to grade."""
    criteria = []
    for entry in stored:
        grader = grader_of(entry)
        try:
            criteria.append(Criterion(entry["id"], grader["name"], grader["type"], parse(grader)))
        except InvalidGrader as error:
            criteria.append(Criterion(entry["id"], grader["name"], grader["type"], None, str(error)))
    return criteria


def grader_of(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """The grader that a stored criterion is: without its id, and what was noted of one that cannot run."""
    notes = ("id", "runnable", "reason") if criterion.get("runnable") is False else ("id",)
    return {key: value for key, value in criterion.items() if key not in notes}


def unrunnable(stored: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """Which criteria of an eval from elsewhere cannot grade here, and why."""
    return [
        Problem(f"[{index}]", f"{jsontext.quote(str(criterion['name']))} cannot grade here: {criterion['reason']}")
        for index, criterion in enumerate(stored)
        if criterion.get("runnable") is False
    ]


async def why_unrunnable(grader: Mapping[str, Any], expand: Expand) -> str | None:
    """Why a criterion that was made elsewhere cannot grade here; None where it can."""
    try:
        spec = await aparse(await expand(dict(grader)))
        _check_usable(spec)
    except InvalidGrader as error:
        return str(error)
    for model in all_models(spec):
        if _PLACEHOLDER.search(model):
            return f"the model {jsontext.quote(model)} is a placeholder. Name a model."
    return None


def all_models(spec: GraderSpec) -> set[str]:
    """The names of the models that a grader asks, and those inside it."""
    return set(spec.models.values()).union(*(all_models(child) for child in spec.children.values()))


def row_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """A row's status: an error weighs most, then what was left out; it passes only where every criterion does."""
    for worst in ("error", "skip", "fail"):
        if worst in outcomes:
            return worst
    return "pass"


def broken_result(criterion: Criterion) -> dict[str, Any]:
    return criterion.failed(criterion.broken or "", "fail")


def _judge_sample(judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    """The judge's side of a result, in the form that public notebooks read: `output[0].content` is its raw answer."""
    said = _spokesman(judgements)
    if said is None:
        return None
    sampling = said.sampling
    failure = said.failure
    return {
        "input": _flattened(said.messages),
        "output": [{"role": "assistant", "content": said.output}] if said.output else [],
        "finish_reason": said.finish_reason or "",
        "model": said.name,
        "usage": said.usage.dump(),
        "cost": total_cost(judgements),
        "latency": round(said.latency_s, 4),
        "error": None if failure is None else {"code": failure.flag, "message": str(failure)},
        "seed": sampling.get("seed"),
        "temperature": sampling.get("temperature", 1.0),
        "top_p": sampling.get("top_p", 1.0),
        "reasoning_effort": sampling.get("reasoning_effort"),
        "max_completions_tokens": sampling.get("max_completions_tokens", 4096),
    }


def _spokesman(judgements: Sequence[Judgement]) -> Judgement | None:
    """The one whose words stand for all: the first that answered. None where nobody was asked in words."""
    if not judgements or not judgements[0].messages:
        return None
    return next((judgement for judgement in judgements if judgement.failure is None), judgements[0])


def _several(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """What each of several judges said; none where one alone was asked, of whom `sample` tells all.

    Most are asked the same: only where it differs from what `sample` shows, the question is told once more.
    """
    spokesman = _spokesman(judgements)
    if spokesman is None or len(judgements) < 2:
        return []
    return [
        {
            "model": judgement.name,
            "result": judgement.value.get("result"),
            **({} if judgement.messages == spokesman.messages else {"input": _flattened(judgement.messages)}),
            "output": judgement.output,
            "finish_reason": judgement.finish_reason or "",
            "usage": judgement.usage.dump(),
            "cost": judgement.cost,
            "latency": round(judgement.latency_s, 4),
            "cached": judgement.attempts == 0 and judgement.failure is None,
            "error": None if judgement.failure is None else str(judgement.failure),
        }
        for judgement in judgements
    ]


def _flattened(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"role": message["role"], "content": flat(message["content"])} for message in messages]


def flat(content: Any) -> str:
    """A message's content as one text, as OpenAI's service stores it: an image is its address in a tag."""
    if isinstance(content, str):
        return content
    parts = []
    for part in content if isinstance(content, list) else [content]:
        match part:
            case str():
                parts.append(part)
            case {"text": str() as text}:
                parts.append(text)
            case {"image_url": {"url": str() as url}} | {"image_url": str() as url}:
                parts.append(f"<image>{url}</image>")
            case {"input_audio": _}:
                parts.append("<audio></audio>")
    return "".join(parts)
