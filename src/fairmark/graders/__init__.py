"""The kinds: the one list in the project. What grades, what validates and what is documented is made from it.

Other packages add kinds of their own by entry points of the group `fairmark.graders`; `find` knows both.
"""

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

from fairmark import jsontext, references
from fairmark.context import Context
from fairmark.errors import InvalidGrader
from fairmark.graders import cascade, custom, multi, string_check, text_similarity
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec

if TYPE_CHECKING:
    from fairmark.graders.entry_points import EntryPoints

GROUP = "fairmark.graders"

# The first argument is the kind's own spec; Any, because each kind names its own.
GradeRow = Callable[[Any, Row, Context], Grade]
GradeRows = Callable[[Any, Sequence[Row], Context], Awaitable[list[Grade]]]


def _always(spec: GraderSpec) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of grader: its spec and how it grades.

    `pure` computes a row's grade from the row alone. `batch` takes many rows at once, up to `rows_at_once`, and may
    await its children, and where `waits` says so something outside as well: a model, a sandbox. A kind with both is
    asked by `batch` for the specs that wait. `paid`: what a row's grade costs is worth keeping each as soon as it is
    there, rather than with others. `reads_items`: it looks at a row's item, rather than passing it on as JSON.

    `title` is what people call it, its own name where there is none; `group`, a heading of GROUPS. `grades`: it can be
    asked for rewards; of others the scores come from elsewhere. `yes_or_no`: its reward is 1 or 0. `needs_threshold`:
    as a criterion of an eval it has to say what passes. `adaptive`: Adaptive's word for it, where they have one.
    """

    spec: type[GraderSpec]
    pure: GradeRow | None = None
    batch: GradeRows | None = None
    waits: Callable[[Any], bool] | None = None
    rows_at_once: int = 1
    paid: bool = False
    reads_items: bool = True
    title: str = ""
    group: str = ""
    grades: bool = True
    yes_or_no: bool = False
    needs_threshold: bool = False
    adaptive: str = ""

    def __post_init__(self) -> None:
        if self.pure is None and self.batch is None:
            raise ValueError("a kind needs pure, batch or both")
        if self.batch is None and self.waits is not None:
            raise ValueError("a kind that waits needs batch")
        if self.rows_at_once < 1:
            raise ValueError(f"rows_at_once is at least 1, found {self.rows_at_once}")

    @property
    def summary(self) -> str:
        return (self.spec.__doc__ or "").strip().split("\n")[0]


class _Later:
    """A kind whose module is imported when somebody asks for it: most never do, and imports take time."""

    def __init__(self, name: str, spec: str, **told: Any) -> None:
        self._name = name
        self._spec = spec
        self._told = told
        self._kind: Kind | None = None
        vars(self).update(told)

    def __getattr__(self, name: str) -> Any:
        """What is asked for the first time. Every grade asks for some of it again."""
        if self._kind is None:
            module = import_module(f"fairmark.graders.{self._name}")
            spec = getattr(module, self._spec)
            if hasattr(module, "grade_many"):
                self._kind = Kind(spec, None, module.grade_many, _always, **self._told)
            else:
                self._kind = Kind(spec, module.grade, **self._told)
        value = getattr(self._kind, name)
        setattr(self, name, value)
        return value


def _asks(name: str, spec: str, title: str, **told: Any) -> Kind:
    """A kind that asks a judge."""
    told = {"rows_at_once": 32, "paid": True, "title": title, "group": "AI judges", **told}
    return cast("Kind", _Later(name, spec, **told))


def _computes(name: str, spec: str, title: str, **told: Any) -> Kind:
    """A kind that computes: its module has `grade`, and not `grade_many` as the others."""
    return cast("Kind", _Later(name, spec, title=title, group="Rules", **told))


def _prebuilt(name: str, spec: str, title: str) -> Kind:
    return _asks(name, spec, title, group="Pre-built judges", adaptive="PREBUILT")


def _runs(name: str, spec: str, title: str, **told: Any) -> Kind:
    """A kind whose rows go elsewhere in batches: to a sandbox, to an endpoint."""
    told = {"rows_at_once": 64, "paid": False, "title": title, "group": "Your code", **told}
    return cast("Kind", _Later(name, spec, **told))


GROUPS = {
    "Rules": "Exact, fast and free.",
    "Your code": "Correctness that a program can see.",
    "AI judges": "What has to be read to be judged.",
    "Pre-built judges": "For answers out of retrieved documents.",
    "Other": "Several graders as one, and scores from elsewhere.",
}
"""The headings under which people find kinds, and what those below have in common."""

KINDS: dict[str, Kind] = {
    "string_check": Kind(
        string_check.StringCheck, pure=string_check.grade, title="String check", group="Rules", yes_or_no=True
    ),
    "text_similarity": Kind(
        text_similarity.TextSimilarity,
        pure=text_similarity.grade,
        batch=text_similarity.grade_by_vectors,
        waits=text_similarity.needs_vectors,
        rows_at_once=256,
        title="Text similarity",
        group="Rules",
        needs_threshold=True,
    ),
    "regex": _computes("regex", "Regex", "Regular expression", yes_or_no=True),
    "numeric": _computes("numeric", "Numeric", "Number", yes_or_no=True),
    "json_match": _computes("json_match", "JsonMatch", "JSON match"),
    "tool_calls": _computes("tool_calls", "ToolCalls", "Tool calls"),
    "score_model": _asks("score_model", "ScoreModel", "AI judge: score"),
    "label_model": _asks("label_model", "LabelModel", "AI judge: label", yes_or_no=True),
    "binary_judge": _asks("binary_judge", "BinaryJudge", "AI judge: pass or fail", yes_or_no=True, adaptive="JUDGE"),
    "preference": _asks("preference", "Preference", "AI judge: the better of two"),
    "faithfulness": _prebuilt("faithfulness", "Faithfulness", "Faithfulness"),
    "context_relevancy": _prebuilt("context_relevancy", "ContextRelevancy", "Context relevancy"),
    "answer_relevancy": _prebuilt("answer_relevancy", "AnswerRelevancy", "Answer relevancy"),
    "python": _runs("python", "Python", "Python", reads_items=False),
    "function": _runs("function", "Function", "Function", adaptive="FUNCTION"),
    "math_equal": _runs("math_equal", "MathEqual", "Formula or number", group="Rules", yes_or_no=True),
    "code_tests": _runs("code_tests", "CodeTests", "Code tests"),
    "endpoint": _runs("endpoint", "Endpoint", "External endpoint", adaptive="REMOTE"),
    "custom": Kind(custom.Custom, pure=custom.grade, title="Custom", group="Other", grades=False, adaptive="CUSTOM"),
    "cascade": Kind(cascade.Cascade, batch=cascade.grade_many, title="Cascade", group="Other"),
    "multi": Kind(multi.Multi, batch=multi.grade_many, title="Combination", group="Other"),
}


def find(name: str) -> Kind:
    """The kind of this name: ours, else another package's. Raises InvalidGrader where there is none to be used."""
    kind = KINDS.get(name)
    return _find_elsewhere(name) if kind is None else kind


def _find_elsewhere(name: str) -> Kind:
    from fairmark.graders.entry_points import Unusable

    try:
        kind = _elsewhere().get(name)
    except Unusable as why:
        raise InvalidGrader.at(".type", str(why)) from why.__cause__
    if kind is None:
        known = all_kinds()
        message = f"unknown type {jsontext.quote(name)}. Use one of: {', '.join(known)}.{jsontext.nearest(name, known)}"
        raise InvalidGrader.at(".type", message)
    return kind


def known(name: str) -> Kind | None:
    """The kind of this name, or None: what is kept may be of a kind that is no longer installed."""
    try:
        return find(name)
    except InvalidGrader:
        return None


def all_kinds() -> dict[str, Kind]:
    """Ours, and those of other packages that can be used. Imports them all."""
    return {**KINDS, **_elsewhere().all()[0]}


def unusable_kinds() -> list[str]:
    """What other packages announce and cannot be used: entry point, package and reason. Imports them all."""
    return _elsewhere().all()[1]


_lock = threading.Lock()
_found: "list[EntryPoints[Kind]]" = []


def _elsewhere() -> "EntryPoints[Kind]":
    """The kinds of other packages, looked for once and only where somebody asks: most never do."""
    from fairmark.graders.entry_points import EntryPoints

    with _lock:
        if not _found:
            _found.append(EntryPoints(GROUP, {*KINDS, references.TYPE}, _checked))
        return _found[0]


def _checked(name: str, kind: object) -> Kind:
    """What an entry point leads to, as a kind of its name. Raises Unusable with what is wrong with it."""
    from fairmark.graders import returned
    from fairmark.graders.entry_points import Unusable

    if not isinstance(kind, Kind):
        raise Unusable(f"it leads to {jsontext.describe(kind)}, not to a fairmark.plugin.Kind")
    spec: Any = kind.spec  # somebody else's: it may be anything
    if not isinstance(spec, type) or not issubclass(spec, GraderSpec):
        raise Unusable("its spec is not a subclass of fairmark.plugin.GraderSpec")
    spec.model_rebuild()  # raises for fields of types that pydantic cannot check
    own_type = spec.model_fields["type"].annotation
    if get_origin(own_type) is not Literal or get_args(own_type) != (name,):
        raise Unusable(f'its spec has no field type: Literal["{name}"]')
    return replace(
        kind,
        pure=kind.pure and returned.one(name, kind.pure),
        batch=kind.batch and returned.many(name, kind.batch),
    )


def waits(spec: GraderSpec) -> bool:
    """Whether grading by this spec may have to wait for something outside, and so needs an event loop."""
    kind = find(spec.type)
    own = kind.waits is not None and kind.waits(spec)
    return own or any(waits(child) for child in spec.children.values())


def rows_at_once(spec: GraderSpec) -> int:
    """How many rows a grader that waits should be handed together: what suits the children that wait."""
    sizes = [rows_at_once(child) for child in spec.children.values() if waits(child)]
    return min(sizes, default=find(spec.type).rows_at_once)


def paid(spec: GraderSpec) -> bool:
    """Whether grading by this spec asks models about each row."""
    return find(spec.type).paid or any(map(paid, spec.children.values()))


def grades_by_itself(spec: GraderSpec) -> bool:
    """Whether there is anything to compute: a custom grader's scores come from elsewhere."""
    return find(spec.type).grades and all(map(grades_by_itself, spec.children.values()))
