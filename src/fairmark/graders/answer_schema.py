"""A JSON Schema for answers: the part of it that structured outputs use, checked while the grader is parsed.

A keyword that is not known here is refused: one that is silently left out would let wrong answers pass.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.errors import Problem

_ANNOTATIONS = frozenset("$schema $id $comment title description default examples format deprecated readOnly".split())
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
}
_SEVERAL = ("anyOf", "allOf", "oneOf")
_KNOWN = [
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "uniqueItems", *_COUNTS,
    *_BOUNDS, *_SEVERAL, "not",
]  # fmt: skip


def schema_problems(schema: Any, path: str = "") -> Iterator[Problem]:
    """What is wrong with a schema, or is more than we know."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        shown = jsontext.describe(schema)
        yield Problem(path, f"found {shown}. It takes a JSON Schema: an object, true or false.", "invalid_type")
        return
    for keyword, value in schema.items():
        where = f"{path}.{keyword}"
        wrong = f"found {jsontext.describe(value)}."
        match keyword:
            case _ if keyword in _ANNOTATIONS:
                pass
            case "type":
                names = value if isinstance(value, list) and value else [value]
                if not all(isinstance(name, str) and name in _TYPES for name in names):
                    yield Problem(where, f"{wrong} Use one of: {', '.join(_TYPES)}; or a list of them.")
            case "enum" if not isinstance(value, list):
                yield Problem(where, f"{wrong} It takes a list.", "invalid_type")
            case "required" if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                yield Problem(where, f"{wrong} It takes a list of strings.", "invalid_type")
            case "uniqueItems" if not isinstance(value, bool):
                yield Problem(where, f"{wrong} It takes true or false.", "invalid_type")
            case _ if keyword in _COUNTS and (type(value) is not int or value < 0):
                yield Problem(where, f"{wrong} It takes a whole number from 0.", "invalid_type")
            case _ if keyword in _BOUNDS and not _TYPES["number"](value):
                yield Problem(where, f"{wrong} It takes a number.", "invalid_type")
            case "properties" if not isinstance(value, Mapping):
                yield Problem(where, f"{wrong} It takes an object of schemas.", "invalid_type")
            case "properties":
                for name, inner in value.items():
                    yield from schema_problems(inner, f"{where}.{name}")
            case "items" | "additionalProperties" | "not":
                yield from schema_problems(value, where)
            case _ if keyword in _SEVERAL:
                if not isinstance(value, list) or not value:
                    yield Problem(where, f"{wrong} It takes a list of schemas.", "invalid_type")
                else:
                    for index, inner in enumerate(value):
                        yield from schema_problems(inner, f"{where}[{index}]")
            case _ if keyword not in _KNOWN:
                near = jsontext.nearest(str(keyword), _KNOWN)
                yield Problem(where, f"this keyword is not known here. Known are: {', '.join(_KNOWN)}.{near}")


def misfit(schema: Any, value: Any, path: str = "$") -> str | None:
    """Where and why a value does not fit, in words; None where it does."""
    return next(_misfits(schema, value, path), None)


def _misfits(schema: Any, value: Any, path: str) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{path}: nothing is allowed here"
        return
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names and not any(_TYPES[name](value) for name in names):
        yield f"{path}: expected {' or '.join(names)}, found {jsontext.describe(value)}"
        return
    if "const" in schema and not _same(schema["const"], value):
        yield f"{path}: expected {jsontext.shorten(jsontext.write(schema['const']))}"
    if "enum" in schema and not any(_same(option, value) for option in schema["enum"]):
        yield f"{path}: expected one of {jsontext.shorten(jsontext.write(schema['enum']))}"
    for keyword, holds in _BOUNDS.items():
        if keyword in schema and _TYPES["number"](value) and not holds(value, schema[keyword]):
            yield f"{path}: {keyword} is {schema[keyword]}, found {jsontext.describe(value)}"
    yield from _size_misfits(schema, value, path)
    if isinstance(value, dict):
        yield from _object_misfits(schema, value, path)
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield from _misfits(schema.get("items", True), element, f"{path}[{index}]")
        if schema.get("uniqueItems") and len({_canonical(element) for element in value}) < len(value):
            yield f"{path}: an element stands twice"
    for inner in schema.get("allOf", []):
        yield from _misfits(inner, value, path)
    if "not" in schema and misfit(schema["not"], value, path) is None:
        yield f"{path}: fits what it must not"
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            fitting = sum(misfit(inner, value, path) is None for inner in schema[keyword])
            if fitting == 0 or (keyword == "oneOf" and fitting > 1):
                yield f"{path}: fits {fitting} of the schemas in {keyword}"


def _size_misfits(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    names = ((str, "Length"), (list, "Items"), (dict, "Properties"))
    name = next((name for kind, name in names if isinstance(value, kind)), None)
    if name is not None:
        if len(value) < schema.get(f"min{name}", 0):
            yield f"{path}: min{name} is {schema[f'min{name}']}, found {len(value)}"
        if len(value) > schema.get(f"max{name}", len(value)):
            yield f"{path}: max{name} is {schema[f'max{name}']}, found {len(value)}"


def _object_misfits(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}: {jsontext.quote(name)} is missing"
    for name, inner in value.items():
        own = known[name] if name in known else schema.get("additionalProperties", True)
        if own is False and name not in known:
            yield f"{path}: {jsontext.quote(name)} is not allowed"
        else:
            yield from _misfits(own, inner, f"{path}.{name}")


def _same(first: Any, second: Any) -> bool:
    """As JSON Schema has it: 1 is 1.0, true is not 1."""
    return _canonical(first) == _canonical(second)


def _canonical(value: Any) -> str:
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    """The value with whole numbers as such."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
