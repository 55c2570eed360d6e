"""Labelled rows: what is read, and how mistakes are told."""

from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.trust.labelled import collect, read_labelled


def one(**fields: Any) -> dict[str, Any]:
    return {"item": {"q": 1}, "sample": "x", **fields}


def test_what_several_people_said_of_one_answer_is_one_row() -> None:
    lines = [one(label="good", rater="kim"), one(label="good", rater="lee"), one(label="bad", rater="max")]
    labelled = collect(enumerate([*lines, {"item": {"q": 2}, "sample": "x", "label": "bad"}], 1))
    assert [len(row.ratings) for row in labelled.rows] == [3, 1]
    assert labelled.rows[0].human == "good"
    assert labelled.kind == "label"
    assert labelled.raters == ["", "kim", "lee", "max"]


def test_a_rater_who_says_it_twice_is_one_voice() -> None:
    lines = [one(label="good", rater="kim"), one(label="bad", rater="lee"), one(label="bad", rater="kim")]
    (row,) = collect(enumerate(lines, 1)).rows
    assert [(rating.rater, rating.value) for rating in row.ratings] == [("lee", "bad"), ("kim", "bad")]
    doubled = collect(enumerate([one(label="good", rater="kim")] * 2, 1))
    assert not doubled.has_several_raters


def test_a_tie_of_votes_is_no_label_and_scores_have_a_mean() -> None:
    tied = collect(enumerate([one(label="good"), one(label="bad")], 1)).rows[0]
    assert (tied.human, tied.is_tied) == (None, True)
    assert collect(enumerate([one(score=1), one(score=0.5)], 1)).rows[0].human == 0.75
    bare = collect(enumerate([one()], 1)).rows[0]
    assert (bare.human, bare.is_tied) == (None, False)


def test_answers_to_one_question_are_a_group() -> None:
    rows = collect(
        enumerate([one(score=1), {**one(score=0), "sample": "y"}, one(score=1, group="g", rater="k")], 1)
    ).rows
    assert rows[0].group == rows[1].group
    assert collect([(1, one(score=1, group="q17"))]).rows[0].group == "q17"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (one(label="good", score=1), "it has label and score. A line holds one of label, score, preferred."),
        (one(score="1"), 'score: expected a number, found a string ("1").'),
        (one(score=float("nan")), "score: expected a number"),
        (one(label=3), "label: expected a string"),
        (one(preferred="c"), 'preferred: found "c". Use one of: a, b, tie.'),
        (one(lable="good"), 'unknown field "lable". Did you mean label?'),
        (one(weight=0), "weight: found"),
        (one(samples={"a": "x"}), 'samples: expected two answers, {"a": …, "b": …}, found a.'),
        (one(samples={"a": "x", "b": "y"}, score=1), "it has two samples and a score."),
        (one(rater=3), "rater: expected a string"),
        ({"item": [], "label": "good"}, "item: expected an object"),
        ([], "expected an object, found"),
    ],
)
def test_a_mistake_is_told_with_its_line(line: Any, told: str) -> None:
    with pytest.raises(InvalidData) as error:
        collect([(1, one(note="fine")), (7, line)], "labels.jsonl")
    assert str(error.value).startswith("labels.jsonl, line 7: ")
    assert told in str(error.value)
    assert error.value.row == 7


@pytest.mark.parametrize("name", ["answer", "response", "output"])
def test_an_answer_under_another_name_is_not_taken_for_none(name: str) -> None:
    with pytest.raises(InvalidData, match=f'line 1: it has no sample, and "{name}"'):
        collect([(1, {"item": {"q": 1}, name: "x", "score": 1})])
    assert collect([(1, {"item": {"q": 1}, name: "x", "sample": "", "score": 1})]).rows[0].sample == ""


def test_a_file_holds_one_kind_of_value() -> None:
    with pytest.raises(
        InvalidData, match=r"line 3: it has a score, and line 2 a label\. A file holds one kind of them\."
    ):
        collect([(1, one()), (2, one(label="good")), (3, one(score=1))], "x")


def test_files_are_read_with_their_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"item": {}, "sample": "x", "label": "good"}\n\n{"item": {}, "sample": "y", "label": "bad"}\n')
    assert [row.number for row in read_labelled(str(file)).rows] == [1, 3]
    file.write_text('{"item": {}}\n{"item"\n')
    with pytest.raises(InvalidData, match="line 2: not JSON"):
        read_labelled(str(file))
    file.write_text("")
    with pytest.raises(InvalidData, match="there are no rows in it"):
        read_labelled(str(file))
