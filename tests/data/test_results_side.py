"""Results files as sides of a comparison."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.data.comparing import Outcomes
from fairmark.data.results_side import read_side
from fairmark.errors import InvalidData


def line(row: int, **result: Any) -> str:
    return json.dumps({"row": row, "graders": "g", "results": {"exact": result}, "item": {"a": row}}) + "\n"


def test_a_file_is_read_with_errors_and_skipped_rows_apart(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(
        line(1, reward=1.0, passed=True, judgements=[{"cost": 0.5}, {"cost": None}])
        + line(2, reward=0.25, passed=False)
        + line(3, reward=0.0, passed=False, error="no")
        + line(5, reward=0.0, skipped="budget")
    )
    side = read_side(str(path))
    assert side.columns["exact"].counts() == Outcomes(1, 1, 1, 1)
    assert list(side.columns["exact"].numbers) == [0, 1, 2, 4]
    assert (side.mark, side.cost, side.rows) == ("g", 0.5, 4)
    assert side.without_threshold == set()


def test_without_a_threshold_half_the_reward_passes_and_the_mean_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(line(1, reward=0.5, passed=None) + line(2, reward=0.4, passed=None))
    side = read_side(str(path))
    assert side.columns["exact"].counts() == Outcomes(1, 1)
    assert side.without_threshold == {"exact"}


def test_warnings_are_counted_once_a_row(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    results = {label: {"reward": 0.0, "passed": False, "warnings": ["no sample"]} for label in ("one", "other")}
    path.write_text(json.dumps({"row": 1, "graders": "g", "results": results, "item": {}}) + "\n")
    assert read_side(str(path)).warned.counts == {"no sample": 1}


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(line(1, reward=1.0) + line(2, reward=1.0)[:-9])
    assert read_side(str(path)).rows == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        ("", "there are no rows in it"),
        ('{"item": {}, "sample": "x"}\n', "line 1: not a line of results"),
        (line(1, reward=1.0) + "x\n", "line 2: not a line of results"),
    ],
)
def test_what_is_no_results_file_is_told(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "r.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidData, match=words):
        read_side(str(path))
