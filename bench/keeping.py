"""What keeping its run costs `fairmark eval`: with and without, in turns, and what memory it takes."""

import statistics
import tempfile
from pathlib import Path

from bench import process
from bench.evaluation import write_graders
from bench.report import Line, Report, Required
from bench.scale import write_rows
from bench.startup import FAIRMARK

ROWS, MANY = 100_000, 1_000_000
LIMIT_S = 900


def main(quick: bool = False) -> Report:
    rows, many, turns = (5_000, 20_000, 1) if quick else (ROWS, MANY, 5)
    kept: list[process.Run] = []
    alone: list[process.Run] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graders = write_graders(folder)
        data, out = folder / "data.jsonl", folder / "out.jsonl"
        write_rows(data, rows)

        def evaluate(*more: str) -> process.Run:
            home = {"FAIRMARK_HOME": tempfile.mkdtemp(dir=folder)}
            return process.run([FAIRMARK, "eval", data, *graders, *more], LIMIT_S, home)

        to_file = ("-o", str(out), "--overwrite")
        for _ in range(turns):  # in turns, so that a busy moment of the machine meets both
            alone.append(evaluate(*to_file, "--no-store"))
            kept.append(evaluate(*to_file))
        bare = [evaluate("--no-store") for _ in range(turns)]
        kept_bare = [evaluate() for _ in range(turns)]
        write_rows(data, many)
        large = evaluate()
    limit = Required("at most", 1.05, "ratio")

    def cpu(runs: list[process.Run]) -> float:
        return 1e6 * statistics.median(run.cpu_s for run in runs) / rows

    lines = [
        Line(f"{rows:,} rows with a results file: CPU a row, kept", cpu(kept), "µs", cpu(alone), "--no-store", limit),
        Line(f"{rows:,} rows without one: CPU a row, kept", cpu(kept_bare), "µs", cpu(bare), "--no-store"),
        Line(
            f"{many:,} rows, kept: memory, all processes",
            large.together_mb,
            "MB",
            statistics.median(run.together_mb for run in kept_bare),
            f"{rows:,} rows",
            Required("at most", 1.1, "ratio"),
        ),
    ]
    raw = {"kept": [run.numbers() for run in kept], "alone": [run.numbers() for run in alone]}
    return Report("keeping", f"fairmark eval, exact match and ROUGE-L, median of {turns} in turns.", lines, raw)
