"""The server against its own OpenAPI document: schemathesis sends what it allows and forbids, and looks at the answers.

Deterministic but for the ids that the server makes up. What the document cannot tell a client beforehand (a template
that does not parse, an `after` that is in no list) is refused with 400, so that valid data need not be accepted.
"""

import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.clients.behind import JudgeAndProvider
from tests.clients.conftest import ENVIRONMENTS, Server
from tests.judges.faults import FaultServer

FUZZED_S = 850
"""Minutes, and more on a busy machine."""
OF_EVERY_KIND = ("GraderRun",)
"""The body in which every variant of every field of every kind of grader is tried."""
OF_SOME_KINDS = ("string_check", "score_model", "custom")
"""The kinds in all other bodies, and in the graders that are made of graders: they are read by the same code, and all
variants a dozen times over take minutes."""
OPTIONS = {
    "--phases": "examples,coverage,fuzzing,stateful",
    "--checks": "all",
    "--exclude-checks": "positive_data_acceptance",
    "--max-examples": "10",
    "--suppress-health-check": "all",  # they are about the speed of this machine, and of generating
    "--request-timeout": "60",
    "--max-response-time": "60",
    "--report": "junit,json",
}
MODEL = """
[providers.rules]
base_url = "{url}"
[models.careful]
provider = "rules"
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what schemathesis says after a run against a server of its own."""
    folder, home = tmp_path_factory.mktemp("schemathesis"), tmp_path_factory.mktemp("server")
    with FaultServer() as model:
        model.always(JudgeAndProvider())
        (home / "fairmark.toml").write_text(MODEL.format(url=model.url))
        server = Server(home, model.url)
        try:
            _run(server, folder)
        finally:
            (folder / "log").write_text(server.stop())
    return folder


def _shortened(document: dict[str, Any]) -> dict[str, Any]:
    schemas = document["components"]["schemas"]
    every = schemas["Grader"]
    some = {**every, "oneOf": [kind for kind in every["oneOf"] if kind.get("title") in OF_SOME_KINDS]}
    reference = '"#/components/schemas/Grader"'
    assert len(some["oneOf"]) == len(OF_SOME_KINDS)
    assert reference not in json.dumps(some), "that would be all kinds again"
    for name in {"Grader", *_bodies(document)} - {*OF_EVERY_KIND}:
        schemas[name] = json.loads(json.dumps(schemas[name]).replace(reference, '"#/components/schemas/SomeGraders"'))
    schemas["SomeGraders"] = some
    return document


def _bodies(document: dict[str, Any]) -> set[str]:
    """The names of what is sent."""
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    contents = [
        body for operation in operations for body in operation.get("requestBody", {}).get("content", {}).values()
    ]
    return {body["schema"]["$ref"].rpartition("/")[2] for body in contents if "$ref" in body["schema"]}


def _run(server: Server, folder: Path) -> None:
    environment = ENVIRONMENTS / "schemathesis"
    assert (environment / ".ready").exists(), f"{environment} is missing: make setup"
    options = [part for pair in OPTIONS.items() for part in pair]
    with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=60) as answer:  # noqa: S310  # our own server
        document = json.load(answer)
    (folder / "openapi.json").write_text(json.dumps(_shortened(document)))
    ended = subprocess.run(
        [
            environment / "bin" / "schemathesis", "run", folder / "openapi.json", "--url", server.url, *options,
            "--generation-deterministic", "--header", f"Authorization: Bearer {server.new_key()}",
            "--report-junit-path", folder / "junit.xml", "--report-json-path", folder / "report.json",
        ],
        capture_output=True, text=True, cwd=folder, timeout=FUZZED_S, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )  # fmt: skip
    assert (folder / "report.json").exists(), ended.stdout + ended.stderr


def test_every_answer_is_one_that_the_document_tells(report: Path) -> None:
    """No 5xx, no other status, content type or shape, nothing taken that it forbids, nothing there once deleted."""
    wrong = {
        case.attrib["name"]: (case.findtext("failure") or case.findtext("error") or "").strip()
        for case in ElementTree.parse(report / "junit.xml").iter("testcase")  # noqa: S314  # our own tool's
        if case.find("failure") is not None or case.find("error") is not None
    }
    assert not wrong, "\n\n".join(f"{operation}\n{what}" for operation, what in wrong.items())


def test_nothing_broke_behind_the_answers(report: Path) -> None:
    """What the server works off in the background has no answer to be seen in."""
    log = (report / "log").read_text()
    # A failure stands in the log as an event with its traceback, or, where the log itself broke, as a bare one.
    assert [line for line in log.split("\n") if '"traceback":' in line or line.startswith("Traceback")] == []


def test_every_operation_was_reached_and_not_only_refused(report: Path) -> None:
    found = json.loads((report / "report.json").read_text())
    assert found["complete"]
    assert found["operations"]["tested"] == found["operations"]["total"] == len(found["valid_rates"])
    for operation, phases in found["valid_rates"].items():
        if operation.startswith("DELETE"):
            continue  # what was deleted before has taken the rest along
        if "/fine_tuning/jobs" in operation and operation != "GET /v1/fine_tuning/jobs":
            continue  # a job needs a file of rows, whose id no document can tell
        if "{response_id}" in operation or "{import_id}" in operation:
            # These need a response that was just stored, an import that goes on: tests/server/test_completions.py and
            # test_imports.py go through them.
            continue
        if "/labels" in operation or "/corrected" in operation:
            continue  # these need a run with rows, and labels of them: tests/server/test_labels.py
        if "/judge_checks" in operation and operation != "GET /v1/judge_checks":
            continue  # a check needs a judge and rows that people have judged: tests/server/test_checks.py
        if "/hacking_reports" in operation and operation != "GET /v1/hacking_reports":
            continue  # a report needs an eval with two completed runs: tests/server/test_checks.py makes one
        assert sum(each["accepted"] for each in phases.values()) > 0, operation
