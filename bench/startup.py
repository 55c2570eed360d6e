"""How long the library takes to import and the command to answer, as whole processes."""

import statistics
import sys
from pathlib import Path

from bench import process
from bench.report import Line, Report, Required

FAIRMARK = Path(sys.executable).with_name("fairmark")
IMPORT_TIMED = "import time; s = time.perf_counter(); import fairmark; print(time.perf_counter() - s)"
GRADE = """import fairmark
fairmark.grade({"type": "string_check", "name": "a", "operation": "eq", "input": "x", "reference": "x"}, item={})"""


def main(quick: bool = False) -> Report:
    times = 1 if quick else 15
    python = sys.executable
    # In turns, so that a busy moment of the machine meets all of them.
    runs: dict[str, list[process.Run]] = {"bare": [], "import": [], "grade": [], "help": []}
    for _ in range(times + 1):
        runs["bare"].append(process.run([python, "-c", "pass"]))
        runs["import"].append(process.run([python, "-c", IMPORT_TIMED]))
        runs["grade"].append(process.run([python, "-c", GRADE]))
        runs["help"].append(process.run([FAIRMARK, "--help"]))
    # The first of each filled the disk cache.
    wall = {name: [1000 * run.wall_s for run in some[1:]] for name, some in runs.items()}
    inside = [1000 * float(run.stdout) for run in runs["import"][1:]]
    memory = {name: statistics.median(run.peak_mb for run in some[1:]) for name, some in runs.items()}
    p50 = {name: statistics.median(some) for name, some in wall.items()}
    bare = "python -c pass"
    lines = [
        Line("import fairmark, whole process", p50["import"], "ms", p50["bare"], bare, Required("at most", 150)),
        Line("import fairmark, inside the process", statistics.median(inside), "ms"),
        Line("import fairmark and a first grade, whole process", p50["grade"], "ms", p50["bare"], bare),
        Line("fairmark --help, whole process", p50["help"], "ms", p50["bare"], bare, Required("at most", 300)),
        Line("memory after import fairmark", memory["import"], "MB", memory["bare"], bare),
        Line("memory of fairmark --help", memory["help"], "MB", memory["bare"], bare),
    ]
    raw = {"wall_ms": wall, "inside_ms": inside, "peak_mb": memory}
    return Report("startup", f"Starting, wall time, median of {times} runs in turns.", lines, raw)
