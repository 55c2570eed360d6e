"""For authors of kinds in packages of their own: all the names that a kind needs. docs/plugins.md walks through one."""

from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, NotGraded, Problem
from fairmark.graders import Kind
from fairmark.result import Grade, Result
from fairmark.row import Row
from fairmark.spec import GraderSpec, Number
from fairmark.text.compiled import CompiledText
from fairmark.text.template import Template

__all__ = [
    "CompiledText",
    "Context",
    "Grade",
    "GraderSpec",
    "GradingFailed",
    "InvalidGrader",
    "Kind",
    "NotGraded",
    "Number",
    "Problem",
    "Result",
    "Row",
    "Template",
]
