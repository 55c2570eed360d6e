"""The result as a file: whole, in its place, never over the data, and not lost where it cannot be written."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import fairmark


def one(value: Any) -> int:
    raise AssertionError("it must not be called")


@pytest.mark.parametrize("way", ["itself", "symlink", "hardlink"])
def test_the_data_is_never_the_output(tmp_path: Path, way: str) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"a": 1}\n')
    out = data if way == "itself" else tmp_path / "other"
    if way != "itself":
        out.symlink_to(data) if way == "symlink" else out.hardlink_to(data)
    with pytest.raises(fairmark.EvaluationFailed, match="this is the file that is read"):
        fairmark.evaluate(data=data, evaluators={"one": lambda **row: 1.0}, output_path=out)
    assert data.read_text() == '{"a": 1}\n'


Rows = list[dict[str, Any]]


def equals(field: str, value: str) -> dict[str, str]:
    return {"type": "string_check", "input": f"{{{{ {field} }}}}", "operation": "eq", "reference": value}


def test_the_result_is_saved_in_a_file_or_in_a_directory(tmp_path: Path) -> None:
    rows: Rows = [{"a": "é\ud83d"}, {"b": 1}]
    for path in (tmp_path, tmp_path / "own.json"):
        with pytest.warns(UserWarning, match="could not be graded"):
            result = fairmark.evaluate(data=rows, evaluators={"g": equals("item.a", "x")}, output_path=str(path))
        text = (path / "evaluation_results.json" if path.is_dir() else path).read_text()
        assert "é" in text
        assert "\n" not in text
        saved = json.loads(text)
        assert math.isnan(saved["rows"][0].pop("b"))
        del result["rows"][0]["b"]
        assert (saved["rows"][0], saved["metrics"]) == (result["rows"][0], result["metrics"])


def test_a_result_that_cannot_be_saved_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "evaluation_results.json").mkdir()
    with pytest.raises(fairmark.EvaluationFailed, match=r"evaluation_results\.json: is a directory") as caught:
        fairmark.evaluate(data=[{"a": "x"}], evaluators={"g": equals("item.a", "x")}, output_path=tmp_path)
    assert caught.value.result is not None
    assert caught.value.result["metrics"] == {"g.pass_rate": 1.0}
