"""function: an `async def grade(thread)` as in Adaptive ML, run in the sandbox with the standard library alone."""

import ast
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from fairmark.context import Context
from fairmark.errors import InvalidGrader
from fairmark.graders import code
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.sandbox import look
from fairmark.sandbox.callables import source_of
from fairmark.spec import GraderSpec
from fairmark.text.thread import Thread, thread_of

MAX_SOURCE_BYTES = 65_536
TEST_THREAD = Thread([("user", "What is 2+2?"), ("assistant", "4")], {})


class Check(NamedTuple):
    """One of the checks a function passes before it is accepted, in their order."""

    name: str
    passed: bool
    message: str = ""


class CheckFailed(Exception):
    """A check did not pass; its name and message."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.check = Check(name, False, message)


def static_checks(source: str) -> Iterator[Check]:
    """size, syntax, structure, signature: what can be known without running anything. Raises CheckFailed."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        raise CheckFailed("size", f"the source has {size} bytes; at most {MAX_SOURCE_BYTES} are allowed")
    yield Check("size", True)
    try:
        tree = look.check(source)
    except SyntaxError as error:
        raise CheckFailed("syntax", f"line {error.lineno}: {error.msg}") from None
    yield Check("syntax", True)
    grade = look.last_function(tree, "grade")
    if not isinstance(grade, ast.AsyncFunctionDef):
        hint = f" (line {grade.lineno} has a sync def)" if grade else ""
        raise CheckFailed("structure", f"no top-level async def grade{hint}")
    yield Check("structure", True)
    arguments = grade.args
    positional = arguments.posonlyargs + arguments.args
    others = [*arguments.kwonlyargs, *filter(None, [arguments.vararg, arguments.kwarg])]
    if len(positional) != 1 or others:
        taken = look.parameters(arguments)
        raise CheckFailed("signature", f"line {grade.lineno}: grade takes {taken}; it must take exactly one parameter")
    yield Check("signature", True)


def annotation_warnings(source: str) -> list[str]:
    """What the annotations of `grade` lack. They are documentation only."""
    try:
        grade = look.last_function(look.parse(source), "grade")
    except SyntaxError:
        return []
    if not isinstance(grade, ast.AsyncFunctionDef):
        return []
    warnings = [
        f"parameter {argument.arg} is not annotated as StringThread"
        for argument in grade.args.posonlyargs + grade.args.args
        if not _is_named(argument.annotation, "StringThread")
    ]
    if not _is_named(grade.returns, "float"):
        warnings.append("the return value is not annotated as float")
    return warnings


def _is_named(annotation: ast.expr | None, name: str) -> bool:
    match annotation:
        case ast.Name(id=text) | ast.Attribute(attr=text) | ast.Constant(value=str(text)):
            return text.rpartition(".")[2] == name
        case _:
            return False


def check_source(source: str) -> str:
    try:
        for _ in static_checks(source):
            pass
    except CheckFailed as failure:
        raise InvalidGrader.at("", f"{failure}.") from None
    return source


def _text(source: Any) -> Any:
    """In Python the source may be the function itself."""
    return source_of(source)[0] if callable(source) else source


class Function(GraderSpec):
    """Run an async Python function of a conversation in the sandbox; the reward is what it returns."""

    type: Literal["function"]
    source: Annotated[str, Field(strict=True), AfterValidator(check_source), BeforeValidator(_text)]
    description: str | None = None

    @property
    def code(self) -> tuple[str, str | None]:
        return self.source, None

    def remarks(self) -> Iterator[str]:
        yield from (f"$.source: {text}." for text in annotation_warnings(self.source))


async def grade_many(spec: Function, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    return await code.grade_by_code(ctx, spec.source, "function", None, rows, list(map(thread_of, rows)))
