"""A model that does not answer is given up for its run, and for nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.evals import silence
from fairmark.evals.silence import FAILURES, Silence
from tests.clocks import Clock, standing
from tests.evals.house import open_house
from tests.judges.faults import Status
from tests.server.client import EXACT, Server, wait_for
from tests.server.conftest import Start, start

__all__ = ["start"]

JUDGE = {
    "type": "score_model",
    "name": "judged",
    "model": "judge",
    "input": [{"role": "user", "content": "{{item.answer}}"}],
    "pass_threshold": 0.5,
}
ROWS = 3000
"""Half as many again as a run has under way at once."""
CONFIG = {"type": "custom", "item_schema": {}, "include_sample_schema": True}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return standing(monkeypatch, silence)


def test_it_takes_both_many_rows_and_a_long_time(clock: Clock) -> None:
    heard = Silence(60)
    for _ in range(FAILURES * 3):
        heard.heard("a", "dead")
    assert heard.given_up("a") is None  # a moment
    heard = Silence(60)
    for _ in range(FAILURES - 1):
        heard.heard("a", "dead")
        clock.now += 600
    assert heard.given_up("a") is None  # a few rows
    heard.heard("a", "dead.")
    assert heard.given_up("a") == (
        "not asked: given up for this run, because in 60 s and more none of 10 rows got an answer. The last: dead."
    )
    assert heard.given_up("b") is None
    heard.heard("a", None)  # somebody who was asked before is answered after all
    assert heard.given_up("a") is None


def test_an_answer_begins_anew(clock: Clock) -> None:
    heard = Silence(60)
    for number in range(FAILURES * 3):
        heard.heard("a", None if number % FAILURES == 0 else "dead")
        clock.now += 600
    assert heard.given_up("a") is None


def run_of(server: Server, criteria: list[dict[str, Any]], count: int, sampled: bool) -> dict[str, Any]:
    made = server.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": criteria}).json()
    content: list[dict[str, Any]] = [{"item": {"answer": f"{at}"}} for at in range(count)]
    source: dict[str, Any] = {"type": "jsonl"}
    if sampled:
        template = [{"role": "user", "content": "Say {{item.answer}}"}]
        source = {"type": "completions", "model": "student"}
        source["input_messages"] = {"type": "template", "template": template}
    else:
        for row in content:
            row["sample"] = {"output_text": row["item"]["answer"]}
    # By a file: a run shows the rows of its request to whoever looks at it.
    file = server.upload("\n".join(map(json.dumps, content)).encode()).json()
    source["source"] = {"type": "file_id", "id": file["id"]}
    path = f"/v1/evals/{made['id']}/runs"
    path += "/" + server.post(path, {"data_source": source}).json()["id"]
    wait_for(lambda: server.get(path).json()["status"] == "completed", 60)
    run: dict[str, Any] = server.get(path).json()
    return run


@pytest.mark.parametrize("sampled", [False, True], ids=["judge", "student"])
def test_a_run_does_not_wait_for_a_dead_model_row_by_row(start: Start, tmp_path: Path, sampled: bool) -> None:
    """Each row would wait until its own deadline, and there are more than may be under way at once."""
    with open_house() as models:
        models.always(Status(503, "gone fishing"))
        limits = {"CONCURRENCY": "4", "RETRIES": "1000", "DEADLINE_S": "1", "GIVE_UP_S": "0.5"}
        server = start(env=models.environment | {f"FAIRMARK_JUDGE_{name}": value for name, value in limits.items()})
        run = run_of(server, [EXACT] if sampled else [EXACT, JUDGE], ROWS, sampled)
    assert run["result_counts"]["errored"] == ROWS
    told = {reason["reason"]: reason["count"] for reason in run["error_reasons"]}
    given_up = [count for reason, count in told.items() if "given up for this run" in reason]
    assert sum(given_up) > 100, told
    if not sampled:
        (exact, _) = run["per_testing_criteria_results"]
        assert exact["passed"] == ROWS
