"""The server against its own OpenAPI document: schemathesis sends what it allows and forbids, and looks at the answers.

Deterministic but for the ids that the server makes up. What the document cannot tell a client beforehand (a template
that does not parse, an `after` that is in no list) is refused with 400, so that valid data need not be accepted.
"""

import json
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.clients.conftest import ENVIRONMENTS, LIMIT_S, Server
from tests.clients.judge import RuleBasedModel
from tests.judges.faults import FaultServer, Status

OPTIONS = {
    "--phases": "examples,coverage,fuzzing,stateful",
    "--checks": "all",
    "--exclude-checks": "positive_data_acceptance",
    "--max-examples": "15",
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
        model.always(RuleBasedModel())
        model.always(Status(404, "no embeddings here"), path="/embeddings")
        (home / "fairmark.toml").write_text(MODEL.format(url=model.url))
        server = Server(home, model.url)
        try:
            _run(server, folder)
        finally:
            (folder / "log").write_text(server.stop())
    return folder


def _run(server: Server, folder: Path) -> None:
    environment = ENVIRONMENTS / "schemathesis"
    assert (environment / ".ready").exists(), f"{environment} is missing: make setup"
    options = [part for pair in OPTIONS.items() for part in pair]
    ended = subprocess.run(
        [
            environment / "bin" / "schemathesis", "run", f"{server.url}/openapi.json", *options,
            "--generation-deterministic", "--header", f"Authorization: Bearer {server.new_key()}",
            "--report-junit-path", folder / "junit.xml", "--report-json-path", folder / "report.json",
        ],
        capture_output=True, text=True, cwd=folder, timeout=LIMIT_S, check=False,
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
        assert sum(each["accepted"] for each in phases.values()) > 0, operation
