"""The schemas of the OpenAPI document, as a whole."""

from typing import Any

from fairmark.server.openapi import document


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(inner) for inner in value.values()))
    return set().union(*(references(inner) for inner in value)) if isinstance(value, list) else set()


def test_what_the_document_refers_to_is_in_it_and_nothing_is_there_in_vain() -> None:
    schemas = {f"#/components/schemas/{name}" for name in document()["components"]["schemas"]}
    assert references(document()) == schemas
