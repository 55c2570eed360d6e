"""The rows of one evaluation: which are still to be graded, and what stops it. The whole command: test_evaluate.py."""

from pathlib import Path

import pytest
from rich.console import Console

from fairmark.cli.grading.job import EvalJob
from fairmark.data.dataset import DataFile
from fairmark.data.results import StoredResult, StoredRow
from fairmark.errors import InvalidData
from fairmark.parse import parse

GRADER = parse({"type": "string_check", "name": "exact", "operation": "eq", "input": "{{item.a}}", "reference": "x"})


def job(folder: Path, lines: str, skip_bad_rows: bool = False) -> EvalJob:
    path = folder / "rows.jsonl"
    path.write_text(lines)
    return EvalJob(DataFile(str(path)), {"exact": GRADER}, skip_bad_rows, Console(quiet=True))


def stored(row: int, letter: str, skipped: str | None = None) -> StoredRow:
    return StoredRow(row, "mark", {"exact": StoredResult(1.0, True, skipped=skipped)}, {"a": letter})


def test_all_rows_are_to_be_graded_where_nothing_was_before(tmp_path: Path) -> None:
    assert [row.item for row in job(tmp_path, '{"a": "x"}\n{"a": "y"}\n').rows()] == [{"a": "x"}, {"a": "y"}]


def test_rows_from_before_are_counted_and_only_those_that_were_skipped_are_graded_again(tmp_path: Path) -> None:
    going_on = job(tmp_path, '{"a": "x"}\n{"a": "y"}\n{"a": "z"}\n{"a": "w"}\n')
    assert going_on.go_on_after([stored(1, "x"), stored(2, "y", skipped="budget"), stored(3, "z")])
    assert [row.number for row in going_on.rows()] == [2, 4]
    assert (going_on.tally.rows, going_on.resumed_rows) == (2, 2)


def test_data_that_are_other_rows_than_before_cannot_go_on(tmp_path: Path) -> None:
    going_on = job(tmp_path, '{"a": "x"}\n{"a": "y"}\n')
    going_on.go_on_after([stored(1, "other")])
    with pytest.raises(InvalidData, match="row 1 is not the row that was graded; cannot resume"):
        list(going_on.rows())


def test_a_bad_row_stops_everything_unless_the_user_said_to_go_on(tmp_path: Path) -> None:
    lines = '{"a": "x"}\n[1]\n{"a": "y"}\n'
    with pytest.raises(InvalidData, match=r"--skip-bad-rows goes on without such rows") as stopped:
        list(job(tmp_path, lines).rows())
    assert stopped.value.row == 2
    tolerant = job(tmp_path, lines, skip_bad_rows=True)
    assert [row.number for row in tolerant.rows()] == [1, 3]
    assert tolerant.bad_rows == 1
