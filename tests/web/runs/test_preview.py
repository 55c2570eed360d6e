"""A look at the first rows of a file: what is in them, and what of them will not do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.web.runs import preview

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def new(*rows: Any) -> Path:
        path = tmp_path / "stored-under-an-id"
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    return new


def test_rows_columns_and_answers_are_counted(write: Write) -> None:
    path = write({"item": {"q": 1, "a": 2}}, {"item": {"b": 3}, "sample": {"output_text": "x"}}, {"item": {"q": 4}})
    seen = preview.look(path, "mine.jsonl", [])
    assert (seen.rows_read, seen.is_all, seen.sampled, list(seen.columns)) == (3, True, 1, ["q", "a", "b"])
    assert [row.item for row in seen.rows] == [{"q": 1, "a": 2}, {"b": 3}, {"q": 4}]


def test_a_field_that_criteria_need_and_rows_lack_is_told_with_who_needs_it(write: Write) -> None:
    path = write({"item": {"q": 1}}, {"item": {"q": 1, "a": 2}})
    seen = preview.look(path, "mine.jsonl", [("exact", ["q", "a"]), ("judge", ["a"]), ("other", ["z"])])
    assert [tuple(each) for each in seen.missing] == [("a", ("exact", "judge"), 1), ("z", ("other",), 2)]


def test_rows_that_cannot_be_read_are_told_by_their_line_the_first_of_them(write: Write) -> None:
    seen = preview.look(write({"item": {"q": 1}}, *["no json"] * 9), "mine.jsonl", [])
    assert (len(seen.rows), len(seen.problems)) == (1, preview.PROBLEMS_SHOWN)
    assert "line 2" in seen.problems[0]
    assert "stored-under-an-id" not in seen.problems[0]


def test_of_a_long_file_the_first_rows_are_read(write: Write) -> None:
    seen = preview.look(write(*[{"item": {"n": n}} for n in range(preview.ROWS_READ + 1)]), "mine.jsonl", [])
    assert (seen.rows_read, seen.is_all, len(seen.rows)) == (preview.ROWS_READ, False, preview.ROWS_SHOWN)


def test_the_last_row_of_the_beginning_of_a_file_is_no_problem(write: Write) -> None:
    seen = preview.look(write({"item": {"q": 1}}, '{"item": {"q": "cut o'), "mine.jsonl", [], is_part=True)
    assert (seen.rows_read, seen.is_all, seen.problems) == (1, False, [])


def test_of_many_columns_the_first_are_shown_and_the_others_counted(write: Write) -> None:
    seen = preview.look(write({"item": {f"c{number}": 1 for number in range(20)}}), "mine.jsonl", [])
    assert (len(seen.columns), seen.more_columns) == (preview.COLUMNS_SHOWN, 20 - preview.COLUMNS_SHOWN)


def test_a_file_that_is_not_there_is_refused_without_its_place_on_the_server() -> None:
    with pytest.raises(InvalidData) as refused:
        preview.look(Path("/nowhere/at/all"), "mine.csv", [])
    assert "/nowhere" not in str(refused.value)
