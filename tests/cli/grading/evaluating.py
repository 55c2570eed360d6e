"""Data, graders and models for fairmark eval, and what its results file holds."""

import json
from pathlib import Path
from typing import Any

from tests.judges.faults import FaultServer

EXACT = json.dumps(
    {
        "type": "string_check",
        "name": "exact",
        "input": "{{sample.output_text}}",
        "reference": "{{item.a}}",
        "operation": "eq",
    }
)

CAPITALS = ["examples/capitals.jsonl", "--grader", "examples/exact.json"]


def data(path: Path, count: int = 10) -> str:
    rows = [{"item": {"a": str(i)}, "sample": str(i if i % 4 else -1)} for i in range(1, count + 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewards(path: Path) -> list[tuple[int, float]]:
    return [(line["row"], line["results"]["exact"]["reward"]) for line in lines(path)]


JUDGED = json.dumps(
    {
        "type": "score_model",
        "name": "judged",
        "model": "judge",
        "input": [{"role": "user", "content": "Rate {{sample.output_text}} as {{item.a}}."}],
    }
)


def judging(server: FaultServer, home: Path) -> dict[str, str]:
    """One question at a time, so that it is known which rows are within a budget."""
    return {
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "FAIRMARK_HOME": str(home / "home"),
        "FAIRMARK_JUDGE_CONCURRENCY": "1",
        "FAIRMARK_JUDGE_CACHE": "off",
    }


def statuses(path: Path, label: str = "judged") -> list[tuple[int, str]]:
    return [(line["row"], line["results"][label]["status"]) for line in lines(path)]
