"""The paths of a grader's templates, `{{ item.answer }}`: looked up in every row before anything is graded."""

from collections.abc import Iterator
from typing import Any

from fairmark.errors import GradingFailed, Problem
from fairmark.row import Row, read_sample
from fairmark.spec import GraderSpec
from fairmark.text.messages import Messages
from fairmark.text.template import Template, Variable

SAMPLE_FIELDS = ("output_text", "output_json", "output_tools", "output_audio", "choices")
"""What a sample has while a model is trained."""


def variables(spec: GraderSpec) -> list[Variable]:
    """Those of a grader and of the graders inside it, each path once."""
    by_path = {(variable.namespace, variable.steps): variable for _, variable in _placed("$", spec)}
    return list(by_path.values())


def unknown_sample_paths(spec: GraderSpec) -> Iterator[Problem]:
    """What is asked of samples that none will have, whatever a model says."""
    for path, variable in _placed("$", spec):
        if variable.namespace == "sample" and variable.steps and variable.steps[0] not in SAMPLE_FIELDS:
            fields = ", ".join(SAMPLE_FIELDS)
            yield Problem(path, f"{variable}: no sample has this field. A sample has: {fields}.", "invalid_variable")


def missing_in(item: dict[str, Any], asked: list[Variable]) -> Iterator[tuple[str, str]]:
    """What a row lacks of the paths below `item`: each with why, in words."""
    row = Row(item, read_sample(None))
    for variable in asked:
        if variable.namespace == "item":
            try:
                variable.value(row)
            except GradingFailed as failure:
                yield str(variable), str(failure)


def _placed(path: str, spec: GraderSpec) -> Iterator[tuple[str, Variable]]:
    """Every variable with the field that it stands in."""
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        templates = [value] if isinstance(value, Template) else value.templates if isinstance(value, Messages) else []
        for template in templates:
            yield from ((f"{path}.{name}", variable) for variable in template.variables)
    for key, child in spec.children.items():
        yield from _placed(f"{path}.graders.{key}", child)
