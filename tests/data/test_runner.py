"""Rows through several graders at once: in order, and never more in memory than are on their way."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairmark.data.dataset import DataRow
from fairmark.data.runner import run
from fairmark.parse import parse
from fairmark.run import CHUNK_ROWS

GRADERS = {
    name: parse({"type": "string_check", "input": "{{sample.output_text}}", "reference": reference, "operation": "eq"})
    for name, reference in (("is_a", "a"), ("is_own", "{{item.own}}"))
}


def row(number: int) -> DataRow:
    return DataRow(number, {"own": str(number)}, "a" if number % 2 else str(number))


def test_each_row_comes_with_its_results_by_label() -> None:
    graded = list(run(map(row, range(1, 1001)), GRADERS, workers=1))
    assert [found.number for found, _ in graded] == list(range(1, 1001))
    for found, results in graded:
        assert list(results) == ["is_a", "is_own"]
        assert results["is_a"].reward == float(found.number % 2)
        assert results["is_own"].reward == float(found.number % 2 == 0)


def test_rows_are_read_as_they_are_needed() -> None:
    read: list[int] = []

    def rows() -> Iterator[DataRow]:
        for number in range(1, 100_000):
            read.append(number)
            yield row(number)

    first, _ = next(run(rows(), GRADERS, workers=1))
    assert first.number == 1
    assert len(read) <= 20 * CHUNK_ROWS


def test_what_breaks_while_rows_are_read_reaches_the_caller() -> None:
    def rows() -> Iterator[Any]:
        yield row(1)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(run(rows(), GRADERS, workers=1))
