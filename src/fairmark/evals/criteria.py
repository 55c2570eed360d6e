"""Testing criteria: graders as an eval has them, each with an id, and what their results mean for a row."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
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


async def new_criteria(given: Any, expand: Expand) -> list[dict[str, Any]]:
    """The criteria of a new eval as they are stored and shown: normalised, each with its id; references stay such.

    Raises InvalidGrader with paths below `testing_criteria`. Python source that does not compile is taken, as the
    hosted service takes it: its rows fail.
    """
    if not isinstance(given, list):
        raise InvalidGrader.at("", f"found {jsontext.describe(given)}. It takes a list of graders.", "invalid_type")
    if not given:
        raise InvalidGrader.at("", "found an empty list. It takes at least one grader.")
    shown = await _each(given, partial(_echo, expand))
    return [{**each, "id": f"{each['name']}-{uuid.uuid4()}"} for each in shown]


async def _each(given: Sequence[Any], work: Callable[[Any], Awaitable[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What `work` gives for each of them. Raises InvalidGrader with the problems of all, each with its place."""
    problems: list[Problem] = []
    done: list[dict[str, Any]] = []
    for index, grader in enumerate(given):
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
    found = []
    for given in stored:
        grader = {key: value for key, value in given.items() if key != "id"}
        try:
            found.append(Criterion(given["id"], grader["name"], grader["type"], parse(grader)))
        except InvalidGrader as error:
            found.append(Criterion(given["id"], grader["name"], grader["type"], None, str(error)))
    return found


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
    if not judgements or not judgements[0].messages:
        return None
    said = next((each for each in judgements if each.failure is None), judgements[0])
    sampling = said.sampling
    failure = said.failure
    return {
        "input": [{"role": message["role"], "content": flat(message["content"])} for message in said.messages],
        "output": [{"role": "assistant", "content": said.output}] if said.output else [],
        "finish_reason": said.finish_reason or "",
        "model": said.name,
        "usage": said.usage.dump(),
        "cost": total_cost(judgements),
        "error": None if failure is None else {"code": failure.flag, "message": str(failure)},
        "seed": sampling.get("seed"),
        "temperature": sampling.get("temperature", 1.0),
        "top_p": sampling.get("top_p", 1.0),
        "reasoning_effort": sampling.get("reasoning_effort"),
        "max_completions_tokens": sampling.get("max_completions_tokens", 4096),
    }


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
