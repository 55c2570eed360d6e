"""python: the user's own `grade(sample, item)`, run in the sandbox. The reward is what it returns."""

import ast
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from fairmark.context import Context
from fairmark.errors import InvalidGrader
from fairmark.graders import code
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.sandbox import look
from fairmark.sandbox.catalogue import DEFAULT_TAG
from fairmark.spec import GraderSpec

MAX_SOURCE_BYTES = 256_000
DEFAULT_THRESHOLD = 0.5
_SAMPLE_TEXT = "output_text"


def check_source(source: str) -> str:
    """The source, if it defines `grade` as it must. Nothing of it is run."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size >= MAX_SOURCE_BYTES:
        raise InvalidGrader.at("", f"it has {size} bytes. It must have less than {MAX_SOURCE_BYTES}.")
    try:
        tree = look.check(look.dedent(source))
    except SyntaxError as error:
        raise InvalidGrader.at("", f"line {error.lineno}: not Python: {error.msg}.") from None
    grade = look.last_function(tree, "grade")
    if grade is None:
        raise InvalidGrader.at("", f"it defines no function grade at its top level. {_MUST}")
    if isinstance(grade, ast.AsyncFunctionDef):
        raise InvalidGrader.at("", f"line {grade.lineno}: grade is async. {_MUST}")
    if not _takes_two(grade.args):
        taken = look.parameters(grade.args)
        raise InvalidGrader.at("", f"line {grade.lineno}: grade takes {taken}. {_MUST}")
    return source


_MUST = "It must be: def grade(sample, item)."


def _takes_two(arguments: ast.arguments) -> bool:
    """Exactly two positional parameters; keyword-only ones would never be given."""
    positional = arguments.posonlyargs + arguments.args
    return len(positional) == 2 and not arguments.vararg and not arguments.kwonlyargs


class Python(GraderSpec):
    """Run a Python function of your own in the sandbox; the reward is what it returns."""

    type: Literal["python"]
    source: Annotated[str, Field(strict=True), AfterValidator(check_source)]
    image_tag: str | None = None

    @property
    def code(self) -> tuple[str, str | None]:
        return look.dedent(self.source), DEFAULT_TAG

    @property
    def threshold(self) -> float:
        return DEFAULT_THRESHOLD if self.pass_threshold is None else self.pass_threshold


async def grade_many(spec: Python, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    if _SAMPLE_TEXT in spec.source:
        for row in rows:
            if row.sample.is_absent:
                row.warn_of_no_sample()
    arguments = [(row.sample.members, row.item_to_send) for row in rows]
    source, image = spec.code
    return await code.grade_by_code(ctx, source, "python", image, rows, arguments)
