"""OpenRLHF's executor of single turns with our server behind its address, and with a file of ours."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests import command
from tests.trainers.real.peers.grader import both

PARIS = {"fairmark/error": [0.0], "fairmark/exact": [1.0], "fairmark/code": [0.5]}
ROME = {"fairmark/error": [0.0], "fairmark/exact": [0.0], "fairmark/code": [0.4]}
FAILED = {"fairmark/error": [1.0], "fairmark/exact": [0.0], "fairmark/code": [0.0]}


@pytest.fixture(scope="module")
def facts(calls: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("server")
    (folder / "grader.json").write_text(json.dumps(both("{{item.label}}")))
    environment = {"PATH": os.environ["PATH"], "FAIRMARK_HOME": str(folder)}
    arguments = ["reward-server", "--grader", "grader.json", "--port", "0"]
    with (folder / "log").open("w") as log:
        server = command.start(arguments, cwd=folder, env=environment, stderr=log)
    assert server.stdout is not None
    try:
        return calls("openrlhf", server.stdout.readline().split()[-1])
    finally:
        server.kill()
        server.wait(60)
        server.stdout.close()


def entry(reward: float, logs: dict[str, list[float]], score: str | None = None) -> dict[str, str]:
    return {"reward": f"[{reward}]", "scores": score or f"[{reward}]", "extra_logs": str(logs)}


@pytest.mark.parametrize("way", ["server", "own_file"])
def test_prompt_and_end_marks_are_cut_and_a_failure_is_zero_and_logged(facts: dict[str, Any], way: str) -> None:
    rows = facts[way]
    assert rows[:2] == [entry(1.5, PARIS), entry(0.4, ROME)]
    assert rows[2]["reward"] == "[0.0]"
    assert "'fairmark/error': [1.0]" in rows[2]["extra_logs"]


def test_a_masked_failure_has_a_score_that_filtering_drops(facts: dict[str, Any]) -> None:
    """Two addresses take turns; the second masks."""
    assert [row["scores"] for row in facts["two_servers"]] == ["[0.0]", "[nan]"]
    assert [row["reward"] for row in facts["two_servers"]] == ["[0.0]", "[0.0]"]


def test_a_label_that_is_the_text_of_an_object_is_read(facts: dict[str, Any]) -> None:
    assert facts["label"][0]["reward"] == "[1.4]"


def test_a_row_without_end_and_a_killed_process_fail_alone(facts: dict[str, Any]) -> None:
    assert facts["bad_luck"] == [entry(1.5, PARIS), entry(0.0, FAILED, "[nan]"), entry(0.0, FAILED, "[nan]")]


def test_rows_that_are_asked_together_get_what_one_gets(facts: dict[str, Any]) -> None:
    assert facts["many"] == 1
