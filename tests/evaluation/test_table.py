"""The rows that are evaluated: where they come from, which columns they have."""

import math
from pathlib import Path
from typing import Any

import pytest

import fairmark

Rows = list[dict[str, Any]]


def equals(field: str, value: str) -> dict[str, str]:
    return {"type": "string_check", "input": f"{{{{ {field} }}}}", "operation": "eq", "reference": value}


def column(result: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in result["rows"]]


def test_objects_are_flattened_beside_themselves_and_missing_cells_are_nan() -> None:
    rows: Rows = [{"o": {"a": {"b": 1}, "l": [1]}, "n": None}, {"o": {"c": 2}}]
    first, second = fairmark.evaluate(data=rows, evaluators={"g": equals("item.o", "x")})["rows"]
    assert (first["o"], first["o.a.b"], first["o.l"], first["n"]) == ({"a": {"b": 1}, "l": [1]}, 1, [1], None)
    assert (second["o"], second["o.c"]) == ({"c": 2}, 2)
    assert all(math.isnan(cell) for cell in (first["o.c"], second["o.a.b"], second["o.l"], second["n"]))


@pytest.mark.parametrize("name", ["conversation", "messages"])
def test_nothing_is_flattened_beside_a_conversation(name: str) -> None:
    row = fairmark.evaluate(data=[{name: {"a": 1}, "o": {"b": 2}}], evaluators={"g": equals("item.o.b", "2")})["rows"][
        0
    ]
    assert list(row)[:2] == [name, "o"]
    assert row["outputs.g.passed"] is True
    assert not {"o.b", f"{name}.a"} & set(row)


def test_a_file_may_be_jsonl_or_an_array_or_csv(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"a": "x"}\n\n{"a": "y"}\n')
    (tmp_path / "d.json").write_text('[\n  {"a": "x"},\n  {"a": "y"}\n]')
    (tmp_path / "D.CSV").write_text("a\nx\ny\n")
    for name in ("d.jsonl", "d.json", "D.CSV"):
        result = fairmark.evaluate(data=tmp_path / name, evaluators={"g": equals("item.a", "x")})
        assert (column(result, "a"), result["metrics"]) == (["x", "y"], {"g.pass_rate": 0.5})
