"""The kinds: the one list in the project. What grades, what validates and what is documented is made from it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from fairmark.context import Context
from fairmark.graders import custom, multi, string_check, text_similarity
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec

# The first argument is the kind's own spec; Any, because each kind names its own.
GradeRow = Callable[[Any, Row, Context], Grade]
GradeRows = Callable[[Any, Sequence[Row], Context], Awaitable[list[Grade]]]


def _always(spec: GraderSpec) -> bool:
    return True


def _never(spec: GraderSpec) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of grader: its spec and how it grades.

    `pure` computes a row's grade from the row alone. `batch` takes many rows at once, up to `rows_at_once`, and may
    await its children, and where `waits` says so something outside as well: a model, a sandbox. A kind with both is
    asked by `batch` for the specs that wait. `paid`: what a row's grade costs is worth keeping each as soon as it is
    there, rather than with others.
    """

    spec: type[GraderSpec]
    pure: GradeRow | None = None
    batch: GradeRows | None = None
    waits: Callable[[Any], bool] = _never
    rows_at_once: int = 1
    paid: bool = False

    @property
    def summary(self) -> str:
        return (self.spec.__doc__ or "").strip().split("\n")[0]


class _Later:
    """A kind whose module is imported when somebody asks for it: most never do, and imports take time."""

    def __init__(self, name: str, spec: str, rows_at_once: int, paid: bool) -> None:
        self._name = name
        self._spec = spec
        self._rows_at_once = rows_at_once
        self._paid = paid
        self._kind: Kind | None = None

    def __getattr__(self, name: str) -> Any:
        if self._kind is None:
            module = import_module(f"fairmark.graders.{self._name}")
            spec = getattr(module, self._spec)
            self._kind = Kind(spec, None, module.grade_many, _always, self._rows_at_once, self._paid)
        return getattr(self._kind, name)


def _asks(name: str, spec: str) -> Kind:
    """A kind that asks a judge."""
    return cast("Kind", _Later(name, spec, 32, paid=True))


def _runs(name: str, spec: str) -> Kind:
    """A kind whose rows go elsewhere in batches: to a sandbox, to an endpoint."""
    return cast("Kind", _Later(name, spec, 256, paid=False))


KINDS: dict[str, Kind] = {
    "string_check": Kind(string_check.StringCheck, pure=string_check.grade),
    "text_similarity": Kind(
        text_similarity.TextSimilarity,
        pure=text_similarity.grade,
        batch=text_similarity.grade_by_vectors,
        waits=text_similarity.needs_vectors,
        rows_at_once=256,
    ),
    "score_model": _asks("score_model", "ScoreModel"),
    "label_model": _asks("label_model", "LabelModel"),
    "binary_judge": _asks("binary_judge", "BinaryJudge"),
    "faithfulness": _asks("faithfulness", "Faithfulness"),
    "context_relevancy": _asks("context_relevancy", "ContextRelevancy"),
    "answer_relevancy": _asks("answer_relevancy", "AnswerRelevancy"),
    "python": _runs("python", "Python"),
    "function": _runs("function", "Function"),
    "endpoint": _runs("endpoint", "Endpoint"),
    "custom": Kind(custom.Custom, pure=custom.grade),
    "multi": Kind(multi.Multi, batch=multi.grade_many),
}


def waits(spec: GraderSpec) -> bool:
    """Whether grading by this spec may have to wait for something outside, and so needs an event loop."""
    kind = KINDS[spec.type]
    return kind.waits(spec) or any(waits(child) for child in spec.children.values())


def rows_at_once(spec: GraderSpec) -> int:
    """How many rows a grader that waits should be handed together: what suits the children that wait."""
    sizes = [rows_at_once(child) for child in spec.children.values() if waits(child)]
    return min(sizes, default=KINDS[spec.type].rows_at_once)


def paid(spec: GraderSpec) -> bool:
    """Whether grading by this spec asks models about each row."""
    return KINDS[spec.type].paid or any(map(paid, spec.children.values()))
