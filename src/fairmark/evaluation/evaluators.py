"""What may stand in `evaluators`: graders in all their shapes, and callables of the user."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import EvaluationFailed, InvalidGrader
from fairmark.registry.specify import specify
from fairmark.spec import GraderSpec

PYTHON = "python"


class BrokenSource(NamedTuple):
    """A python grader whose source can never run. Azure takes it and gives every row the score 0, and so do we."""

    error: str


Grader = GraderSpec | BrokenSource


def split(evaluators: Any) -> tuple[dict[str, Grader], dict[str, Callable[..., Any]]]:
    """The graders and the callables by their labels, or EvaluationFailed for the first that is neither."""
    if not isinstance(evaluators, Mapping) or not evaluators:
        shown = "an empty one" if isinstance(evaluators, Mapping) else jsontext.describe(evaluators)
        raise EvaluationFailed(f"evaluators: expected a dict of labels with graders or callables, found {shown}.")
    graders: dict[str, Grader] = {}
    callables: dict[str, Callable[..., Any]] = {}
    for label, evaluator in evaluators.items():
        where = f"evaluators[{jsontext.quote(str(label))}]"
        if not isinstance(label, str):
            raise EvaluationFailed(f"{where}: a label is a string, found {jsontext.describe(label)}.")
        config = config_of(evaluator)
        if config is not None:
            try:
                graders[label] = read(config)
            except InvalidGrader as error:
                raise EvaluationFailed("\n".join(f"{where}: {problem}" for problem in error.problems)) from error
        elif callable(evaluator):
            callables[label] = evaluator
        else:
            raise EvaluationFailed(f"{where}: expected a grader or a callable, found {jsontext.describe(evaluator)}.")
    return graders, callables


def config_of(evaluator: Any) -> Any:
    """The grader JSON behind an evaluator: itself, what one of Azure's classes wraps, or an SDK's model object.

    None for what is no grader.
    """
    if hasattr(evaluator, "_grader_config"):
        evaluator = evaluator._grader_config  # noqa: SLF001  # where Azure's classes keep it; nothing public does
    elif callable(evaluator):
        return None
    if isinstance(evaluator, (GraderSpec, Mapping, str, bytes)):
        return evaluator
    return evaluator.model_dump(by_alias=True, exclude_unset=True) if hasattr(evaluator, "model_dump") else None


def read(config: Any) -> Grader:
    """The spec of a grader. Raises InvalidGrader, but not for the text of a source."""
    try:
        return specify(config)
    except InvalidGrader as error:
        of_source = all((problem.path, problem.code) == ("$.source", "invalid_value") for problem in error.problems)
        if of_source and isinstance(config, Mapping) and config["type"] == PYTHON:
            return BrokenSource(str(error))
        raise
