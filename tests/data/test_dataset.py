"""Rows out of data files, good and bad."""

import json
from pathlib import Path

import pytest

from fairmark.data.dataset import DataFile, DataRow
from fairmark.errors import InvalidData


def read(path: Path, content: bytes) -> list[DataRow | str]:
    path.write_bytes(content)
    return [str(row) if isinstance(row, InvalidData) else row for row in DataFile(str(path))]


def test_jsonl_rows_are_wrapped_or_flat_and_numbered_by_line(tmp_path: Path) -> None:
    content = b'{"item": {"a": 1}, "sample": "s"}\n\n   \n{"a": 2}\n{"b": 3, "sample": {"output_text": "t"}}'
    assert read(tmp_path / "d.jsonl", content) == [
        DataRow(1, {"a": 1}, "s"),
        DataRow(4, {"a": 2}, None),
        DataRow(5, {"b": 3}, {"output_text": "t"}),
    ]


def test_a_bom_and_carriage_returns_are_no_part_of_a_row(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"a": "x"}\r\n{"a": "y"}\r\n'
    assert read(tmp_path / "d.json", content) == [DataRow(1, {"a": "x"}, None), DataRow(2, {"a": "y"}, None)]


def test_a_json_array_is_read_whatever_its_layout_and_name(tmp_path: Path) -> None:
    rows = [{"item": {"a": 1}, "sample": "s"}, {"b": 2}]
    for text in (json.dumps(rows), json.dumps(rows, indent=4), "\ufeff\n\n" + json.dumps(rows, indent=1)):
        found = read(tmp_path / "d.jsonl", text.encode())
        assert found == [DataRow(1, {"a": 1}, "s"), DataRow(2, {"b": 2}, None)]


def test_csv_values_are_strings_and_quoting_works(tmp_path: Path) -> None:
    content = '\ufeffquestion,answer,sample\r\n"a ""q"", yes",1,"two\nlines"\r\n\r\nb,2,\r\n'.encode()
    assert read(tmp_path / "D.CSV", content) == [
        DataRow(3, {"question": 'a "q", yes', "answer": "1"}, "two\nlines"),
        DataRow(5, {"question": "b", "answer": "2"}, ""),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: not JSON: expecting property name enclosed in double quotes at column 2."),
        (b"5", "line 2: row: expected an object, found a number (5)."),
        (b'"text"', 'line 2: row: expected an object, found a string ("text").'),
        (b'{"a": NaN}', "line 2: not JSON: NaN is not a JSON number."),
        (b'{"a": Infinity}', "line 2: not JSON: Infinity is not a JSON number."),
        (b'{"a": 1e999}', "line 2: not JSON: the number 1e999 is out of range."),
        (b'{"a": ' + b"9" * 5000 + b"}", "line 2: not JSON: it holds a number of more than 4300 digits."),
        (b'{"a": "\xff"}', "line 2: not JSON: byte 8 is not UTF-8."),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "line 2: not JSON: it is nested too deeply."),
        (b'{"a": 1}{"a": 2}', "line 2: not JSON: extra data at column 9."),
    ],
)
def test_a_bad_line_is_told_with_its_number_and_the_others_are_read(tmp_path: Path, line: bytes, message: str) -> None:
    rows = read(tmp_path / "d.jsonl", b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
    assert rows == [DataRow(1, {"a": 1}, None), message, DataRow(3, {"a": 3}, None)]


def test_bad_elements_and_bad_csv_rows_are_told_with_their_number(tmp_path: Path) -> None:
    assert read(tmp_path / "d.json", b'[{"a": 1}, 5]')[1] == "element 2: row: expected an object, found a number (5)."
    assert read(tmp_path / "d.csv", b"a,b\n1,2\n3\n4,5,6\n\xff,7\n") == [
        DataRow(2, {"a": "1", "b": "2"}, None),
        "line 3: it has 1 values, the header has 2.",
        "line 4: it has 3 values, the header has 2.",
        "line 5: not UTF-8.",
    ]


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv"])
@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(InvalidData, match="there are no rows in it"):
        read(tmp_path / name, content)


@pytest.mark.parametrize("content", [b"[", b"[]", b'[{"a": 1}', b"[1] [2]"])
def test_a_broken_or_empty_array_is_refused_whole(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidData, match=r"not a JSON array|there are no rows"):
        read(tmp_path / "d.json", content)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="no such file or directory"):
        list(DataFile(str(tmp_path / "none.jsonl")))
    with pytest.raises(InvalidData, match="is a directory"):
        list(DataFile(str(tmp_path)))


def test_a_line_of_ten_megabytes_and_half_an_emoji_are_rows(tmp_path: Path) -> None:
    long = "x" * 10_000_000
    rows = read(tmp_path / "d.jsonl", json.dumps({"a": long}).encode() + b'\n{"a": "\\ud83d"}\n')
    assert rows == [DataRow(1, {"a": long}, None), DataRow(2, {"a": "\ud83d"}, None)]
    assert read(tmp_path / "d.csv", f"a\n{long}\n".encode()) == [DataRow(2, {"a": long}, None)]


def test_the_share_that_was_read_grows_to_one(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'{"a": 1}\n' * 50_000)
    data = DataFile(str(tmp_path / "d.jsonl"))
    shares = [data.share_read or 0.0 for _ in data]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5 < shares[-1] <= 1
    assert data.share_read == 1.0
    assert DataFile("-").share_read is None


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        (b"PAR1\x15\x04", "rows.parquet", "it is a Parquet file. Rows come as JSONL"),
        (b"PK\x03\x04\x14", "rows.xlsx", "it is an Excel workbook or a zip archive. Rows come as"),
        (b"\x1f\x8b\x08\x00", "rows.jsonl.gz", "it is compressed by gzip. Rows come as"),
        (b"PAR1\x15\x04", "rows.csv", "it is a Parquet file."),
        (b"question;answer\n1;2\n", "rows.csv", "its columns are separated by semicolons. Write it with commas"),
        (b"question\tanswer\n1\t2\n", "rows.csv", "its columns are separated by tabs. Write it with commas"),
    ],
)
def test_a_file_of_another_format_is_named(tmp_path: Path, content: bytes, name: str, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidData) as failure:
        list(DataFile(str(path)))
    assert str(failure.value).startswith(f"{path}: {says}")


def test_an_array_that_is_nested_without_end_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[\n{"a": "[["},\n' + "[" * 100_000)
    with pytest.raises(InvalidData, match="not a JSON array: it is nested too deeply at line 3"):
        list(DataFile(str(path)))
