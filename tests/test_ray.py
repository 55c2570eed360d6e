"""A grader for batches of Ray Data. tests/cluster/test_on_ray.py has Ray Data itself call it."""

import math
from typing import Any

import pytest

from fairmark.errors import InvalidData, InvalidGrader
from fairmark.ray import Grade

EXACT = {"type": "string_check", "name": "exact", "input": "{{sample.output_text}}", "reference": "{{item.r}}",
         "operation": "eq"}  # fmt: skip
BOTH = {"type": "multi", "name": "both", "graders": {"a": EXACT, "b": {**EXACT, "reference": "x"}},
        "calculate_output": "a + 2 * b"}  # fmt: skip


class Array(list[Any]):
    """What numpy's arrays have and lists have not."""

    def tolist(self) -> list[Any]:
        return list(self)


@pytest.mark.parametrize(
    "columns",
    [
        {"item": Array([{"r": "x"}, {"r": "y"}, {}]), "sample": Array(["x", "x", "x"])},
        {"item": ['{"r": "x"}', '{"r": "y"}', "{}"], "sample": ["x", "x", "x"]},
    ],
)
def test_items_are_structs_or_their_json_and_what_was_not_graded_has_no_reward(columns: dict[str, Any]) -> None:
    graded = Grade(EXACT)(columns)
    assert graded["item"] == list(columns["item"])
    assert graded["reward"][:2] == [1.0, 0.0]
    assert math.isnan(graded["reward"][2])
    assert graded["status"] == ["graded", "graded", "error"]
    assert graded["error"][:2] == [None, None]
    assert 'no field "r"' in graded["error"][2]


def test_flat_columns_are_the_fields_of_the_item() -> None:
    graded = Grade(EXACT, sample="said")({"r": ["x", "y"], "other": [1, 2], "said": ["x", "x"]})
    assert graded["reward"] == [1.0, 0.0]
    assert list(graded) == ["r", "other", "said", "reward", "status", "error"]


def test_each_part_of_a_grader_has_a_column_whatever_the_rows_are() -> None:
    graded = Grade(BOTH, prefix="g_")({"r": ["x", "y"], "sample": ["x", "x"], "reward": [0, 0]})
    assert graded["g_reward"] == [3.0, 2.0]
    assert (graded["g_reward.a"], graded["g_reward.b"]) == ([1.0, 0.0], [1.0, 1.0])
    assert list(Grade(BOTH)({"r": [], "sample": []})) == [
        "r", "sample", "reward", "status", "error", "reward.a", "reward.b",
    ]  # fmt: skip


def test_a_sample_that_is_under_another_name_stops_the_job_and_is_no_bad_answer() -> None:
    with pytest.raises(InvalidData, match=r"there is no column 'sample'. The data has: r, response"):
        Grade(EXACT)({"r": ["x"], "response": ["x"]})


def test_no_column_of_the_data_is_overwritten() -> None:
    with pytest.raises(InvalidData, match=r"has a column 'reward' already.*prefix="):
        Grade(EXACT)({"r": ["x"], "sample": ["x"], "reward": [0.5]})


def test_a_wrong_grader_is_told_before_the_first_batch() -> None:
    with pytest.raises(InvalidGrader):
        Grade({"type": "string_check"})


@pytest.mark.parametrize(
    ("grader", "why"),
    [
        ({"type": "score_model", "name": "j", "model": "unheard-of", "input": [{"role": "user", "content": "?"}]},
         "unknown model"),
        ({"type": "custom", "name": "c"}, "scored from elsewhere"),
    ],
)  # fmt: skip
def test_a_grader_that_cannot_grade_here_is_told_before_the_first_batch(grader: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidGrader, match=why):
        Grade(grader)


def test_a_row_without_a_sample_is_no_bad_answer() -> None:
    graded = Grade(EXACT, sample="said")({"r": ["", "x"], "said": [None, "x"]})
    assert math.isnan(graded["reward"][0])
    assert graded["status"] == ["error", "graded"]
    assert graded["error"][0] == "there is no answer in the column said."


def test_what_is_no_batch_is_told() -> None:
    with pytest.raises(InvalidData, match="a batch is a table or columns by name"):
        Grade(EXACT)([{"r": "x"}])
