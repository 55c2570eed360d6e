"""Judges that other tools ask by a prompt of their own: a draft with the same rubric, for somebody to accept."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData

NO_JUDGE = "choose-a-judge"
"""Stands where a model has to be named: nobody said which."""

_TASKS = {
    "llm-rubric": "Say how well the answer meets this rubric, from 0 (not at all) to 1 (fully).",
    "g-eval": "Say how well the answer meets these criteria, from 0 (not at all) to 1 (fully).",
    "factuality": "Say whether the facts of the answer agree with this reference: 1 if they do, 0 if they do not.",
    "model-graded-factuality": "Say whether the facts of the answer agree with this reference: 1 if they do, 0 if not.",
    "model-graded-closedqa": "Say whether the answer meets this criterion: 1 if it does, 0 if it does not.",
}
KINDS = tuple(_TASKS)
_DRAFT = "draft:"


def reason(kind: str, model: str) -> str:
    """Beside the criterion: why nobody runs it yet."""
    choose = " and choose a judge" if model == NO_JUDGE else ""
    return f"{_DRAFT} made of {kind}, whose own prompt is another. Read it{choose}, then accept it."


def score_model(name: str, kind: str, rubric: str, threshold: float, model: str) -> dict[str, Any]:
    """`rubric`: a template."""
    return {
        "type": "score_model",
        "name": name,
        "model": model,
        "input": [
            {"role": "system", "content": f"You grade an answer. {_TASKS[kind]}"},
            {"role": "user", "content": f"{rubric}\n\nThe answer:\n{{{{sample.output_text}}}}"},
        ],
        "range": [0, 1],
        "pass_threshold": threshold,
        **refused_until_accepted(reason(kind, model)),
    }


class Accepted(NamedTuple):
    """Somebody has said that drafts are to run as they are."""

    judge: str | None = None
    """Who is asked where a draft names nobody."""


def accepted(criterion: Mapping[str, Any], by: Accepted) -> dict[str, Any]:
    """The criterion, and what is in it, without the mark of a draft. Raises InvalidData where nobody is named who is to
    judge."""
    made = dict(criterion)
    if str(made.get("reason", "")).startswith(_DRAFT):
        del made["runnable"], made["reason"]
    if made.get("model") == NO_JUDGE:
        if by.judge is None:
            name = jsontext.quote(str(made.get("name")))
            raise InvalidData(f"the draft {name} names no judge. Choose one: --judge MODEL, or judge in a request")
        made["model"] = by.judge
    if isinstance(made.get("graders"), dict):
        made["graders"] = {name: accepted(child, by) for name, child in made["graders"].items()}
    return made


def refused_until_accepted(why: str) -> dict[str, Any]:
    return {"runnable": False, "reason": why}
