"""Graders with the embedded model as their judge: real questions and real answers, whatever these are worth."""

import json
import os
from pathlib import Path
from typing import Any

from fairmark.errors import ERROR_KEYS
from tests import command

_GRADE = "import fairmark, json, sys; print(fairmark.grade(*json.load(sys.stdin)).model_dump_json())"


def grade_by_smollm2(grader: dict[str, Any], sample: Any, item: dict[str, Any], home: Path) -> dict[str, Any]:
    """The result in its wire form, made in a process of its own with an empty data folder, and known to be whole."""
    grader = {"model": "local/smollm2", "sampling_params": {"max_tokens": 200}, **grader}
    env, given = {**os.environ, "FAIRMARK_HOME": str(home)}, json.dumps([grader, sample, item])
    done = command.python(_GRADE, env=env, cwd=home, stdin=given, timeout_s=300)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["status"] in ("graded", "skipped", "error")
    assert 0.0 <= result["reward"] <= 1.0
    assert (result["error"] is None) == (result["status"] != "error")
    assert (result["skipped"] is None) == (result["status"] != "skipped")
    assert any(result["metadata"]["errors"][key] for key in ERROR_KEYS) == (result["status"] == "error")
    assert any("local/smollm2" in warning for warning in result["warnings"])
    assert result["judgements"]
    for judgement in result["judgements"]:
        assert judgement["model"] == "local/smollm2"
        assert judgement["error"] is not None or judgement["usage"]["total_tokens"] > 0
        assert judgement["sampling_params"]["temperature"] == 0
    return result
