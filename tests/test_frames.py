"""Frames: what is none, and results as records. With the real packages: tests/data/test_formats.py."""

import asyncio
import datetime
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import fairmark
from fairmark import frames

GRADER = {"type": "numeric", "input": "{{ sample.output_text }}", "reference": "{{ item.n }}"}


@pytest.mark.parametrize("data", [[], [{"a": 1}], iter([]), "rows.jsonl", None, {"columns": 1}])
def test_what_is_no_frame_is_left_alone(data: object) -> None:
    assert frames.rows_of(data) is None


@pytest.mark.parametrize(
    ("rows", "found"),
    [("rows.jsonl", 'found a string ("rows.jsonl")'), ({"item": {"n": 1}, "sample": "1"}, "found one object")],
)
def test_a_text_or_a_single_object_holds_no_rows(rows: Any, found: str) -> None:
    for grade in (fairmark.grade_many, fairmark.grade_stream):
        with pytest.raises(fairmark.InvalidData, match=re.escape(found)):
            grade(GRADER, rows)
    with pytest.raises(fairmark.InvalidData, match=re.escape(found)):
        asyncio.run(fairmark.agrade_many(GRADER, rows))


def test_results_are_a_list_and_records_that_tell_failures_from_zeros() -> None:
    both = {"type": "multi", "graders": {"a": GRADER, "b": {**GRADER, "reference": "2"}}, "calculate_output": "a + b"}
    rows = [{"item": {"n": 1}, "sample": "1"}, {"item": {}, "sample": "1"}]
    results = fairmark.grade_many(both, rows)
    assert isinstance(results, list)
    first, second = results.records()
    assert first == {
        "reward": 1.0,
        "passed": None,
        "status": "graded",
        "error": None,
        "warnings": None,
        "reward.a": 1.0,
        "reward.b": 0.0,
    }
    assert (second["reward"], second["status"]) == (None, "error")
    assert "item" in second["error"]


class Array:
    """As numpy has them."""

    def __init__(self, *values: object) -> None:
        self._values = values

    def tolist(self) -> list[object]:
        return list(self._values)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("a", "a"),
        (1.5, 1.5),
        (float("nan"), None),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),  # noqa: DTZ001  # as frames have them
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.timedelta(seconds=90), "0:01:30"),
        (Decimal("1.50"), 1.5),
        (Decimal("NaN"), None),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Array(1, float("nan"), Array(2)), [1, None, [2]]),
        ({1: (datetime.date(2026, 1, 2), None)}, {"1": ["2026-01-02", None]}),
    ],
)
def test_values_are_as_json_has_them(value: object, plain: object) -> None:
    assert frames.as_json(value) == plain


def test_what_json_has_no_word_for_is_left_alone() -> None:
    value = object()
    assert frames.as_json(value) is value
