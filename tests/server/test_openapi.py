"""The OpenAPI document and the page that shows it."""

import re

from fairmark.server.openapi import document
from fairmark.server.routes import HOT, OPERATIONS
from fairmark.server.schemas import EXAMPLES
from tests.completions.provider import Provider, environment
from tests.judges.faults import FaultServer
from tests.server.client import Server, wait_for
from tests.server.conftest import Start

ROW = b'{"messages": [{"role": "user", "content": "?"}], "answer": "Paris"}'


def test_every_route_is_in_the_document(server: Server) -> None:
    found = server.get("/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    told = {(path, method.upper()) for path, methods in found["paths"].items() for method in methods}
    expected = {(each.path.replace(":path}", "}"), each.method) for each in OPERATIONS}
    assert told == expected | {(each.path, "POST") for each in HOT}


def test_every_body_has_an_example_that_is_taken(start: Start) -> None:
    with FaultServer() as model:
        model.always(Provider())
        _take_examples(start(env=environment(model)))


def _take_examples(server: Server) -> None:
    made = server.post("/v1/evals", EXAMPLES["NewEval"]).json()
    file = server.upload(ROW, purpose="fine-tune").json()
    assert server.post("/v1/chat/completions", EXAMPLES["ChatRequest"]).json()["id"] == "chatcmpl-0001"
    runs = f"/v1/evals/{made['id']}/runs"
    server.post(runs, EXAMPLES["NewRun"])
    run = server.post(runs, EXAMPLES["NewRun"]).json()["id"]
    wait_for(lambda: all(each["status"] == "completed" for each in server.get(runs).json()["data"]))
    job, lease = _take_job(server, file["id"])
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                place = path.replace("{eval_id}", made["id"]).replace("{key}", "editors")
                place = place.replace("{run_id}", run).replace("{fine_tuning_job_id}", job)
                place = place.replace("{chat_completion_id}", "chatcmpl-0001")
                example = content["application/json"]["example"]
                example = {**example, "training_file": file["id"]} if "training_file" in example else example
                example = {**example, "lease": lease} if "lease" in example else example
                example = {**example, "eval_id": made["id"]} if "eval_id" in example else example
                example = {**example, "run_id": run} if "run_id" in example else example
                answer = server.request(method.upper(), place, example)
                assert answer.status in (200, 201), answer.body


def _take_job(server: Server, file: str) -> tuple[str, str]:
    """A job that a worker has, and its lease."""
    take, worker = "/v1/fine_tuning/workers/take", EXAMPLES["FineTuningWorker"]
    assert server.post(take, worker).json()["job"] is None
    job: str = server.post("/v1/fine_tuning/jobs", {**EXAMPLES["NewFineTuningJob"], "training_file": file}).json()["id"]
    wait_for(lambda: server.get(f"/v1/fine_tuning/jobs/{job}").json()["status"] == "queued")
    taken = server.post(take, worker).json()
    assert taken["job"]["id"] == job
    return job, taken["lease"]


def test_the_docs_page_needs_nothing_from_outside(server: Server) -> None:
    answer = server.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert not re.findall(rb"https?://", answer.body)
