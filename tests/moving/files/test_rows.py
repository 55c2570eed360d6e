"""Rows of Langfuse, LangSmith and Braintrust: the rows come whole, and no grader is made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.moving.files.made import Made, lines

LANGFUSE = {
    "id": "1",
    "datasetName": "d",
    "input": {"q": 1},
    "expectedOutput": "a",
    "metadata": None,
    "status": "ACTIVE",
}
LANGSMITH = {"id": "1", "inputs": {"q": 1}, "outputs": {"a": 2}, "metadata": {}, "split": "test", "dataset_id": "x"}
BRAINTRUST = {"id": "1", "input": "q", "expected": "a", "metadata": {}, "tags": ["t"]}


def items(new: Made) -> list[Any]:
    (file,) = new.listed("files.jsonl")
    return [row["item"] for row in new.rows(file["id"])]


@pytest.mark.parametrize(
    ("row", "tool"),
    [(LANGFUSE, "Langfuse"), (LANGSMITH, "LangSmith"), (BRAINTRUST, "Braintrust")],
    ids=lambda x: str(x)[:9],
)
@pytest.mark.parametrize("shell", ["lines", "array", "page", "alone"])
def test_rows_come_as_they_are_and_without_graders(tmp_path: Path, row: dict[str, Any], tool: str, shell: str) -> None:
    content = {
        "lines": lines(row, row),
        "array": json.dumps([row, row], indent=1),
        "page": json.dumps({"data": [row, row], "meta": {"page": 1}}, indent=1),
        "alone": json.dumps(row, indent=1),
    }[shell]
    new = Made(tmp_path, content, "rows.jsonl" if shell == "lines" else "rows.json")
    assert items(new) == [row] * (1 if shell == "alone" else 2)
    assert new.evals == []
    assert new.report.format == f"{tool} rows"
    assert new.notes("told") == [
        f"{tool}: graders do not come with rows, and none were made up. Make an eval of the file, with graders of "
        "yours."
    ]
    (file,) = new.listed("files.jsonl")
    assert (file["filename"], file["purpose"]) == ("rows.jsonl", "evals")


@pytest.mark.parametrize(
    ("header", "tool"),
    [("id,input,expected_output", "Langfuse"), ("id,inputs,outputs", "LangSmith"), ("id,input,expected", "Braintrust")],
)
def test_rows_may_be_csv_with_json_in_its_cells(tmp_path: Path, header: str, tool: str) -> None:
    new = Made(tmp_path, f'{header}\n1,"{{""q"": [1]}}",plain text\n2,{{broken,"[not json"\n', "export.csv")
    names = header.split(",")
    assert new.report.format == f"{tool} rows"
    assert items(new) == [
        dict(zip(names, ("1", {"q": [1]}, "plain text"), strict=True)),
        dict(zip(names, ("2", "{broken", "[not json"), strict=True)),
    ]


def test_csv_is_known_by_its_header_and_not_by_its_name(tmp_path: Path) -> None:
    new = Made(tmp_path, "id,input,expected\n1,q,a\n2,q\n", "export.txt")
    assert items(new) == [{"id": "1", "input": "q", "expected": "a"}]
    assert new.notes("problem") == ["line 3: it has 2 values, the header has 3."]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"id": "2", "inp', "line 2: not JSON"),
        (lines(LANGSMITH), "line 2: no row of Braintrust, as those before it are"),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(tmp_path: Path, bad: str, why: str) -> None:
    new = Made(tmp_path, lines(BRAINTRUST) + bad)
    assert items(new) == [BRAINTRUST]
    assert new.notes("problem")[0].startswith(why)
