"""Graders in the OpenAPI document: told by the types of their fields."""

from typing import Any

from fairmark.graders import KINDS
from fairmark.server.openapi import document


def bare(field: dict[str, Any]) -> dict[str, Any]:
    """Without the words for people."""
    return {name: value for name, value in field.items() if name not in ("title", "description")}


def test_a_grader_is_described_by_the_types_of_its_fields() -> None:
    kinds = {kind["title"]: kind for kind in document()["components"]["schemas"]["Grader"]["oneOf"]}
    assert list(kinds) == [*KINDS, "registered"]
    check = kinds["string_check"]
    assert check["required"] == ["type", "input", "reference", "operation"]
    assert bare(check["properties"]["operation"]) == {"enum": ["eq", "ne", "like", "ilike", "neq"]}
    assert bare(check["properties"]["input"]) == {"type": "string"}
    judge = kinds["label_model"]["properties"]
    assert bare(judge["labels"]) == {"type": "array", "items": {"type": "string"}}
    assert bare(judge["guard"]) == {"type": "boolean", "default": False}
    assert judge["input"]["items"] == {"$ref": "#/components/schemas/Message"}
