"""The real adaptive-sdk as a peer, in both directions: its reward server is asked by us, its client asks ours."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.endpoints.addresses import read_allowed
from fairmark.endpoints.client import EndpointClient
from fairmark.parse import parse
from fairmark.run import CONTEXT, grade_parts
from fairmark.work import eventloop
from tests.rewardserver.test_app import EXACT, serving

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-clients" / "adaptive"
pytestmark = pytest.mark.thorough  # as the other packages of others


def command(script: str) -> list[str]:
    assert (ENVIRONMENT / ".ready").exists(), f"{ENVIRONMENT} is missing: make setup"
    return [str(ENVIRONMENT / "bin" / "python"), "-m", f"tests.endpoints.peers.{script}"]


@contextmanager
def their_server() -> Iterator[str]:
    process = subprocess.Popen(
        command("adaptive_server"),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with their_server() as url:
        yield url


@pytest.fixture
def client() -> Iterator[EndpointClient]:
    client = EndpointClient(read_allowed("127.0.0.1"))
    yield client
    eventloop.run(client.close())


def graded(client: EndpointClient, url: str, rows: list[tuple[dict[str, Any], str]]) -> list[fairmark.Result]:
    spec = parse({"type": "endpoint", "url": url})
    parts = [({"question": "A number?", "metadata": metadata}, sample) for metadata, sample in rows]
    return eventloop.run(grade_parts(spec, parts, replace(CONTEXT, endpoints=client)))


def test_their_server_scores_our_rows_and_its_reasons_are_shown(client: EndpointClient, url: str) -> None:
    results = graded(client, url, [({"minimum": number}, "13") for number in range(200)])
    assert [result.reward for result in results] == [1.0] * 13 + [0.0] * 187
    assert (results[0].printed, results[13].printed) == ("13 exceeds 0", "13 does not exceed 13")


def test_a_row_that_their_schema_refuses_fails_alone(client: EndpointClient, url: str) -> None:
    rows: list[tuple[dict[str, Any], str]] = [({"minimum": 1}, "2")] * 10
    rows[3] = ({"minimum": "many"}, "2")
    rows[7] = ({"minimum": 1, "surprise": 2}, "2")
    results = graded(client, url, rows)
    assert [index for index, result in enumerate(results) if result.status == "error"] == [3, 7]
    assert "422" in str(results[3].error)
    assert "Extra inputs are not permitted" in str(results[7].error)


def test_a_row_that_their_rule_breaks_on_fails_alone(client: EndpointClient, url: str) -> None:
    results = graded(client, url, [({"minimum": 1}, text) for text in ("2", "thirteen", "3")])
    assert [result.status for result in results] == ["graded", "error", "graded"]
    assert "500" in str(results[1].error)


def test_their_info_is_what_a_probe_tells(client: EndpointClient, url: str) -> None:
    spec: Any = parse({"type": "endpoint", "url": url})
    assert eventloop.run(client.info(spec.target)) == ("primes", "1.2", "Numbers above a minimum.")


def test_their_client_gets_what_it_expects_from_our_server(tmp_path: Path) -> None:
    with serving(tmp_path, EXACT) as url:
        done = subprocess.run(
            [*command("adaptive_client"), url],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    info = {
        "version": fairmark.__version__,
        "name": "exact",
        "description": "string_check: Compare two texts; the reward is 1 or 0.",
    }
    right = {"reward": 1.0, "metadata": {"status": "graded", "passed": True}, "id": None}
    assert (facts["info"], facts["blocking info"]) == (info, info)
    assert (facts["score"], facts["blocking batch"]) == (right, right)
    assert [response["reward"] for response in facts["batch"]] == [1.0, 0.0, 0.0]
    assert [response["metadata"]["status"] for response in facts["batch"]] == ["graded", "graded", "error"]
    assert facts["without metadata"]["metadata"]["status"] == "error"
    assert facts["metadata is valid"] is True
    assert facts["unknown field"] == 422
