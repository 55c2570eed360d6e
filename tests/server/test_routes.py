"""The table of routes: each has its own id, tells its parameters and every status that it may answer."""

import re

from fairmark.server.openapi import document


def test_every_operation_has_its_own_id_and_tells_its_path_parameters() -> None:
    seen = set()
    for path, methods in document()["paths"].items():
        for operation in methods.values():
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            told = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
            assert told == set(re.findall(r"\{(\w+)\}", path))


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
