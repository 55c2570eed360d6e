"""References: `{"type": "registered", "key": "exact-match"}` stands for a grader that a registry keeps.

A reference is replaced by its grader before anything is parsed, so that from there on it costs nothing and everything
about the grader is known. What it was is noted on the grader, under `registered`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidGrader, Problem

TYPE = "registered"
NOTE = "registered"
SCHEMA = "$schema"
"""For editors: where the schema of a grader file is. It is no part of a grader, at the top or inside another."""
HOLDERS = ("multi", "cascade")
"""The kinds that hold other graders, under `graders`."""
KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
KEY_RULE = "A key has 1 to 128 of a-z, 0-9 and . _ - and begins with a letter or a digit."
# What a reference may say itself, over what its grader says.
_OWN = ("name", "pass_threshold", "id")
_FIELDS = frozenset({"type", "key", "version", *_OWN})


class Reference(NamedTuple):
    """A reference, and where it stands. Without a version it means the newest."""

    path: str
    key: str
    version: int | None


class Registered(NamedTuple):
    """What a reference stands for."""

    id: str
    key: str
    version: int
    grader: dict[str, Any]


Wanted = tuple[str, int | None]
"""A key and a version."""


def may_hold(grader: Any) -> bool:
    """Whether it is worth a look: it may hold references, or a note. Cheap, and never False where it does."""
    if isinstance(grader, str):
        return TYPE in grader or "\\u00" in grader  # a text may spell any letter as an escape
    if isinstance(grader, bytes):
        return b"registered" in grader or b"\\u00" in grader
    if not isinstance(grader, Mapping):
        return False
    kind = grader.get("type")
    if kind == TYPE or NOTE in grader:
        return True
    return kind in HOLDERS and any(isinstance(child, Mapping) and may_hold(child) for _, child in children(grader))


def find(grader: Mapping[str, Any]) -> list[Reference]:
    """Every reference in a grader. Raises InvalidGrader with all that are malformed."""
    references: list[Reference] = []
    problems: list[Problem] = []
    for path, fields in _references(grader):
        wrong = list(_problems(path, fields))
        if wrong:
            problems += wrong
        else:
            references.append(Reference(path, fields["key"], fields.get("version")))
    if problems:
        raise InvalidGrader(problems)
    return references


def replace(grader: Mapping[str, Any], known: Mapping[Wanted, Registered]) -> dict[str, Any]:
    """The grader with everything that is known in the place of its references.

    A note that a caller wrote is dropped: only what was looked up is a registered grader.
    """
    if grader.get("type") == TYPE:
        registered = _found(grader, known)
        return _stand_in(grader, registered, _with_children(registered.grader, known))
    return _with_children(grader, known)


def children(grader: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What stands in a multi or a cascade, each with its path below `graders`; of other kinds, nothing."""
    inside = grader.get("graders") if grader.get("type") in HOLDERS else None
    if isinstance(inside, Mapping):
        for key, child in inside.items():
            yield (f".{key}" if str(key).isidentifier() else f"[{jsontext.quote(str(key))}]"), child
    elif isinstance(inside, (list, tuple)):
        for index, child in enumerate(inside):
            yield f"[{index}]", child


def unknown(reference: Reference) -> Problem:
    """What to tell of a reference that leads nowhere."""
    if reference.version is None:
        message = f"there is no registered grader {jsontext.quote(reference.key)}."
        return Problem(f"{reference.path}.key", message, "not_found")
    message = f"there is no version {reference.version} of the registered grader {jsontext.quote(reference.key)}."
    return Problem(f"{reference.path}.version", message, "not_found")


def _references(grader: Mapping[str, Any], place: str = "$") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """They stand at the top, in a multi or in a cascade: nothing else holds graders."""
    if grader.get("type") == TYPE:
        yield place, grader
        return
    for path, child in children(grader):
        if isinstance(child, Mapping):
            yield from _references(child, f"{place}.graders{path}")


def _problems(path: str, fields: Mapping[str, Any]) -> Iterator[Problem]:
    key, version = fields.get("key"), fields.get("version")
    if key is None:
        yield Problem(f"{path}.key", "missing. It takes the key of a registered grader.", "missing_required_parameter")
    elif not isinstance(key, str):
        shown = jsontext.describe(key)
        yield Problem(f"{path}.key", f"found {shown}. It takes the key of a registered grader.", "invalid_type")
    elif KEY.fullmatch(key) is None:
        yield Problem(f"{path}.key", f"found {jsontext.quote(key)}. {KEY_RULE}")
    if version is not None and (not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 2**31):
        shown = jsontext.describe(version)
        yield Problem(f"{path}.version", f"found {shown}. It takes a whole number from 1.", "invalid_type")
    for name in fields:
        if name not in _FIELDS and name != SCHEMA:
            allowed = ", ".join(sorted(_FIELDS - {"id"}))
            yield Problem(f"{path}.{name}", f"unknown. A reference takes: {allowed}.", "unknown_parameter")


def _with_children(grader: Mapping[str, Any], known: Mapping[Wanted, Registered]) -> dict[str, Any]:
    plain = _without_note(grader)
    inside = plain.get("graders") if plain.get("type") in HOLDERS else None
    if isinstance(inside, Mapping):
        plain["graders"] = {key: _child(child, known) for key, child in inside.items()}
    elif isinstance(inside, (list, tuple)):
        plain["graders"] = [_child(child, known) for child in inside]
    return plain


def _child(child: Any, known: Mapping[Wanted, Registered]) -> Any:
    """What a registered grader holds in turn is not looked up again: references lead to no further ones."""
    if not isinstance(child, Mapping):
        return child
    if child.get("type") == TYPE:
        registered = _found(child, known)
        return _stand_in(child, registered, _without_note(registered.grader))
    return _with_children(child, known)


def _found(reference: Mapping[str, Any], known: Mapping[Wanted, Registered]) -> Registered:
    return known[reference["key"], reference.get("version")]


def _stand_in(reference: Mapping[str, Any], registered: Registered, grader: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: reference[name] for name in _OWN if reference.get(name) is not None}
    note = {"id": registered.id, "key": registered.key, "version": registered.version}
    return {"name": registered.key, **grader, **own, NOTE: note}


def _without_note(grader: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in grader.items() if key != NOTE}
