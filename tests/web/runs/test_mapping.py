"""Which column is which field: what a row has under another name is found, and nothing else is changed."""

import json
from pathlib import Path

import pytest

from fairmark.errors import InvalidData
from fairmark.store.base.contents import NewContent
from fairmark.web.runs.mapping import ColumnMapping, read, rewrite, suggested


@pytest.mark.parametrize(
    ("columns", "row", "item", "sample"),
    [
        (ColumnMapping({}), {"q": "x", "sample": "s"}, {"q": "x"}, "s"),
        (ColumnMapping({"question": "q"}), {"q": "x", "sample": "s"}, {"q": "x", "question": "x"}, "s"),
        (ColumnMapping({"question": "gone"}), {"q": "x"}, {"q": "x"}, None),
        (ColumnMapping({}, "reply"), {"item": {"reply": "r"}, "sample": "s"}, {"reply": "r"}, "r"),
        (ColumnMapping({}, "reply"), {"reply": 7}, {"reply": 7}, "7"),
        (ColumnMapping({}, "reply"), {"other": 7}, {"other": 7}, None),  # an error of the row, and no empty answer
        (ColumnMapping({"a": "b", "b": "a"}), {"a": 1, "b": 2}, {"a": 2, "b": 1}, None),
    ],
)
def test_fields_are_taken_from_the_columns_that_were_named(
    columns: ColumnMapping, row: object, item: object, sample: object
) -> None:
    assert columns.split(row) == (item, sample)


def test_a_form_names_the_columns_and_its_own_name_is_no_change() -> None:
    form = {"map.answer": "gold", "map.question": "question", "map.x": "", "map_sample": "reply", "name": "y"}
    assert read(form) == ColumnMapping({"answer": "gold"}, "reply")
    assert read({"map.a": "a", "map_sample": ""}).is_plain


def test_only_a_column_of_nearly_the_same_name_is_suggested() -> None:
    assert suggested("question", ["Question ", "answer"]) == "Question "
    assert suggested("question", ["question", "Question"]) == ""
    assert suggested("question", ["Question", "QUESTION"]) == ""
    assert suggested("answer", ["gold"]) == ""


def test_a_mapped_file_is_written_as_rows_of_items_and_answers(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("q,reply\nWhich?,Paris\n")
    written = rewrite(
        tmp_path / "in", "rows.csv", ColumnMapping({"question": "q"}, "reply"), NewContent(tmp_path / "out")
    )
    text = (tmp_path / "out").read_text()
    assert written == len(text)
    assert json.loads(text) == {"item": {"q": "Which?", "reply": "Paris", "question": "Which?"}, "sample": "Paris"}


def test_a_row_that_cannot_be_read_stops_it_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "in").write_text('{"q": 1}\nnot json\n')
    content = NewContent(tmp_path / "out")
    with pytest.raises(InvalidData, match="line 2"):
        rewrite(tmp_path / "in", "rows.jsonl", ColumnMapping({"question": "q"}), content)
    content.discard()
    assert not (tmp_path / "out").exists()
