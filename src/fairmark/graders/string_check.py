"""string_check: compare two texts. The reward is 1.0 or 0.0."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from fairmark.context import Context
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template


def _canonical(operation: Any) -> Any:
    """The guide's prose says neq where its schema says ne."""
    return "ne" if operation == "neq" else operation


class StringCheck(GraderSpec):
    """Compare two texts; the reward is 1 or 0."""

    is_quick = True

    type: Literal["string_check"]
    input: Template
    reference: Template
    operation: Annotated[Literal["eq", "ne", "like", "ilike"], BeforeValidator(_canonical)]

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """A check passes when it holds; a pass_threshold has nothing to add."""
        return 1.0


COMPARE: dict[str, Callable[[str, str], bool]] = {
    "eq": lambda text, reference: text == reference,
    "ne": lambda text, reference: text != reference,
    # "Contains", not SQL's LIKE: % and _ are ordinary characters.
    "like": lambda text, reference: reference in text,
    # casefold, not lower: "STRASSE" has to match "straße".
    "ilike": lambda text, reference: reference.casefold() in text.casefold(),
}

_HOLDS, _DOES_NOT = Grade(1.0), Grade(0.0)


def grade(spec: StringCheck, row: Row, ctx: Context) -> Grade:
    holds = COMPARE[spec.operation](spec.input.render(row), spec.reference.render(row))
    return _HOLDS if holds else _DOES_NOT
