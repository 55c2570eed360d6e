"""JSON schemas that two validators read alike."""

from collections.abc import Iterator
from typing import Any

_VALUES = {"const", "enum", "default", "examples", "title", "description", "$comment", "$schema"}
_NUMBERS = {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("minProperties", "maxProperties"),
}
_PLAIN = _VALUES | _NUMBERS | {"type", "required", "uniqueItems"}
_ONE = {"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"}
_MANY = {"anyOf", "allOf", "oneOf"}
_NAMED = {"properties"}


def strange(schema: Any, path: str = "") -> Iterator[str]:
    """What in a schema may be judged otherwise by promptfoo's validator: patterns and formats, which are of another
    language, references, and keywords that one of the two does not know."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield path or "the schema"
        return
    for keyword, value in schema.items():
        place = f"{path}.{keyword}" if path else keyword
        if keyword in _PLAIN:
            if keyword in _NUMBERS and (isinstance(value, bool) or not isinstance(value, (int, float))):
                yield place
        elif keyword in _ONE and not isinstance(value, list):
            yield from strange(value, place)
        elif keyword in _MANY and isinstance(value, list):
            for index, inner in enumerate(value):
                yield from strange(inner, f"{place}[{index}]")
        elif keyword in _NAMED and isinstance(value, dict):
            for name, inner in value.items():
                yield from strange(inner, f"{place}.{name}")
        else:
            yield place
