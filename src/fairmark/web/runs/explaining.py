"""Why a criterion found what it found. No row stores that: it is worked out again from the grader and the row.

The texts are filled in by the grader's own templates, so what is shown is what was compared.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

from fairmark import graders
from fairmark.errors import GradingFailed
from fairmark.evals.criteria import DEFAULT_THRESHOLD
from fairmark.graders.formula import Formula
from fairmark.graders.string_check import COMPARE
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template
from fairmark.web.frame import highlight, show
from fairmark.web.runs.difference import Piece, compare
from fairmark.web.runs.outputs import Room

LINES_AROUND = 4
"""How many lines of a grader's source are shown before and behind the one that failed."""
_LINE = re.compile(r'File "grader\.py", line (\d+)')
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_ASKS = {
    "eq": "Is the input exactly the reference?",
    "ne": "Is the input anything but the reference?",
    "like": "Does the input contain the reference?",
    "ilike": "Does the input contain the reference, in large or small letters?",
}
_MEASURES = {
    "fuzzy_match": "How alike are the characters of both, in any order of words",
    "bleu": "How many runs of one to four words of the input stand in the reference",
    "gleu": "How many runs of one to four words both share",
    "meteor": "How many words match, by form, stem or meaning, and how well in order",
    "cosine": "How near are both in meaning, by their embeddings",
    "rouge_l": "How long is the longest common sequence of words",
}


class ComparedPiece(NamedTuple):
    """A part of a text. `only`: the other text lacks it; `match`: it was looked for and is there."""

    text: str
    mark: Literal["", "only", "match"] = ""


class ComparedTexts(NamedTuple):
    """Two texts as they were filled in for the row, in pieces: what both have, and what one has alone."""

    input: list[ComparedPiece]
    input_template: str
    """Empty where it has no variables: then the text says all."""
    reference: list[ComparedPiece]
    reference_template: str
    is_equal: bool
    hint: str
    """What would have made it pass, where that is easily seen."""


class SourceLine(NamedTuple):
    number: int
    html: Markup
    is_wrong: bool


class Explained(NamedTuple):
    """What one grader did with the row."""

    question: str = ""
    compared: ComparedTexts | None = None
    not_filled: str = ""
    """Why its texts could not be filled in."""
    labels: tuple[str, ...] = ()
    """What a judge could say, and of it what passes."""
    passing: tuple[str, ...] = ()
    formula: str = ""
    formula_filled: str = ""
    """The formula with the rewards of the parts in it."""
    parts: tuple["ExplainedPart", ...] = ()
    source: tuple[SourceLine, ...] = ()
    """Around the line that failed."""


class ExplainedPart(NamedTuple):
    """A grader inside another."""

    name: str
    kind: str
    reward: float | None
    """None where it gave none: in the whole it counts as 0, but it is not one."""
    error: str
    words: str
    explained: Explained


def explain(room: Room, spec: GraderSpec | None, row: Row | None, result: Mapping[str, Any]) -> Explained:
    """`row`: None where the stored item is none that graders can read."""
    if spec is None or row is None:
        return Explained()
    if spec.children:
        return _combined(room, spec, row, result)
    return _alone(room, spec, row, result["error"] or "")


def verdict(spec: GraderSpec | None, reward: float, is_passed: bool) -> str:
    """The threshold in words."""
    if spec is not None and graders.find(spec.type).yes_or_no and spec.pass_threshold is None and reward in (0, 1):
        return "it holds" if is_passed else "it does not hold"
    threshold = spec.threshold if spec is not None else None
    limit = show.reward(DEFAULT_THRESHOLD if threshold is None else threshold)
    return f"passes from {limit}" if is_passed else f"too little: passes from {limit}"


def _alone(room: Room, spec: GraderSpec, row: Row, error: str) -> Explained:
    input_, reference = getattr(spec, "input", None), getattr(spec, "reference", None)
    if isinstance(input_, Template) and isinstance(reference, Template):
        return _texts(room, spec, input_, reference, row)
    if spec.code is not None:
        return Explained(source=tuple(_failed_lines(spec.code[0], error)))
    labels, passing = getattr(spec, "labels", ()), getattr(spec, "passing_labels", ())
    if labels and passing:
        return Explained(labels=tuple(map(str, labels)), passing=tuple(map(str, passing)))
    return Explained()


def _texts(room: Room, spec: GraderSpec, input_: Template, reference: Template, row: Row) -> Explained:
    operation, metric = getattr(spec, "operation", ""), getattr(spec, "evaluation_metric", "")
    question = _ASKS.get(operation, "") or _measures(metric)
    try:
        filled = input_.render(row), reference.render(row)
    except GradingFailed as failure:
        return Explained(question, not_filled=room.text(str(failure)))
    first, second = _pieces(operation, room.text(filled[0]), room.text(filled[1]))
    compared = ComparedTexts(
        first,
        input_.source if input_.variables else "",
        second,
        reference.source if reference.variables else "",
        filled[0] == filled[1],
        _hint(operation, *filled),
    )
    return Explained(question, compared)


def _pieces(operation: str, text: str, reference: str) -> tuple[list[ComparedPiece], list[ComparedPiece]]:
    """Both texts with what matters about them marked. Where all of them differs, marks would tell nothing."""
    plain = [ComparedPiece(text)] if text else [], [ComparedPiece(reference)] if reference else []
    if operation == "ne":
        return plain
    if operation in ("like", "ilike"):
        start = _place(operation, text, reference)
        if start is not None:
            end = start + len(reference)
            pieces = [ComparedPiece(text[:start]), ComparedPiece(text[start:end], "match"), ComparedPiece(text[end:])]
            return [piece for piece in pieces if piece.text], plain[1]
    difference = compare(text, reference)
    if not any(piece.is_common for piece in difference.first):
        return plain
    return _marked(difference.first), _marked(difference.second)


def _place(operation: str, text: str, reference: str) -> int | None:
    """Where the reference stands in the text; None where it does not, or the place cannot be told."""
    if operation == "ilike":
        folded, wanted = text.casefold(), reference.casefold()
        if len(folded) != len(text) or len(wanted) != len(reference):  # ß is ss then, and places are others
            return None
        text, reference = folded, wanted
    start = text.find(reference) if reference else -1
    return None if start < 0 else start


def _marked(pieces: Iterable[Piece]) -> list[ComparedPiece]:
    return [ComparedPiece(piece.text, "" if piece.is_common else "only") for piece in pieces]


def _measures(metric: str) -> str:
    if metric.startswith("rouge_") and metric not in _MEASURES:
        size = metric.removeprefix("rouge_")
        return f"How many {'words' if size == '1' else f'runs of {size} words'} both share ({metric})"
    return f"{_MEASURES[metric]} ({metric})" if metric in _MEASURES else metric


def _hint(operation: str, text: str, reference: str) -> str:
    """What is nearly right about a comparison that does not hold; empty where nothing is, or it holds."""
    if operation not in ("eq", "like", "ilike") or COMPARE[operation](text, reference):
        return ""
    stripped, wanted = text.strip(), reference.strip()
    if not text:
        return "The input is empty."
    if operation == "eq":
        if stripped == wanted:
            return "Only blanks or line breaks around them differ."
        if stripped.casefold() == wanted.casefold():
            return "Only large and small letters differ."
        if reference and COMPARE["ilike"](text, reference):
            return "The reference stands inside the input: like or ilike would hold."
        return ""
    if operation == "like" and COMPARE["ilike"](text, reference):
        return "Only large and small letters differ: ilike would hold."
    if wanted and wanted.casefold() in text.casefold():
        return "It would hold without the blanks around the reference."
    if stripped and stripped.casefold() in reference.casefold():
        return "It is the other way round: the input stands inside the reference."
    return ""


def _combined(room: Room, spec: GraderSpec, row: Row, result: Mapping[str, Any]) -> Explained:
    rewards: Mapping[str, Any] = result["sub_rewards"]
    parts = []
    for key, child in spec.children.items():
        reward = rewards.get(key)
        error = _error_of(key, result["error"] or "", spec.children)
        known = float(reward) if isinstance(reward, (int, float)) and not error else None
        words = "" if known is None or child.threshold is None else verdict(child, known, known >= child.threshold)
        parts.append(ExplainedPart(key, child.type, known, error, words, _alone(room, child, row, error)))
    formula = getattr(spec, "calculate_output", None)
    if not isinstance(formula, Formula):
        return Explained(parts=tuple(parts))
    return Explained(formula=formula.source, formula_filled=_filled(formula, rewards), parts=tuple(parts))


def _error_of(key: str, error: str, keys: Iterable[str]) -> str:
    """What one part says in the error of the whole, where each stands behind its key; empty where it says nothing."""
    whole = f"; {error}"
    start = whole.find(f"; {key}: ")
    if start < 0:
        return ""
    behind = start + len(key) + 4
    ends = [end for other in keys if (end := whole.find(f"; {other}: ", behind)) >= 0]
    return whole[behind : min(ends, default=len(whole))]


def _filled(formula: Formula, rewards: Mapping[str, Any]) -> str:
    """The formula with numbers for its variables; empty where one is not known."""
    if not all(isinstance(rewards.get(name), (int, float)) for name in formula.variables):
        return ""

    def number(name: re.Match[str]) -> str:
        return show.reward(rewards[name[0]]) if name[0] in formula.variables else name[0]

    return _NAME.sub(number, formula.source)


def _failed_lines(source: str, error: str) -> Iterator[SourceLine]:
    """The lines of the grader around the one that raised last; none where the error is no traceback of it."""
    lines = source.rstrip().split("\n")
    raised_at = [int(number) for number in _LINE.findall(error)]
    wrong = {number for number in raised_at if number <= len(lines)}
    if not wrong:
        return
    centre = raised_at[-1] if raised_at[-1] in wrong else max(wrong)
    coloured = highlight.python_lines(source)
    for number in range(max(1, centre - LINES_AROUND), min(len(lines), centre + LINES_AROUND) + 1):
        yield SourceLine(number, coloured[number - 1], number in wrong)
