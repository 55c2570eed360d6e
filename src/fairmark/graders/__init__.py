"""The kinds: the one list in the project. What grades, what validates and what is documented is made from it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairmark.context import Context
from fairmark.graders import function, multi, python, string_check, text_similarity
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec

# The first argument is the kind's own spec; Any, because each kind names its own.
GradeRow = Callable[[Any, Row, Context], Grade]
GradeRowWaiting = Callable[[Any, Row, Context], Awaitable[Grade]]
GradeRows = Callable[[Any, Sequence[Row], Context], Awaitable[list[Grade]]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of grader: its spec and exactly one function that grades.

    `pure` computes a row's grade from the row alone. `waiting` may await something outside, such as a model.
    `batch` takes many rows at once, for kinds where that pays: up to `rows_at_once`; with `waits` False it awaits only
    its children.
    """

    spec: type[GraderSpec]
    pure: GradeRow | None = None
    waiting: GradeRowWaiting | None = None
    batch: GradeRows | None = None
    waits: bool = False
    rows_at_once: int = 1

    @property
    def summary(self) -> str:
        return (self.spec.__doc__ or "").strip().split("\n")[0]


KINDS: dict[str, Kind] = {
    "string_check": Kind(string_check.StringCheck, pure=string_check.grade),
    "text_similarity": Kind(text_similarity.TextSimilarity, pure=text_similarity.grade),
    "python": Kind(python.Python, batch=python.grade_many, waits=True, rows_at_once=256),
    "function": Kind(function.Function, batch=function.grade_many, waits=True, rows_at_once=256),
    "multi": Kind(multi.Multi, batch=multi.grade_many),
}


def waits(spec: GraderSpec) -> bool:
    """Whether grading by this spec may have to wait for something outside, and so needs an event loop."""
    kind = KINDS[spec.type]
    return kind.waits or kind.waiting is not None or any(waits(child) for child in spec.children.values())


def rows_at_once(spec: GraderSpec) -> int:
    """How many rows a grader that waits should be handed together: what suits the children that wait."""
    sizes = [rows_at_once(child) for child in spec.children.values() if waits(child)]
    return min(sizes, default=KINDS[spec.type].rows_at_once)
