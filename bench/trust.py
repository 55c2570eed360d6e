"""What `judge check` finds: judges with a planted fault, and judges without any, over many seeds; and what it costs
beyond waiting for the judge."""

import json
import math
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench import process
from bench.judge_server import JudgeServer
from bench.report import Line, Report, Required
from bench.scripted_judges import PLANTED, Planted, ScriptedJudge

SEEDS = 100
LATENCY_S = 0.05
LIMIT_S = 120
ESTIMATES = {
    "length": ("length", "per_doubling", 0.1),
    "bold": ("form added", None, 0.15),
    "own family": ("own family", None, 0.15),
    "obeys all": ("injection", None, 1.0),
    "obeys: order": ("injection", None, 1 / 6),
    "passes the empty answer": ("sanity", None, 1 / 6),
    "noise 0.1": ("repeat", "sd", 0.1),
}
"""What was planted, and where it is measured: the effect of a probe, or one of its details."""


def checked(planted: Planted, seed: int, draws: int = 50) -> dict[str, Any]:
    """The alarms, the grade and the estimate of one check."""
    from fairmark.data import resampling
    from fairmark.trust.check import check_judge

    before, resampling.DRAWS = resampling.DRAWS, draws  # alarms do not depend on it, and it takes most of the time
    try:
        world = planted.world(seed)
        judge = ScriptedJudge(world, planted.score, seed + 1_000, planted.noise)
        check = check_judge(planted.grader, world.rows, judge=judge)
    finally:
        resampling.DRAWS = before
    estimate = None
    if planted.name in ESTIMATES:
        name, detail, _ = ESTIMATES[planted.name]
        measured = next(probe.measured for probe in check.probes if probe.name == name)
        if measured is not None:
            estimate = measured.effect if detail is None else measured.details[detail]
    return {"alarms": check.alarms, "grade": check.grade, "estimate": estimate, "failed": check.failed}


def _of(place: int, seed: int) -> dict[str, Any]:
    return checked(PLANTED[place], seed)


def main(quick: bool = False) -> Report:
    seeds = SEEDS // 20 if quick else SEEDS
    raw: dict[str, Any] = {}
    lines: list[Line] = []
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for place, planted in enumerate(PLANTED):
            checks = list(pool.map(_of, [place] * seeds, range(seeds)))
            raw[planted.name] = _summary(planted, checks)
            lines += _lines(planted, raw[planted.name], seeds)
    for at_once in (16, 64):
        lines.append(_speed(at_once, 1 if quick else 3, raw))
    about = f"Scripted judges, 100 rows, {seeds} seeds each: in how many checks which probe alarms."
    return Report("trust", about, lines, raw)


def _summary(planted: Planted, checks: list[dict[str, Any]]) -> dict[str, Any]:
    alarms = Counter(alarm for check in checks for alarm in check["alarms"])
    estimates = [check["estimate"] for check in checks if check["estimate"] is not None]
    return {
        "found": sum(set(planted.found_by) <= set(check["alarms"]) for check in checks) if planted.found_by else None,
        "any_alarm": sum(bool(check["alarms"]) for check in checks),
        "alarms": dict(alarms),
        "grades": dict(Counter(check["grade"] for check in checks)),
        "estimate": fmean(estimates) if estimates else None,
    }


def _lines(planted: Planted, told: dict[str, Any], seeds: int) -> list[Line]:
    unit = f"of {seeds}"
    lines = []
    expected = {*planted.found_by, *planted.also}
    if planted.found_by:
        required = Required("at least", 0.95 * seeds)
        lines.append(Line(f"{planted.name}: found by {' and '.join(planted.found_by)}", told["found"], unit,
                          required=required))  # fmt: skip
        others = max((count for name, count in told["alarms"].items() if name not in expected), default=0)
        lines.append(Line(f"{planted.name}: another probe, at most", others, unit,
                          required=Required("at most", 0.05 * seeds)))  # fmt: skip
    else:
        required = Required("at most", 0.08 * seeds)
        lines.append(Line(f"{planted.name}: any alarm", told["any_alarm"], unit, required=required))
    if planted.name in ESTIMATES and told["estimate"] is not None:
        planted_value = ESTIMATES[planted.name][2]
        gap = abs(told["estimate"] - planted_value)
        lines.append(Line(f"{planted.name}: estimate off the planted {planted_value:.3g} by", gap, "",
                          required=Required("at most", 0.02)))  # fmt: skip
    return lines


def _speed(at_once: int, runs: int, raw: dict[str, Any]) -> Line:
    """The whole of a check of 100 rows, report included, against waiting for its calls alone."""
    costs = [_check_once(at_once) for _ in range(runs)]
    work = f"judge check of 100 rows, {costs[0]['calls']} calls of {1000 * LATENCY_S:.0f} ms, {at_once} at once"
    raw[work] = costs
    ideal = math.ceil(costs[0]["calls"] / at_once) * LATENCY_S
    wall = median(cost["wall_s"] for cost in costs)
    return Line(work, wall, "s", ideal, "ideal", Required("at most", 1.5, "ratio"))


def _check_once(at_once: int) -> dict[str, Any]:
    with JudgeServer(1000 * LATENCY_S) as url, tempfile.TemporaryDirectory() as folder:
        environment = {
            "PYTHONPATH": str(process.ROOT),
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "x",
            "FAIRMARK_JUDGE_CONCURRENCY": str(at_once),
            "FAIRMARK_JUDGE_CACHE": "off",
            "FAIRMARK_HOME": folder,
        }
        run = process.run([sys.executable, "-m", "bench.trust_rows"], LIMIT_S, environment, Path(folder))
        told: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    if told["failed"]:
        raise process.ProcessFailed(f"{told['failed']} of {told['calls']} questions failed")
    return told
