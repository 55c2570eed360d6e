"""Data files that a user tells something about: compression, separators, encodings, columns, queries."""

import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.data.dataset import DataFile, DataRow
from fairmark.data.formats import Told, read_columns
from fairmark.errors import InvalidData

ROWS = [{"q": "a", "expected": "1"}, {"q": "ü", "expected": "2"}]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


def items(path: Path | str, **told: Any) -> list[Any]:
    read = list(DataFile(str(path), told=Told(**told)))
    return [row.item if isinstance(row, DataRow) else str(row) for row in read]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("rows.jsonl.gz", gzip.compress(LINES.encode(), mtime=0), {}),
        ("rows.json", gzip.compress(json.dumps(ROWS).encode(), mtime=0), {}),  # by how it begins, whatever its name
        ("rows.csv.gz", gzip.compress("q,expected\na,1\nü,2\n".encode(), mtime=0), {}),
        ("rows.tsv", "q\texpected\na\t1\nü\t2\n".encode(), {}),
        ("rows.csv", "q;expected\na;1\nü;2\n".encode(), {"separator": ";"}),
        ("rows.csv", "q;expected\na;1\nü;2\n".encode("latin-1"), {"separator": ";", "encoding": "latin-1"}),
        ("rows.jsonl", LINES.encode("utf-16"), {"encoding": "utf-16"}),
        ("rows.txt", "q,expected\na,1\nü,2\n".encode(), {"separator": ","}),
    ],
)
def test_the_same_rows_come_out_of_every_form(tmp_path: Path, name: str, content: bytes, told: dict[str, Any]) -> None:
    (tmp_path / name).write_bytes(content)
    assert items(tmp_path / name, **told) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "told", "words"),
    [
        ("a.csv", b"q;expected\na;1\n", {}, "its columns are separated by semicolons. Say so: --separator ';'."),
        ("a.tsv", b"q,expected\na,1\n", {}, "its columns are separated by commas. Say so: --separator ','."),
        ("a.jsonl.gz", gzip.compress(LINES.encode() * 5000, mtime=0)[:-40], {}, "its compression is broken or cut off"),
        ("a.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)[:20], {}, "its compression is broken or cut off"),
        (
            "rows.db",
            b"SQLite format 3\0",
            {},
            "it is a SQLite database. Rows come as JSONL",
        ),
        ("a.jsonl", LINES.encode("latin-1"), {"encoding": "utf-16"}, "it is not utf-16"),
        ("a.jsonl", b"{}", {"encoding": "klingon"}, '--encoding: there is no encoding "klingon".'),
        ("a.parquet", b"PAR1nothing", {}, "Parquet and Arrow files take a package: pip install 'fairmark[data]'."),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd....", {}, "it is compressed by zstd, which takes a package"),
    ],
)
def test_what_is_wrong_with_the_whole_file_is_told(
    tmp_path: Path, name: str, content: bytes, told: dict[str, Any], words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData) as caught:
        items(tmp_path / name, **told)
    assert words in str(caught.value)


def test_a_line_that_is_no_utf8_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"q\n\xfc\n")
    assert items(tmp_path / "a.csv") == [
        "line 2: not UTF-8. Say which encoding it is: --encoding latin-1, for instance."
    ]


def test_an_encoding_that_nobody_told_is_told_with_the_option_and_never_guessed(tmp_path: Path) -> None:
    lines = '{"q": "ü"}\n'
    (tmp_path / "a.jsonl").write_bytes(lines.encode("latin-1"))
    assert items(tmp_path / "a.jsonl") == [
        "line 1: not JSON: byte 8 is not UTF-8. Say which encoding it is: --encoding latin-1, for instance."
    ]
    for name in ("b.jsonl", "b.csv"):
        (tmp_path / name).write_bytes(lines.encode("utf-16"))
        with pytest.raises(InvalidData, match=r"it is encoded as UTF-16\. Say so: --encoding utf-16\."):
            items(tmp_path / name)
    assert items(tmp_path / "b.jsonl", encoding="utf-16") == [{"q": "ü"}]
    with pytest.raises(InvalidData, match=r"it is encoded as UTF-16\. Save it as UTF-8\."):
        list(DataFile(str(tmp_path / "b.jsonl")))


def test_two_columns_of_one_name_are_refused_and_none_is_lost(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("q,answer,q\na,b,c\n")
    with pytest.raises(InvalidData, match='two of its columns are called "q"'):
        items(tmp_path / "a.csv")
    sqlite3.connect(tmp_path / "rows.db").close()
    with pytest.raises(InvalidData, match='--sql: two columns are called "q"'):
        items(f"sqlite:///{tmp_path}/rows.db", sql="select 1 as q, 2 as q")


def test_csv_on_standard_input_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(b"q\na\n"))))
    first, _ = items("-")
    assert first.endswith("CSV on standard input takes --separator ','.")


def test_files_of_others_are_never_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(LINES.encode()))
    with pytest.raises(InvalidData, match="it is compressed by gzip"):
        list(DataFile(str(tmp_path / "a.jsonl")))


def test_fields_are_read_from_columns_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"q": 1, "expected": 2, "out": "x"}\n{"item": {"expected": 3}, "out": "y"}\n{"q": 4}\n')
    columns = read_columns(["answer=expected", "sample=out"])
    first, second, third = DataFile(str(path), told=Told(columns=columns))
    assert first == DataRow(1, {"q": 1, "answer": 2}, "x")
    assert second == DataRow(2, {"answer": 3}, "y")
    assert str(third) == 'line 3: answer=expected: this row has no field "expected". It has: q.'
    with pytest.raises(InvalidData, match="It takes FIELD=COLUMN"):
        read_columns(["answer"])


def test_rows_come_out_of_a_query(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        connection.execute("create table rows (q text, expected text)")
        connection.executemany("insert into rows values (:q, :expected)", ROWS)
    connection.close()
    url = f"sqlite:///{tmp_path}/rows.db"
    assert items(url, sql="select * from rows order by q") == ROWS
    for sql, words in (("select missing", "--sql: no such column"), ("delete from rows", "--sql: attempt to write")):
        with pytest.raises(InvalidData, match=words):
            items(url, sql=sql)
    with pytest.raises(InvalidData, match="no such file"):
        items(f"sqlite:///{tmp_path}/other.db", sql="select 1")
    with pytest.raises(InvalidData, match=r'--sql: found "rows.db"\. DATA is then a URL: sqlite:///rows.db'):
        items("rows.db", sql="select 1")
    with pytest.raises(InvalidData, match="a database takes the query of its rows: --sql 'select …'"):
        items(url)
    with pytest.raises(InvalidData, match='the column "b" holds bytes'):
        items(url, sql="select x'00' as b")


ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-clients" / "data" / "bin" / "python"
SCRIPT = """
import json, sys, datetime, decimal
import datasets, duckdb, pandas, polars, pyarrow, zstandard
from pyarrow import feather, ipc, parquet
import fairmark
from fairmark.data.dataset import DataFile
from fairmark.data.formats import Told

rows = [{"q": "a", "n": 1, "sample": "1"}, {"q": None, "n": 2, "sample": "3"}]
table = pyarrow.Table.from_pylist(rows)
parquet.write_table(table, "rows.parquet")
parquet.write_table(table, "named_otherwise")
feather.write_feather(table, "rows.arrow")
with ipc.new_stream("stream.arrow", table.schema) as stream:
    stream.write_table(table)
open("rows.jsonl.zst", "wb").write(zstandard.compress("\\n".join(map(json.dumps, rows)).encode()))
duckdb.connect("rows.duckdb").execute("create table t as select * from 'rows.parquet'").close()
TIME = datetime.datetime(2026, 1, 2, 3, 4, 5)

def read(path, **told):
    return [[row.item, row.sample] for row in DataFile(path, told=Told(**told))]

names = ("rows.parquet", "named_otherwise", "rows.arrow", "stream.arrow", "rows.jsonl.zst")
told = {name: read(name) for name in names}
told["duckdb"] = read("duckdb:///rows.duckdb", sql="select * from t order by n")
odd = pyarrow.table({"t": [datetime.date(2026, 1, 2)], "d": [decimal.Decimal("1.5")]})
parquet.write_table(odd, "odd.parquet")
told["odd"] = read("odd.parquet")
grader = {"type": "numeric", "input": "{{ sample.output_text }}", "reference": "{{ item.n }}"}
frames = {"pandas": pandas.DataFrame(rows), "polars": polars.DataFrame(rows), "lazy": polars.LazyFrame(rows),
          "arrow": table, "datasets": datasets.Dataset.from_list(rows)}
for name, frame in frames.items():
    results = fairmark.grade_many(grader, frame)
    told["graded " + name] = [list(results.to_pandas()["reward"]), results.to_polars()["passed"].to_list()]
    evaluated = fairmark.evaluate(data=frame, evaluators={"n": lambda n: {"twice": 2 * n}})
    told["evaluated " + name] = [row["outputs.n.twice"] for row in evaluated["rows"]]
timed = [{"t": TIME, "d": decimal.Decimal("1.5"), "l": [1, 2], "sample": "2026-01-02T03:04:05"}]
sql = "select timestamp '2026-01-02 03:04:05' as t, 1.5::decimal(3,1) as d, [1, 2] as l"
sql += ", '2026-01-02T03:04:05' as sample"
parquet.write_table(pyarrow.Table.from_pylist(timed), "timed.parquet")
says = {**grader, "type": "string_check", "operation": "eq", "reference": "{{ item.t }}"}
sources = {"pandas": pandas.read_parquet("timed.parquet"), "polars": polars.DataFrame(timed),
           "datasets": datasets.Dataset.from_list(timed), "arrow": pyarrow.Table.from_pylist(timed)}
told["times"] = {name: fairmark.grade_many(says, source)[0].reward for name, source in sources.items()}
told["as json"] = [next(fairmark.frames.rows_of(source)) for source in sources.values()]
told["as json"] += [{**item, "sample": sample} for item, sample in read("duckdb://", sql=sql) + read("timed.parquet")]
try:
    fairmark.evaluate(data=datasets.DatasetDict(train=frames["datasets"]), evaluators={"n": len})
except fairmark.EvaluationFailed as error:
    told["splits"] = str(error)
named = [pandas.DataFrame([["1", "2"]], columns=["n", "n"]), pyarrow.table([["1"], ["2"]], names=["n", "n"])]
told["named twice"] = []
parquet.write_table(named[1], "named_twice.parquet")
try:
    read("named_twice.parquet")
except fairmark.InvalidData as error:
    told["named twice in a file"] = str(error)
for frame in named:
    try:
        fairmark.grade_many(grader, frame)
    except fairmark.InvalidData as error:
        told["named twice"].append(str(error))
told["a frame as a sample"] = fairmark.grade(grader, frames["pandas"], {"n": 1}).error
try:
    open("broken.parquet", "wb").write(b"PAR1 and nothing")
    read("broken.parquet")
except fairmark.InvalidData as error:
    told["broken"] = str(error)[:16]
# Two frames, the second cut off where its first line has just been given: no line is broken, and one is missing.
line, pack = b'{"q": "a", "sample": "1"}\\n', zstandard.ZstdCompressor().compressobj()
second = pack.compress(line) + pack.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
open("frames.jsonl.zst", "wb").write(zstandard.compress(line) + second + pack.compress(line) + pack.flush())
told["frames"] = len(read("frames.jsonl.zst"))
try:
    open("cut.jsonl.zst", "wb").write(zstandard.compress(line) + second)
    told["cut"] = read("cut.jsonl.zst")
except fairmark.InvalidData as error:
    told["cut"] = str(error)
print(json.dumps(told))
"""


@pytest.mark.thorough
def test_the_real_packages_give_the_same_rows(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [PYTHON, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = [[{"q": "a", "n": 1}, "1"], [{"q": None, "n": 2}, "3"]]
    for name in ("rows.parquet", "named_otherwise", "rows.arrow", "stream.arrow", "rows.jsonl.zst", "duckdb"):
        assert told[name] == rows, name
    assert told["odd"] == [[{"t": "2026-01-02", "d": 1.5}, None]]
    for name in ("pandas", "polars", "lazy", "arrow", "datasets"):
        assert told[f"graded {name}"] == [[1.0, 0.0], [True, False]], name
        assert told[f"evaluated {name}"] == [2, 4], name
    assert told["broken"] == "broken.parquet: "
    assert told["frames"] == 3
    assert told["named twice in a file"] == (
        'named_twice.parquet: two of its columns are called "n". Rename one of them.'
    )
    assert told["named twice"] == ['data: two of its columns are called "n". Rename one of them.'] * 2
    assert told["a frame as a sample"].startswith("sample: expected a string or an object, found ")
    assert told["cut"] == "cut.jsonl.zst: its compression is broken or cut off: it ends within a frame."
    assert told["times"] == {"pandas": 1.0, "polars": 1.0, "datasets": 1.0, "arrow": 1.0}
    timed = {"t": "2026-01-02T03:04:05", "d": 1.5, "l": [1, 2], "sample": "2026-01-02T03:04:05"}
    assert told["as json"] == [timed] * 6
    assert told["splits"] == "data: several data sets in one: train. Choose one of them: data['train']."
