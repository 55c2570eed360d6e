"""The OpenAPI document and the page that shows it."""

import re
from typing import Any

from fairmark.server.openapi import document
from fairmark.server.routes import HOT, OPERATIONS
from tests.server.client import Server


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(each) for each in value.values()))
    return set().union(*(references(each) for each in value)) if isinstance(value, list) else set()


def test_every_route_is_in_the_document(server: Server) -> None:
    found = server.get("/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    told = {(path, method.upper()) for path, methods in found["paths"].items() for method in methods}
    expected = {(each.path.replace(":path}", "}"), each.method) for each in OPERATIONS}
    assert told == expected | {(each.path, "POST") for each in HOT}


def test_what_the_document_refers_to_is_in_it_and_nothing_is_there_in_vain() -> None:
    schemas = {f"#/components/schemas/{name}" for name in document()["components"]["schemas"]}
    assert references(document()) == schemas


def test_every_operation_has_its_own_id_and_tells_its_path_parameters() -> None:
    seen = set()
    for path, methods in document()["paths"].items():
        for operation in methods.values():
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            told = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
            assert told == set(re.findall(r"\{(\w+)\}", path))


def test_the_docs_page_needs_nothing_from_outside(server: Server) -> None:
    answer = server.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.findall(rb"https?://", answer.body)
