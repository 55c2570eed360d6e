"""What a rater is asked about a row: by which criterion of the run, and what may be said."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.data.agreement import has_steps
from fairmark.evals.criteria import Criterion, load_criteria
from fairmark.refusals import invalid, missing, wrong_type
from fairmark.store import Eval, Run
from fairmark.store.evals.labels import LabelKind
from fairmark.trust.labelled import KINDS, PREFERENCES
from fairmark.trust.subject import FAIL, PASS, sources

STEPS = 5
"""Into which a range of scores is cut that has no whole numbers of its own."""
MOST_KEYS = 9


class LabelChoice(NamedTuple):
    value: str | float
    word: str
    key: str


class LabelQuestion(NamedTuple):
    """One criterion, or the answer as a whole, and one kind of value."""

    criterion: str
    """Its id; empty for the answer as a whole."""
    name: str
    place: int | None
    """Among the run's criteria; None for the answer as a whole."""
    kind: LabelKind
    labels: tuple[str, ...]
    """Of kind label: what may be said."""
    passing: tuple[str, ...]
    low: float
    high: float
    rubric: tuple[str, ...]
    """The grader's own words."""
    is_pair: bool = False
    """Whether its grader compares two answers that stand in the item."""

    @property
    def key(self) -> str:
        """How forms name it: a place and a kind."""
        return f"{'' if self.place is None else self.place + 1}-{self.kind}"

    @property
    def words(self) -> str:
        match self.kind:
            case "score":
                return f"a score from {self.low:g} to {self.high:g}"
            case "preferred":
                return "which of two answers is better"
            case _:
                return " or ".join(self.labels) if len(self.labels) < 4 else f"one of {len(self.labels)} labels"

    @property
    def choices(self) -> list[LabelChoice]:
        if self.kind == "preferred":
            return [LabelChoice("a", "First", "a"), LabelChoice("b", "Second", "b"), LabelChoice("tie", "Tie", "t")]
        if self.kind == "score":
            return [LabelChoice(value, f"{value:g}", str(key) if key < 10 else "") for key, value in self._scores()]
        if self.labels == (PASS, FAIL):
            return [LabelChoice(PASS, "Pass", "p"), LabelChoice(FAIL, "Fail", "f")]
        return [
            LabelChoice(label, label, str(number) if number <= MOST_KEYS else "")
            for number, label in enumerate(self.labels, 1)
        ]

    def _scores(self) -> list[tuple[int, float]]:
        """Whole numbers that a key has are given by it; other ranges are cut into steps, from 1."""
        if has_steps(self.low, self.high, ()):
            return [(int(value) if value >= 0 else 10, value) for value in _whole(self.low, self.high)]
        width = (self.high - self.low) / (STEPS - 1)
        return [(step + 1, self.low + step * width) for step in range(STEPS)]

    def check(self, value: Any) -> str | float:
        """The value as it is kept. Raises ApiError."""
        match self.kind:
            case "score":
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                    raise wrong_type("score", "a number", value)
                if not self.low <= value <= self.high:
                    raise invalid(
                        f"score: {value:g} is outside the range of {jsontext.quote(self.name)}, {self.low:g} to "
                        f"{self.high:g}.",
                        "score",
                    )
                return float(value)
            case _:
                allowed = PREFERENCES if self.kind == "preferred" else (*self.labels, PASS, FAIL)
                if not isinstance(value, str):
                    raise wrong_type(self.kind, "a string", value)
                if value not in allowed:
                    raise invalid(
                        f"{self.kind}: found {jsontext.quote(jsontext.shorten(value, 60))}. Use one of: "
                        f"{', '.join(dict.fromkeys(allowed))}.",
                        self.kind,
                    )
                return value

    def passes(self, value: str) -> bool:
        return value == PASS or value in self.passing


def _whole(low: float, high: float) -> list[float]:
    return [low + step for step in range(int(high - low) + 1)]


def criteria_of(eval_: Eval, run: Run) -> list[dict[str, Any]]:
    """As they stood when the run was created."""
    return run.criteria or eval_.criteria


def questions(criteria: Sequence[dict[str, Any]]) -> list[LabelQuestion]:
    """All that raters of a run can be asked, what is asked first ahead."""
    loaded = load_criteria(criteria)
    asked = [question for place, criterion in enumerate(loaded) for question in _of(place, criterion)]
    asked.sort(key=lambda question: not question.rubric)  # judges first: the others are right by definition
    if len(loaded) > 1:
        rubric = tuple(text for criterion in loaded for text in _rubric(criterion))
        asked.append(LabelQuestion("", "the answer as a whole", None, "label", (PASS, FAIL), (PASS,), 0.0, 1.0, rubric))
    return asked + [
        question._replace(kind="preferred", labels=PREFERENCES) for question in asked if question.kind == "label"
    ]


def _of(place: int, criterion: Criterion) -> list[LabelQuestion]:
    spec = criterion.spec
    labels = getattr(spec, "labels", None)
    passing = tuple(getattr(spec, "passing_labels", None) or ())
    low, high = (spec.reward_range if spec is not None else None) or (0.0, 1.0)
    plain = LabelQuestion(
        criterion.id, criterion.name, place, "label", (PASS, FAIL), (PASS,), low, high, _rubric(criterion)
    )
    if isinstance(labels, (list, tuple)) and labels:
        if {str(label).strip().casefold() for label in labels} <= set(PREFERENCES) and len(labels) > 1:
            return [plain._replace(kind="preferred", labels=PREFERENCES, is_pair=True)]
        return [plain._replace(labels=tuple(labels), passing=passing)]
    is_graded = spec is not None and not _yes_or_no(criterion)
    return [plain, plain._replace(kind="score", labels=())] if is_graded else [plain]


def _yes_or_no(criterion: Criterion) -> bool:
    from fairmark.graders import find

    return find(criterion.type).yes_or_no


def _rubric(criterion: Criterion) -> tuple[str, ...]:
    if criterion.spec is None:
        return ()
    return tuple(text for source in sources(criterion.spec) if (text := source.strip()))


def find_question(criteria: Sequence[dict[str, Any]], body: Mapping[str, Any]) -> LabelQuestion:
    """The one that a label's own words are about: its `criterion`, by id or name, and its kind of value.

    Raises ApiError.
    """
    kinds = [kind for kind in KINDS if body.get(kind) is not None]
    if len(kinds) != 1:
        words = " and ".join(kinds) or "none of them"
        raise invalid(f"a label holds one of label, score, preferred; found {words}.", kinds[0] if kinds else "label")
    return question_for(criteria, body.get("criterion"), kinds[0])


def question_for(criteria: Sequence[dict[str, Any]], criterion: Any, kind: LabelKind) -> LabelQuestion:
    """Raises ApiError."""
    known = questions(criteria)
    names = ", ".join(jsontext.quote(entry["name"]) for entry in criteria)
    if criterion is not None and not isinstance(criterion, str):
        raise wrong_type("criterion", "a string", criterion)
    if criterion:
        ours = [question for question in known if question.place is not None]
        about = [question for question in ours if question.criterion == criterion] or [
            question for question in ours if question.name == criterion
        ]
        if not about:
            raise invalid(
                f"criterion: found {jsontext.quote(jsontext.shorten(criterion, 80))}. This run has: {names}.",
                "criterion",
            )
        if len({question.criterion for question in about}) > 1:
            raise invalid(f"criterion: several are called {jsontext.quote(criterion)}. Use the id of one.", "criterion")
    elif len(criteria) == 1:
        about = [question for question in known if question.place == 0]
    elif kind == "score":
        raise missing("criterion", f"A score is about one of them: {names}.")
    else:
        about = [question for question in known if question.place is None]
    fitting = next((question for question in about if question.kind == kind), None)
    if fitting is not None:
        return fitting
    base = about[0]
    if kind == "preferred":
        return base._replace(kind="preferred", labels=PREFERENCES)
    if kind == "label":
        return base._replace(kind="label", labels=(PASS, FAIL), passing=(PASS,))
    return base._replace(kind="score", labels=())
