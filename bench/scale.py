"""Whether an evaluation stays linear in time and constant in memory as its file grows."""

import json
import tempfile
from pathlib import Path

from bench import process
from bench.corpus import Writer
from bench.evaluation import write_graders
from bench.report import Line, Report, Required
from bench.startup import FAIRMARK

ROWS = [100_000, 300_000, 1_000_000]
WORDS = 20
LIMIT_S = 900


def main(quick: bool = False) -> Report:
    sizes = [rows // 20 for rows in ROWS] if quick else ROWS
    runs: dict[int, process.Run] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graders = write_graders(folder)
        data, out = folder / "data.jsonl", folder / "out.jsonl"
        for rows in sizes:
            write_rows(data, rows)
            runs[rows] = process.run([FAIRMARK, "eval", data, *graders, "-o", out, "--overwrite"], LIMIT_S)
    lines: list[Line] = []
    for rows, run in runs.items():
        lines += [
            Line(f"{rows:,} rows: speed", rows / run.wall_s, "rows/s"),
            Line(f"{rows:,} rows: CPU", run.cpu_s, "s"),
            Line(f"{rows:,} rows: memory, largest process", run.peak_mb, "MB"),
            Line(f"{rows:,} rows: memory, all processes", run.together_mb, "MB"),
        ]
    small, large = sizes[0], sizes[-1]
    few, many = runs[small], runs[large]
    peer = f"{small:,} rows"
    # A tenth of room: the run of few rows is short, and the machine is never quite still.
    limit = Required("at most", 1.1, "ratio")
    lines += [
        Line(
            f"{large:,} rows: wall time a row", 1e6 * many.wall_s / large, "µs", 1e6 * few.wall_s / small, peer, limit
        ),
        Line(f"{large:,} rows: CPU time a row", 1e6 * many.cpu_s / large, "µs", 1e6 * few.cpu_s / small, peer, limit),
        Line(f"{large:,} rows: memory, all processes", many.together_mb, "MB", few.together_mb, peer, limit),
    ]
    raw = {str(rows): run.numbers() for rows, run in runs.items()}
    about = f"fairmark eval, exact match and ROUGE-L, texts of {WORDS} words: linear in time, constant in memory."
    return Report("scale", about, lines, raw)


def write_rows(path: Path, count: int) -> None:
    """Rows that differ from one another: a stretch of a long text, and the same with two words exchanged."""
    writer = Writer(seed=23)
    words = writer.text(200_000).split()
    draw = writer.random.randrange
    with path.open("w") as file:
        for _ in range(count):
            start = draw(len(words) - WORDS)
            text = words[start : start + WORDS]
            answer = list(text)
            if draw(3):
                answer[draw(WORDS)] = words[draw(len(words))]
                answer[draw(WORDS)] = words[draw(len(words))]
            file.write(json.dumps({"item": {"answer": " ".join(answer)}, "sample": " ".join(text)}) + "\n")
