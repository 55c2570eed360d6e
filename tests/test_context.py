"""A context hands itself on to the graders inside a grader."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fairmark.context import Context
from fairmark.parse import parse
from fairmark.result import Grade, Result
from fairmark.row import Row
from fairmark.spec import GraderSpec

CHECK = parse({"type": "string_check", "input": "a", "reference": "a", "operation": "eq"})


def test_children_are_graded_by_whoever_grades_and_in_the_same_context() -> None:
    asked: list[Any] = []

    async def grade_children(
        children: Mapping[str, GraderSpec], rows: Sequence[Row], ctx: Context
    ) -> dict[str, list[Result]]:
        asked.append((dict(children), list(rows), ctx))
        return {key: [Result(spec, Grade(0.5), 0.0) for _ in rows] for key, spec in children.items()}

    nothing = cast("Any", None)
    ctx = Context(grade_children, nothing, nothing, nothing, owner="me")
    results = asyncio.run(ctx.grade({"a": CHECK}, [nothing, nothing]))
    assert [result.reward for result in results["a"]] == [0.5, 0.5]
    assert asked == [({"a": CHECK}, [None, None], ctx)]
