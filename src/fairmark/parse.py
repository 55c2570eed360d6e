"""Grader JSON in -> a typed spec, or InvalidGrader with every problem it has."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fairmark import jsontext
from fairmark.errors import InvalidGrader, Problem
from fairmark.graders import all_kinds, find
from fairmark.references import SCHEMA
from fairmark.row import chars
from fairmark.spec import GraderSpec

Grader = GraderSpec | Mapping[str, Any] | str | bytes
"""What callers may pass as a grader: JSON as a dict or as text, or a spec that was parsed before."""

LONG_GRADER_CHARS = 32_000
"""Shorter ones are read within some hundredths of a second, whatever is in them."""
_CACHE_SIZE = 256
_CACHE_BYTES = 2_000_000
_cache: OrderedDict[bytes, GraderSpec] = OrderedDict()
_lock = threading.RLock()  # a package may parse a grader of its own while it is imported for a kind


@dataclass(frozen=True, slots=True)
class Validation:
    """What `validate` found. `grader` is the normalised JSON, None where the grader is not valid."""

    valid: bool
    errors: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    grader: dict[str, Any] | None = None


def validate(grader: Grader) -> Validation:
    """Check a grader without running anything. Never raises on bad JSON: it tells every problem."""
    try:
        spec = parse(grader)
    except InvalidGrader as error:
        return Validation(False, errors=error.problems)
    return Validation(True, warnings=[*spec.all_warnings, *spec.remarks()], grader=spec.echo())


def parse(grader: Grader) -> GraderSpec:
    """The typed spec of a grader. Raises InvalidGrader. Equal JSON is parsed once and shared: specs never change."""
    if isinstance(grader, GraderSpec):
        return grader
    fields = read(grader)
    try:
        key = msgspec.msgpack.encode(fields)  # not JSON, where NaN and null are the same bytes
    except (TypeError, ValueError, OverflowError):
        return _parse_at("$", fields)
    spec = _cache.get(key)
    if spec is None:
        # One thread at a time: pydantic builds a spec's validator when it is first used.
        with _lock:
            spec = _parse_at("$", fields)
            _remember(key, spec)
    return spec


def _remember(key: bytes, spec: GraderSpec) -> None:
    """As many as are few, and short: a spec takes many times the memory of its JSON."""
    _cache[key] = spec
    while len(_cache) > _CACHE_SIZE or (len(_cache) > 1 and sum(map(len, _cache)) > _CACHE_BYTES):
        _cache.popitem(last=False)


async def aparse(grader: Grader) -> GraderSpec:
    """`parse` for event loops that others need too: a long grader is read in a thread."""
    if not _is_long(grader):
        return parse(grader)
    import asyncio  # only callers on an event loop come here

    return await asyncio.to_thread(parse, grader)


async def avalidate(grader: Grader) -> Validation:
    """`validate` for event loops that others need too."""
    if not _is_long(grader):
        return validate(grader)
    import asyncio

    return await asyncio.to_thread(validate, grader)


def _is_long(grader: Grader) -> bool:
    if isinstance(grader, GraderSpec):
        return grader.own_chars > LONG_GRADER_CHARS
    return (len(grader) if isinstance(grader, (str, bytes)) else chars(grader)) > LONG_GRADER_CHARS


def read(grader: Any) -> dict[str, Any]:
    """The JSON of a grader as callers pass it, not yet looked into."""
    if isinstance(grader, (str, bytes)):
        try:
            grader = jsontext.decode(grader.lstrip("\ufeff") if isinstance(grader, str) else grader)
        except jsontext.NotJson as error:
            raise InvalidGrader.at("$", f"the grader is not JSON: {error}.", "invalid_grader") from None
    if not isinstance(grader, Mapping):
        raise InvalidGrader.at("$", _no_object(grader), "invalid_type")
    fields = dict(grader)
    if jsontext.deeper_than(fields, jsontext.MAX_DEPTH):
        message = f"the grader is nested deeper than {jsontext.MAX_DEPTH} levels."
        raise InvalidGrader.at("$", message, "invalid_grader")
    return fields


def _no_object(value: Any) -> str:
    return f"a grader is an object with a type, found {jsontext.describe(value)}."


def _parse_at(path: str, value: Any) -> GraderSpec:
    if isinstance(value, GraderSpec):
        return value
    if not isinstance(value, Mapping):
        raise InvalidGrader.at(path, _no_object(value), "invalid_type")
    spec_class = _spec_class(path, value)
    fields, spelled, problems = _canonical(spec_class, value)
    spec: GraderSpec | None = None
    try:
        spec = spec_class.model_validate(fields, context={"parse": lambda child: _parse_at("", child)})
    except ValidationError as error:
        for details in error.errors(include_url=False):
            problems += _problems(spec_class, details, spelled)
    problems += spec_class.cross_check(fields)
    if problems or spec is None:
        raise InvalidGrader([problem.below(path) for problem in problems])
    return spec


def _spec_class(path: str, fields: Mapping[str, Any]) -> type[GraderSpec]:
    kind = fields.get("type")
    if isinstance(kind, str):
        try:
            return find(kind).spec
        except InvalidGrader as error:
            raise InvalidGrader([problem.below(path) for problem in error.problems]) from error.__cause__
    allowed = f"Use one of: {', '.join(all_kinds())}."
    if kind is None:
        raise InvalidGrader.at(f"{path}.type", f"missing. {allowed}", "missing_required_parameter")
    raise InvalidGrader.at(f"{path}.type", f"unknown type {jsontext.describe(kind)}. {allowed}")


def _canonical(
    spec_class: type[GraderSpec], raw: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str], list[Problem]]:
    """The fields under their own names, a missing name filled in; field -> how the user spelled it; what clashes."""
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    problems: list[Problem] = []
    for key, value in raw.items():
        if key == SCHEMA:
            continue
        name = spec_class.other_names.get(key, str(key))
        if name != key and name in raw:
            continue
        if name in fields:
            message = f"{spelled[name]} and {key} are two spellings of {name}. Use one of them."
            problems.append(Problem(f".{key}", message))
        fields[name] = value
        spelled[name] = str(key)
    if fields.get("name") is None:
        fields["name"] = fields["type"]
    return fields, spelled, problems


def _problems(spec_class: type[GraderSpec], details: ErrorDetails, spelled: Mapping[str, str]) -> list[Problem]:
    """One of pydantic's errors in our words, or the problems that a field's own parser found."""
    location = details["loc"]
    name = str(location[0]) if location else ""
    path = f".{spelled.get(name, name)}" if name else ""
    for step in location[1:]:
        # Union members and validators leave their own names in the location; only list indices are places.
        path += f"[{step}]" if isinstance(step, int) else ""
    value = details["input"]
    match details["type"]:
        case "missing":
            return [Problem(path, f"missing. {_wanted(spec_class, name)}".rstrip(), "missing_required_parameter")]
        case "literal_error":
            shown = jsontext.quote(value) if isinstance(value, str) else jsontext.describe(value)
            wanted = _wanted(spec_class, name)
            options = wanted.removeprefix("Use one of: ").rstrip(".").split(", ")
            near = jsontext.nearest(value, options) if isinstance(value, str) else ""
            return [Problem(path, f"unknown {name} {shown}. {wanted}{near}")]
        case "value_error" | "assertion_error":
            error = details["ctx"]["error"]
            if isinstance(error, InvalidGrader):
                return [problem.below(path) for problem in error.problems]
            return [Problem(path, f"{error}")]
        case "finite_number":
            return [Problem(path, f"found {value}. {_wanted(spec_class, name)}")]
        case _:
            # A bound that a field's type sets, as other packages' kinds may, stands in pydantic's message only.
            wanted = "" if "ctx" in details else _wanted(spec_class, name)
            return [
                Problem(path, f"found {jsontext.describe(value)}. {wanted or details['msg'] + '.'}", "invalid_type")
            ]


def _wanted(spec_class: type[GraderSpec], name: str) -> str:
    """What a field takes, in words, from its type; "" where we have none for it."""
    if name not in spec_class.model_fields:  # the whole is wrong, not one field
        return ""
    annotation: Any = spec_class.model_fields[name].annotation
    parts = [part for part in get_args(annotation) if part is not type(None)]
    if len(parts) == 1 and get_origin(parts[0]) is Literal:  # one that may be null
        annotation, parts = parts[0], list(get_args(parts[0]))
    if get_origin(annotation) is Literal:
        return f"Use one of: {', '.join(map(str, parts))}."
    if wanted := next((part.wanted for part in (annotation, *parts) if hasattr(part, "wanted")), None):
        return str(wanted)
    if annotation is bool:
        return "It takes true or false."
    if get_origin(annotation) is Mapping:
        return "It takes an object."
    if get_origin(annotation) is Sequence:
        return "It takes a list of strings."
    if annotation is str or str in parts:
        return "It takes a string."
    plain = [get_args(part)[0] if get_origin(part) is Annotated else part for part in (annotation, *parts)]
    return "It takes a number." if int in plain or float in plain else ""
