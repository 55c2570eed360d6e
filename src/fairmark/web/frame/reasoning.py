"""What a judge thought on its way to a verdict. A model wrote it: any part may be missing, or of another type."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ReasoningStep(NamedTuple):
    description: str
    conclusion: str


def steps_in(answer: Mapping[str, Any]) -> list[ReasoningStep]:
    """The steps of a structured answer; none where it has none that can be read."""
    steps = answer.get("steps")
    return [
        ReasoningStep(str(step.get("description") or ""), str(step.get("conclusion") or ""))
        for step in (steps if isinstance(steps, list) else [])
        if isinstance(step, Mapping)
    ]
