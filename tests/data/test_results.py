"""The results file: whole or beside, readable again, and gone on with where a run stopped."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.data.dataset import DataRow
from fairmark.data.results import ResultsFile, encode_row, fingerprint, stopped, stored_rows
from fairmark.errors import InvalidData
from fairmark.parse import parse
from fairmark.result import Grade, Result

SPEC = parse({"type": "string_check", "input": "{{item.a}}", "reference": "b", "operation": "eq"})
GRADERS = fingerprint({"exact": SPEC})


def write(file: ResultsFile, *numbers: int, **grade: Any) -> None:
    for number in numbers:
        row, results = DataRow(number, {"a": "ä"}, None), {"exact": Result(SPEC, Grade(1.0, **grade), 0.0)}
        file.write(number, encode_row(GRADERS, row, results))


def create(path: Path, overwrite: bool = False) -> ResultsFile:
    return ResultsFile.create(str(path), stdout=io.BytesIO(), overwrite=overwrite)


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["row"] for line in path.read_text().splitlines()]


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    file = create(path)
    write(file, 1, 2)
    assert not path.exists()
    file.close(whole=True)
    assert (numbers(path), file.path) == ([1, 2], str(path))
    assert list(path.parent.iterdir()) == [path]
    assert json.loads(path.read_text().splitlines()[0])["item"] == {"a": "ä"}


def test_one_that_stopped_short_leaves_an_older_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("old\n")
    file = create(path, overwrite=True)
    write(file, 1)
    file.close(whole=False)
    assert path.read_text() == "old\n"
    assert stopped(str(path)) == f"{path}.partial"
    assert numbers(Path(stopped(str(path)))) == [1]


def test_an_older_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for there in (path, Path(f"{path}.partial")):
        there.write_text("")
        with pytest.raises(InvalidData, match="exists already"):
            create(path)
        there.unlink()


@pytest.mark.parametrize("cut", [0, 1, 20])
def test_going_on_drops_a_line_that_was_cut_off_and_no_other(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    file = create(path)
    write(file, 1, 2, 3)
    file.close(whole=True)
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])
    kept = 2 if cut else 3
    assert [row.row for row in stored_rows(str(path), GRADERS)] == [1, 2, 3][:kept]
    again = ResultsFile.go_on(str(path), again=False)
    write(again, *range(kept + 1, 6))
    again.close(whole=True)
    assert numbers(path) == [1, 2, 3, 4, 5]


def test_rows_that_were_skipped_come_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    file = create(path)
    write(file, 1)
    write(file, 2, skipped="no budget")
    write(file, 3)
    write(file, 4, skipped="no budget")
    file.close(whole=True)
    assert [row.row for row in stored_rows(str(path), GRADERS) if row.is_skipped] == [2, 4]
    again = ResultsFile.go_on(str(path), again=True)
    write(again, 2)
    assert numbers(path) == [1, 2, 3, 4]
    write(again, 4, 5)
    again.close(whole=True)
    assert numbers(path) == [1, 2, 3, 4, 5]
    assert not any(row.is_skipped for row in stored_rows(str(path), GRADERS))
    assert list(tmp_path.iterdir()) == [path]


def test_what_others_have_made_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    file = create(path)
    write(file, 1)
    file.close(whole=True)
    other = fingerprint({"exact": SPEC, "second": SPEC})
    with pytest.raises(InvalidData, match="line 1 was made by other graders"):
        list(stored_rows(str(path), other))
    path.write_text(path.read_text() + "no json\n")
    with pytest.raises(InvalidData, match="line 2 is not a result line"):
        list(stored_rows(str(path), GRADERS))


def test_standard_output_gets_the_lines_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = io.BytesIO()
    file = ResultsFile.create("-", stdout=out, overwrite=False)
    write(file, 7)
    file.close(whole=True)
    assert json.loads(out.getvalue())["row"] == 7
    assert list(tmp_path.iterdir()) == []


def test_a_fingerprint_knows_graders_and_their_labels() -> None:
    other = parse({**SPEC.echo(), "reference": "c"})
    assert len({fingerprint({"a": SPEC}), fingerprint({"b": SPEC}), fingerprint({"a": other})}) == 3
    assert fingerprint({"a": SPEC}) == fingerprint({"a": parse(SPEC.echo())})
