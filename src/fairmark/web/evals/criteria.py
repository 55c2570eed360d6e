"""Criteria in human words: what each checks, when it passes, and what it needs of a row."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from starlette.requests import Request

from fairmark import graders, jsontext
from fairmark.errors import InvalidGrader
from fairmark.evals.criteria import DEFAULT_THRESHOLD, grader_of, load_criteria
from fairmark.references import TYPE as REGISTERED
from fairmark.serving.wire import project, state
from fairmark.spec import GraderSpec
from fairmark.store import Eval
from fairmark.text.messages import Messages
from fairmark.text.template import Template, Variable

_COMPARES = {
    "eq": "is exactly",
    "ne": "is not",
    "like": "contains",
    "ilike": "contains, in large or small letters,",
}


class SentencePart(NamedTuple):
    """A piece of a sentence; code is what the grader's own JSON says."""

    text: str
    is_code: bool = False


class ShownCriterion(NamedTuple):
    """A criterion as a page shows it."""

    id: str
    name: str
    kind: str
    checks: list[SentencePart]
    threshold: float | None
    """The least reward that passes; None where that goes without saying, or cannot be known."""
    model: str | None
    key: str | None
    """Of the registered grader that it refers to."""
    version: int | None
    """The one that a reference insists on."""
    broken: str | None
    """Why it cannot grade."""
    grader: dict[str, Any]
    """Its JSON as the eval has it."""
    needs: tuple[str, ...]
    """The fields of an item that its templates use."""
    spec: GraderSpec | None
    """None where it cannot be read."""


async def read(request: Request, eval_: Eval) -> list[ShownCriterion]:
    return [await _read(request, criterion) for criterion in eval_.criteria]


async def _read(request: Request, stored: dict[str, Any]) -> ShownCriterion:
    shown = grader_of(stored)
    is_reference = stored["type"] == REGISTERED
    broken, spec, expanded = None, None, stored
    try:
        expanded = await state(request).registry.expand(project(request), stored)
        loaded = load_criteria([expanded])[0]
        spec, broken = loaded.spec, stored.get("reason") if stored.get("runnable") is False else loaded.broken
    except InvalidGrader as error:  # what it refers to was deleted
        broken = str(error)
    return ShownCriterion(
        id=stored["id"],
        name=stored["name"],
        kind=expanded["type"],
        checks=list(checks(expanded)),
        threshold=_threshold(spec),
        model=_text(expanded.get("model")),
        key=_text(stored.get("key")) if is_reference else None,
        version=stored.get("version") if is_reference else None,
        broken=broken,
        grader=shown,
        needs=tuple(dict.fromkeys(needs(spec))) if spec is not None else (),
        spec=spec,
    )


def checks(grader: dict[str, Any]) -> Iterator[SentencePart]:
    """One sentence about a grader's JSON."""
    match grader:
        case {"type": "string_check", "input": input_, "reference": reference, "operation": operation}:
            yield _code(input_)
            yield SentencePart(_COMPARES.get(operation, "is compared with"))
            yield _code(reference)
        case {"type": "text_similarity", "input": input_, "reference": reference, "evaluation_metric": metric}:
            yield _code(input_)
            yield SentencePart("is like")
            yield _code(reference)
            yield SentencePart("by")
            yield _code(metric)
        case {"type": "score_model", "model": model}:
            low, high = grader.get("range") or (0, 1)
            yield from _judges(model, grader.get("panel"))
            yield SentencePart(f"gives a number from {low:g} to {high:g}")
        case {"type": "label_model", "model": model, "labels": labels, "passing_labels": passing}:
            yield from _judges(model, grader.get("panel"))
            yield SentencePart("answers")
            yield from _listed(passing, "or")
            yield SentencePart("and not")
            yield from _listed([label for label in labels if label not in passing], "or")
        case {"type": "binary_judge", "model": model, "criteria": wanted}:
            yield from _judges(model, grader.get("panel"))
            yield SentencePart(f"finds that the reply meets: {jsontext.shorten(str(wanted), 240)}")
        case {"type": "python" | "function" as kind, "source": str() as source}:
            lines = source.strip().count("\n") + 1
            what = "an answer" if kind == "python" else "a conversation"
            yield SentencePart(
                f"A Python function grades {what} in the sandbox, {lines} {'line' if lines == 1 else 'lines'} long"
            )
        case {"type": "endpoint", "url": url}:
            yield SentencePart("The reward server at")
            yield _code(url)
            yield SentencePart("gives a number")
        case {"type": "multi", "calculate_output": formula}:
            yield _code(formula)
            yield SentencePart("of several graders' rewards")
        case {"type": "registered", "key": key}:
            yield SentencePart("What the registered grader says, which is called")
            yield _code(key)
        case _:
            yield SentencePart(_summary(str(grader.get("type"))))


def needs(spec: GraderSpec) -> Iterator[str]:
    """The fields of an item that a grader's templates use, as far as they can be seen."""
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        templates = [value] if isinstance(value, Template) else value.templates if isinstance(value, Messages) else []
        yield from item_fields(variable for template in templates for variable in template.variables)
    for child in spec.children.values():
        yield from needs(child)


def item_fields(variables: Iterator[Variable]) -> Iterator[str]:
    for variable in variables:
        if variable.namespace == "item" and variable.steps and isinstance(variable.steps[0], str):
            yield variable.steps[0]


def _threshold(spec: GraderSpec | None) -> float | None:
    if spec is None or (graders.find(spec.type).yes_or_no and spec.pass_threshold is None):
        return None  # it goes without saying
    return DEFAULT_THRESHOLD if spec.threshold is None else spec.threshold


def _summary(kind: str) -> str:
    known_kind = graders.known(kind)
    return "Of a kind that is not known here" if known_kind is None else known_kind.summary


def _listed(texts: list[Any], between: str) -> Iterator[SentencePart]:
    for index, text in enumerate(texts):
        if index:
            yield SentencePart(between if index == len(texts) - 1 else ",")
        yield _code(text)


def _judges(model: Any, panel: Any) -> Iterator[SentencePart]:
    others = panel if isinstance(panel, list) else []
    yield SentencePart("The panel of" if others else "The judge")
    yield from _listed([model, *others], "and")


def _code(value: Any) -> SentencePart:
    return SentencePart(jsontext.shorten(value if isinstance(value, str) else jsontext.write(value), 120), is_code=True)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
