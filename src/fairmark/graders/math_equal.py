"""math_equal: whether two mathematical expressions mean the same, by sympy in the sandbox. The reward is 1.0 or 0.0."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader
from fairmark.graders import code
from fairmark.graders.compared import Tolerance
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.sandbox.catalogue import DEFAULT_TAG
from fairmark.spec import GraderSpec, Number
from fairmark.text.template import Template


def _seconds(value: float) -> float:
    if not 0 < value <= 600:
        raise InvalidGrader.at("", f"found {value:g}. It takes seconds, above 0 and up to 600.")
    return value


class MathEqual(GraderSpec):
    """Find out whether a formula or number means the same as the expected one; the reward is 1 or 0."""

    type: Literal["math_equal"]
    input: Template
    reference: Template
    tolerance: Tolerance = 1e-6
    timeout_s: Annotated[Number, AfterValidator(_seconds)] = 10.0

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """It passes when it holds; a pass_threshold has nothing to add."""
        return 1.0

    @property
    def code(self) -> tuple[str, str | None]:
        return _source(), DEFAULT_TAG


@cache
def _source() -> str:
    return (Path(__file__).with_name("programs") / "mathematics.py").read_text()


async def grade_many(spec: MathEqual, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    grades: list[Grade | None] = [None] * len(rows)
    arguments: list[Sequence[object]] = []
    for index, row in enumerate(rows):
        try:
            text, reference = spec.input.render(row), spec.reference.render(row)
            if not reference.strip():
                raise GradingFailed("reference: expected a formula or a number, found nothing.")
            arguments.append((text, {"reference": reference, "tolerance": spec.tolerance}))
        except GradingFailed as failure:
            grades[index] = Grade.failed(failure)
    policy = ctx.sandbox.policy
    program = code.program(_source(), "python", DEFAULT_TAG, policy, ctx.owner)
    limits = replace(program.limits, wall_s=min(program.limits.wall_s, spec.timeout_s))
    # Nothing of a row is executed, so that rows may share a process although sympy is in the source.
    program = replace(program, limits=limits, strict=policy.isolation == "per_grade")
    outcomes = iter(await ctx.sandbox.run(program, arguments, ctx.patience))
    readable = iter(arguments)
    for index, row in enumerate(rows):
        if policy.warning is not None:
            row.warn(policy.warning)
        if grades[index] is None:
            grades[index] = _read(code.grade_of(next(outcomes), program), next(readable))
    return [grade for grade in grades if grade is not None]


def _read(grade: Grade, argument: Sequence[object]) -> Grade:
    """The program says -1 where the expected one cannot be read: that is no wrong answer."""
    if grade.error is None and grade.reward < 0:
        reference = argument[1]["reference"] if isinstance(argument[1], dict) else ""
        why = (grade.printed or "").strip()
        return Grade.failed(GradingFailed(f"reference: {why}. It is: {jsontext.quote(str(reference))}."))
    return grade
