"""Testing criteria: graders as an eval has them, each with an id, and what their results mean for a row."""

import uuid
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidGrader, Problem
from fairmark.graders.python import MAX_SOURCE_BYTES
from fairmark.judgement import Judgement
from fairmark.parse import parse
from fairmark.result import Result
from fairmark.spec import GraderSpec

Outcome = Literal["pass", "fail", "error", "skip"]

DEFAULT_THRESHOLD = 0.5
"""Of kinds that have none of their own, such as multi: an eval has to say pass or fail."""
# A failure of the grader's own code is its answer, score 0; everything else that fails is an error.
_ANSWERS = frozenset({"python_grader_runtime_error", "python_grader_runtime_error_details"})


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
            return "fail" if result.grade.flags and _ANSWERS.issuperset(result.grade.flags) else "error"
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
        }


def _status(outcome: Outcome) -> str:
    return {"error": "error", "skip": "skipped"}.get(outcome, "graded")


def new_criteria(given: Any) -> list[dict[str, Any]]:
    """The criteria of a new eval as they are stored and shown: normalised, each with its id.

    Raises InvalidGrader with paths below `testing_criteria`. Python source that does not compile is taken, as the
    hosted service takes it: its rows fail.
    """
    if not isinstance(given, list):
        raise InvalidGrader.at("", f"found {jsontext.describe(given)}. It takes a list of graders.", "invalid_type")
    if not given:
        raise InvalidGrader.at("", "found an empty list. It takes at least one grader.")
    problems: list[Problem] = []
    stored: list[dict[str, Any]] = []
    for index, grader in enumerate(given):
        try:
            shown = _echo(grader)
        except InvalidGrader as error:
            problems += [
                problem._replace(path=f"[{index}]{problem.path.removeprefix('$')}") for problem in error.problems
            ]
            continue
        stored.append({**shown, "id": f"{shown['name']}-{uuid.uuid4()}"})
    if problems:
        raise InvalidGrader(problems)
    return stored


def _echo(grader: Any) -> dict[str, Any]:
    if isinstance(grader, dict):
        grader = {key: value for key, value in grader.items() if key != "id"}
    try:
        spec = parse(grader)
    except InvalidGrader as error:
        if not _only_source_is_wrong(grader, error):
            raise
        return {**grader, "name": grader.get("name") or grader["type"]}
    if spec.type == "text_similarity" and spec.pass_threshold is None:
        message = "missing. As a criterion of an eval a text_similarity grader needs it: a number."
        raise InvalidGrader.at("$.pass_threshold", message, "missing_required_parameter")
    return spec.echo()


def _only_source_is_wrong(grader: Any, error: InvalidGrader) -> bool:
    return (
        isinstance(grader, dict)
        and grader.get("type") == "python"
        and isinstance(grader.get("source"), str)
        and len(grader["source"]) < MAX_SOURCE_BYTES
        and all(problem.path == "$.source" for problem in error.problems)
    )


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
