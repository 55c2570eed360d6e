"""How many rows a second an endpoint grader brings to a reward server and back, against one that answers at once."""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import process
from bench.report import Line, Report, Required
from bench.reward_server import RewardServer

LIMIT_S = 120
RUNS = 5
BATCH_SIZE = 64


def main(quick: bool = False) -> Report:
    count = 10_000 // (20 if quick else 1)
    runs = 1 if quick else RUNS
    raw: dict[str, Any] = {}
    lines = []
    for batch_size, required in ((BATCH_SIZE, Required("at least", 10_000)), (1, None)):
        work = f"{count:,} rows, {batch_size} a request"
        raw[work] = costs = [rows(count, batch_size) for _ in range(runs)]
        rate = count / statistics.median(cost["wall_s"] for cost in costs)
        cpu = 1e6 * statistics.median(cost["cpu_s"] for cost in costs) / count
        lines += [Line(work, rate, "rows/s", required=required), Line(f"{work}: CPU a row", cpu, "µs")]
    about = (
        f"endpoint through grade_many, a fresh process each, one row before the time that counts, median of {runs}"
        " runs. The reward server is a process of its own on the same machine and answers at once. CPU is that of who"
        " asks."
    )
    return Report("endpoint", about, lines, raw)


def rows(count: int, batch_size: int) -> dict[str, float]:
    """What our own process needs for so many rows. Raises ProcessFailed."""
    with RewardServer() as url, tempfile.TemporaryDirectory() as folder:
        environment = {
            "PYTHONPATH": str(process.ROOT),
            "FAIRMARK_ENDPOINT_ALLOW": urlsplit(url).netloc,
            "FAIRMARK_HOME": folder,
        }
        command = [sys.executable, "-m", "bench.endpoint_rows", url, str(count), str(batch_size)]
        told: dict[str, float] = json.loads(process.run(command, LIMIT_S, environment, Path(folder)).stdout)
    if told["graded"] != count:
        raise process.ProcessFailed(f"graded {told['graded']:.0f} of {count}")
    return told
