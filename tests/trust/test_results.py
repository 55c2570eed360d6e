"""Results files as graded rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.trust.results import range_of, read_results


def line(reward: float, **more: Any) -> dict[str, Any]:
    result = {"reward": reward, "passed": reward >= 0.5, "status": "graded", **more}
    return {"row": 1, "graders": "x", "results": {"judged": result}, "item": {"q": 1}, "sample": {"output_text": "a b"}}


def write(path: Path, *lines: Any) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return str(path)


def test_rows_that_could_not_be_graded_have_no_reward(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.jsonl",
        line(0.75, spread={"agreement": 0.5}),
        line(0, status="error", error="x"),
        line(0.5, sub_rewards={"a": 1}),
    )
    run = read_results(path)
    assert [row.reward for row in run.rows] == [0.75, None, 0.5]
    assert len(run.graded) == 2
    assert run.rows[0].split
    assert run.rows[0].text == "a b"
    assert run.rows[2].components == {"a": 1}
    assert range_of([run]) == (0.0, 1.0)
    assert range_of([run], (1, 5)) == (1, 5)


def test_what_is_no_results_file_is_told_with_its_line(tmp_path: Path) -> None:
    two = {**line(1), "results": {"a": {"reward": 1}, "b": {"reward": 0, "passed": False}}}
    path = write(tmp_path / "r.jsonl", two, two)
    assert read_results(path, "b").rows[0].reward == 0.0
    with pytest.raises(InvalidData, match=r"it has results of a, b\. Say which: --criterion NAME"):
        read_results(path)
    with pytest.raises(InvalidData, match=r'line 1: no result of "c"\. It has: a, b'):
        read_results(path, "c")
    with pytest.raises(InvalidData, match="line 2: not a line of results"):
        read_results(write(tmp_path / "r.jsonl", line(1), {"item": {}}))
    (tmp_path / "r.jsonl").write_text("{")
    with pytest.raises(InvalidData, match="line 1: not JSON"):
        read_results(path)
    with pytest.raises(InvalidData, match="no such file"):
        read_results(str(tmp_path / "none"))
