"""The JSON Schema that answers have to fit."""

from typing import Any

import pytest

from fairmark.graders.answer_schema import misfit, schema_problems

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": ["integer", "null"], "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        (PERSON, {"name": "A", "age": 3}, None),
        (PERSON, {"name": "A", "age": None}, None),
        (PERSON, {"age": 3}, '$: "name" is missing'),
        (PERSON, {"name": "", "age": 3}, "$.name: minLength is 1, found 0"),
        (PERSON, {"name": "A", "age": -1}, "$.age: minimum is 0, found a number (-1)"),
        (PERSON, {"name": "A", "age": 1.5}, "$.age: expected integer or null, found a number (1.5)"),
        (PERSON, {"name": "A", "x": 1}, '$: "x" is not allowed'),
        (PERSON, [], "$: expected object, found a list of 0"),
        ({"type": "integer"}, 2.0, None),
        ({"type": "integer"}, True, "$: expected integer, found true"),
        ({"enum": [1, "a"]}, 1.0, None),
        ({"enum": [1, "a"]}, True, '$: expected one of [1, "a"]'),
        ({"const": {"a": [1]}}, {"a": [1.0]}, None),
        ({"items": {"type": "string"}}, ["a", 1], "$[1]: expected string, found a number (1)"),
        ({"uniqueItems": True}, [1, 1.0], "$: an element stands twice"),
        ({"uniqueItems": True}, [1, True, "1"], None),
        ({"maxItems": 1}, [1, 2], "$: maxItems is 1, found 2"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5, "$: fits 0 of the schemas in anyOf"),
        ({"oneOf": [{"minimum": 1}, {"maximum": 9}]}, 5, "$: fits 2 of the schemas in oneOf"),
        ({"allOf": [{"minimum": 1}, {"exclusiveMaximum": 5}]}, 5, "$: exclusiveMaximum is 5, found a number (5)"),
        ({"not": {"const": 5}}, 5, "$: fits what it must not"),
        (False, 5, "$: nothing is allowed here"),
        ({"title": "t", "format": "date"}, "x", None),  # annotations
        ({"additionalProperties": {"type": "number"}}, {"a": "b"}, '$.a: expected number, found a string ("b")'),
    ],
)
def test_a_value_fits_or_it_is_told_where_not(schema: Any, value: Any, why: str | None) -> None:
    assert list(schema_problems(schema)) == []
    assert misfit(schema, value) == why


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"pattern": "a"}, ".pattern"),
        ({"$ref": "#/a"}, ".$ref"),
        ({"type": "text"}, ".type"),
        ({"properties": {"a": {"minimum": "0"}}}, ".properties.a.minimum"),
        ({"anyOf": [{}, {"enum": 1}]}, ".anyOf[1].enum"),
        ({"items": []}, ".items"),
        ({"required": [1]}, ".required"),
        ({"minLength": -1}, ".minLength"),
        ({"uniqueItems": 1}, ".uniqueItems"),
        ({"allOf": []}, ".allOf"),
        (5, ""),
    ],
)
def test_a_schema_that_is_wrong_or_not_known_is_refused(schema: Any, path: str) -> None:
    assert [problem.path for problem in schema_problems(schema)] == [path]
