"""What a grader compares with must be there: trainers and data sets hand over null for a column that a row lacks, and
the text `null` as the reference would make a right answer a bad one, and "null" a good one."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.row import UnmadeSample
from fairmark.spec import GraderSpec
from fairmark.text.template import Variable


def needed(spec: GraderSpec) -> tuple[Variable, ...]:
    """What the texts of a grader, and of those inside it, fill in of an item. What judges are asked may lack a part."""
    own = [variable for template in spec.own_templates for variable in template.variables]
    inside = [variable for child in spec.children.values() for variable in needed(child)]
    return tuple(dict.fromkeys([*(variable for variable in own if variable.namespace == "item"), *inside]))


def complete(row: dict[str, Any], needs: Sequence[Variable]) -> dict[str, Any]:
    """The row, or one that cannot be graded and says what it lacks."""
    for variable in needs:
        if _is_null(row["item"], variable):
            return {**row, "sample": UnmadeSample(f"{variable}: it is null in this row, and cannot be compared with.")}
    return row


def _is_null(value: Any, variable: Variable) -> bool:
    for step in variable.steps:
        if not isinstance(value, (dict, Mapping)) or step not in value:
            return False  # whoever fills it in says what is wrong
        value = value[step]
    return value is None or (type(value) is not str and jsontext.is_missing(value))
