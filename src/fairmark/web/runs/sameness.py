"""Whether runs that are compared were graded alike: by the same versions of the graders, over the same data set."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fairmark.evals.criteria import grader_of, load_criteria
from fairmark.store.views.comparison import DataSet
from fairmark.web.frame import show

_NOT_TOLD = ("name",)
_FIELDS_NAMED = 4


def graders_differ(letter: str, first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What is to be said of the criteria of the baseline, A, and of another run."""
    others = {criterion["name"]: place for place, criterion in reversed(list(enumerate(second)))}
    loaded = load_criteria(first), load_criteria(second)
    for place, criterion in enumerate(first):
        name = criterion["name"]
        if name not in others:
            yield f"{letter} was not graded by “{show.short(name, 60)}”."
            continue
        one, other = grader_of(criterion), grader_of(second[others[name]])
        if one == other:
            continue
        versions = [_version(side[at].spec) for side, at in zip(loaded, (place, others[name]), strict=True)]
        if versions[0] != versions[1] and all(versions):
            yield f"“{show.short(name, 60)}”: A was graded by {versions[0]}, {letter} by {versions[1]}."
        else:
            yield f"“{show.short(name, 60)}” is another grader in {letter} than in A: {_fields(one, other)}."
    names = {criterion["name"] for criterion in first}
    for criterion in second:
        if criterion["name"] not in names:
            yield f"Only {letter} was graded by “{show.short(criterion['name'], 60)}”."


def data_differ(letter: str, first: DataSet, second: DataSet) -> Iterator[str]:
    """Nothing where both have the same items, in whatever order."""
    if first == second:
        return
    if first.rows == second.rows:
        yield f"{letter} has other items than A: the data sets differ."
    else:
        rows = show.plural(second.rows, "row")
        yield f"{letter} has another data set than A: {rows}, and A has {show.number(first.rows)}."


def _version(spec: Any) -> str:
    """Which version of which registered grader; empty where it is none."""
    registered: Iterable[dict[str, Any]] = getattr(spec, "registered", None) or ()
    return " and ".join(f"version {used.get('version')} of {used.get('key')}" for used in registered)


def _fields(one: dict[str, Any], other: dict[str, Any]) -> str:
    names = [
        name for name in dict.fromkeys([*one, *other]) if name not in _NOT_TOLD and one.get(name) != other.get(name)
    ]
    more = f" and {len(names) - _FIELDS_NAMED} more" if len(names) > _FIELDS_NAMED else ""
    return f"{', '.join(names[:_FIELDS_NAMED])}{more} {'differs' if len(names) == 1 else 'differ'}"
