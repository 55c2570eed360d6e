"""What a judge that hangs costs others: single grades by a healthy judge, alone and beside two hanging runs' rows."""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from bench import process
from bench.judge_server import JudgeServer
from bench.report import Line, Report, Required

LIMIT_S = 300
TOML = """
[providers.well]
base_url = "{well}/v1"
[providers.ill]
base_url = "{ill}/v1"
[models.healthy]
provider = "well"
[models.hanging]
provider = "ill"
"""


def main(quick: bool = False) -> Report:
    count = 5 if quick else 40
    with JudgeServer(50) as well, JudgeServer(3_600_000) as ill, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fairmark.toml").write_text(TOML.format(well=well, ill=ill))
        environment = {"PYTHONPATH": str(process.ROOT), "FAIRMARK_HOME": name, "FAIRMARK_JUDGE_CACHE": "off"}
        run = process.run([sys.executable, "-m", "bench.hanging_rows", str(count)], LIMIT_S, environment, folder)
    seconds = json.loads(run.stdout.splitlines()[-1])
    lines = [
        Line(
            f"a grade beside hanging judges, {name}",
            1000 * of(seconds["beside"]),
            "ms",
            1000 * of(seconds["alone"]),
            "alone",
            Required("at most", 1.5, "ratio"),
        )
        for name, of in (("median", statistics.median), ("slowest", max))
    ]
    about = (
        f"score_model, {count} rows of one project one at a time, by a judge that takes 50 ms; meanwhile 400 rows of "
        "another project wait for a judge that never answers."
    )
    return Report("hanging", about, lines, seconds)
