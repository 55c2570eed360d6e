"""What a judge thought, whatever it wrote down."""

from typing import Any

import pytest

from fairmark.web.frame.reasoning import ReasoningStep, steps_in


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        ({"steps": [{"description": "Read.", "conclusion": "Right."}]}, [ReasoningStep("Read.", "Right.")]),
        (
            {"steps": [{"description": "Read."}, {"conclusion": None}]},
            [ReasoningStep("Read.", ""), ReasoningStep("", "")],
        ),
        ({"claims": ["It was in 1990."]}, []),
        ({"steps": None}, []),
        ({"steps": "first I read"}, []),
        ({"steps": ["first I read", 5, None]}, []),
        ({}, []),
    ],
)
def test_steps_are_what_can_be_read_of_them(answer: dict[str, Any], steps: list[ReasoningStep]) -> None:
    assert steps_in(answer) == steps
