"""custom: a name under which somebody else's scores are kept. It never grades by itself."""

from typing import Literal

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec


class Custom(GraderSpec):
    """Keep a place for scores that you compute yourself and push in; it does not grade."""

    type: Literal["custom"]
    description: str | None = None


def grade(spec: Custom, row: Row, ctx: Context) -> Grade:
    raise GradingFailed(
        f"the custom grader {jsontext.quote(spec.name)} cannot be asked to grade: its scores are computed elsewhere "
        "and pushed in. To have Fairmark compute them, use a python, function or endpoint grader."
    )
