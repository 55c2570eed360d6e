"""Rows out of Parquet beside the same rows out of JSONL, with pyarrow in an environment of its own."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench.report import Line, Report, Required

ROWS = 1_000_000
ROUNDS = 3
MOST_MORE_MB = 30.0
ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-clients" / "data" / "bin" / "python"
WRITE = """
import json, sys
import pyarrow
from pyarrow import parquet
writer = None
with open("rows.jsonl", "w") as lines:
    for start in range(0, int(sys.argv[1]), 50_000):
        rows = [
            {"question": f"What is {n} plus one?", "answer": str(n + 1), "sample": f"It is {n + 1}."}
            for n in range(start, start + 50_000)
        ]
        lines.writelines(json.dumps(row) + "\\n" for row in rows)
        table = pyarrow.Table.from_pylist(rows)
        writer = writer or parquet.ParquetWriter("rows.parquet", table.schema)
        writer.write_table(table)
writer.close()
"""
READ = """
import json, resource, sys, time
from fairmark.data.dataset import DataFile
from fairmark.data.formats import Told

def used_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

began, count, early_mb = 0.0, 0, 0.0
for row in DataFile(sys.argv[1], told=Told()):
    count += 1
    if count == 1:
        began = time.process_time()  # without what starting and importing takes once
    if count == 50_000:
        early_mb = used_mb()
seconds = time.process_time() - began
print(json.dumps({"rows": count, "rows_s": count / seconds, "early_mb": early_mb, "mb": used_mb()}))
"""


def main(quick: bool) -> Report:
    rows, rounds = (100_000, 1) if quick else (ROWS, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        _run(folder, WRITE, str(rows))
        read = [
            {name: json.loads(_run(folder, READ, f"rows.{name}")) for name in ("jsonl", "parquet")}
            for _ in range(rounds)
        ]
    speed = {name: median(numbers[name]["rows_s"] for numbers in read) for name in ("jsonl", "parquet")}
    more_mb = max(numbers["parquet"]["mb"] - numbers["parquet"]["early_mb"] for numbers in read)
    enough = Required("at least", 0.8, "ratio")
    flat = Required("at most", MOST_MORE_MB)
    lines = [
        Line("rows read from Parquet", speed["parquet"], "rows/s", speed["jsonl"], "JSONL", enough),
        Line("memory beyond that after 50,000 rows", more_mb, "MB", required=flat),
    ]
    raw: dict[str, Any] = {"rows": rows, "rounds": read}
    return Report(
        "columnar", f"{rows:,} rows of three texts, read as `fairmark eval` reads them; imports left out.", lines, raw
    )


def _run(folder: str, script: str, argument: str) -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
    command = [str(PYTHON), "-c", script, argument]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout
