"""Whether runs were graded alike: whatever else differs between them is said."""

from typing import Any

import pytest

from fairmark.store.views.comparison import DataSet
from fairmark.web.runs.sameness import data_differ, graders_differ


def check(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"{name}-1", "type": "string_check", "name": name, "input": "x", "reference": "y", **more}


EQ = check("exact", operation="eq")


@pytest.mark.parametrize(
    ("second", "notes"),
    [
        ([{**EQ, "id": "exact-2"}], []),
        (
            [check("exact", operation="ne", reference="z")],
            ["“exact” is another grader in C than in A: reference, operation differ."],
        ),
        ([check("exact", operation="ne")], ["“exact” is another grader in C than in A: operation differs."]),
        (
            [check("other", operation="eq")],
            ["C was not graded by “exact”.", "Only C was graded by “other”."],
        ),
    ],
)
def test_what_differs_of_the_graders_is_named(second: list[dict[str, Any]], notes: list[str]) -> None:
    assert list(graders_differ("C", [EQ], second)) == notes


def test_another_data_set_is_said_and_the_same_is_not() -> None:
    assert list(data_differ("B", DataSet(4, (1, 2)), DataSet(4, (1, 2)))) == []
    assert list(data_differ("B", DataSet(4, (1, 2)), DataSet(4, (1, 3)))) == [
        "B has other items than A: the data sets differ."
    ]
    assert list(data_differ("B", DataSet(1400, (1, 2)), DataSet(1, (1, 2)))) == [
        "B has another data set than A: 1 row, and A has 1,400."
    ]
