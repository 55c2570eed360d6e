"""The OpenAPI document and the page that shows it."""

import re
from typing import Any

from fairmark.graders import KINDS
from fairmark.server.openapi import document
from fairmark.server.routes import HOT, OPERATIONS
from fairmark.server.schemas import EXAMPLES
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


def test_every_body_has_an_example_that_is_taken(server: Server) -> None:
    made = server.post("/v1/evals", EXAMPLES["NewEval"]).json()
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                place = path.replace("{eval_id}", made["id"]).replace("{key}", "editors")
                answer = server.request(method.upper(), place, content["application/json"]["example"])
                assert answer.status in (200, 201), answer.body


def test_a_grader_is_described_by_the_types_of_its_fields() -> None:
    found = {each["title"]: each for each in document()["components"]["schemas"]["Grader"]["oneOf"]}
    assert list(found) == [*KINDS, "registered"]
    check = found["string_check"]
    assert check["required"] == ["type", "input", "reference", "operation"]
    assert check["properties"]["operation"] == {"enum": ["eq", "ne", "like", "ilike", "neq"]}
    assert check["properties"]["input"] == {"type": "string"}
    judge = found["label_model"]["properties"]
    assert judge["labels"] == {"type": "array", "items": {"type": "string"}}
    assert judge["guard"] == {"type": "boolean"}
    assert judge["input"]["items"] == {"$ref": "#/components/schemas/Message"}


def test_every_operation_tells_each_status_that_it_may_answer() -> None:
    told = {
        (path, method): " ".join(operation["responses"])
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    }
    assert told["/healthz", "get"] == "200"
    assert told["/readyz", "get"] == "200 503"
    assert told["/v1/models", "get"] == "200 401 403 429 503"
    assert told["/v1/evals", "get"] == "200 400 401 403 429 503"
    assert told["/v1/evals", "post"] == "201 400 401 403 408 413 429 503 507"
    assert told["/v1/evals/{eval_id}/runs/{run_id}/cancel", "post"] == "200 401 403 404 408 413 429 503 507"
    assert told["/v1/rewards", "post"] == "200 400 401 403 409 408 413 429 503 507"
    assert told["/v1/graders/{key}", "patch"] == "200 400 401 403 404 409 423 408 413 429 503 507"
    assert told["/v1/graders/{key}", "delete"] == "200 401 403 404 423 429 503 507"


def test_the_docs_page_needs_nothing_from_outside(server: Server) -> None:
    answer = server.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert not re.findall(rb"https?://", answer.body)
