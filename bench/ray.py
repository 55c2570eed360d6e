"""Many machines, as far as one can show them: a Ray cluster of three nodes here, of which something is killed again and
again; three servers on it and one PostgreSQL, which are killed too; one node against our own worker processes; and
whether memory stays flat.

Ray is in an environment of its own, which `make test-all` makes (requirements/thorough/ray.txt).
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.postgres import Postgres, initialise

from bench.report import Line, Report, Required

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-clients" / "ray" / "bin" / "python"
LIMIT_S = 1800


def main(quick: bool) -> Report:
    if not PYTHON.exists():
        raise SystemExit(f"{PYTHON} is missing: make test-all makes it.")
    part = 20 if quick else 1
    acts = (("kills", 20_000), ("pace", 20_480), ("memory", 1_000_000), ("repeats", 200), ("beside", 60_000))
    raw = {act: measured("bench.ray_rows", act, str(count // part)) for act, count in acts}
    raw["servers"] = on_postgres("6000", "20") if not quick else on_postgres("600", "7")
    return report(raw)


def on_postgres(*counts: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        initialise(Path(folder) / "postgres")
        server = Postgres(Path(folder) / "postgres")
        server.start()
        try:
            return measured("bench.ray_servers", server.new_database(), *counts)
        finally:
            server.remove()


def report(raw: dict[str, Any]) -> Report:
    lines = killed("", "rows that are right, once and in order", raw["kills"])
    if "servers" in raw:
        servers = raw["servers"]
        lines += killed("three servers: ", "rows that are right, and stored once", servers)
        stuck = sum(count for status, count in servers["statuses"].items() if status != "completed")
        for what, found in (
            ("runs that failed or hang", stuck),
            ("rows stored twice or counted wrong", servers["twice"] + servers["miscounted"]),
            ("processes left behind", len(servers["left_behind"])),
        ):
            lines.append(Line(f"three servers: {what}", found, "", required=Required("at most", 0)))
    for work, sides in raw.get("pace", {}).items():
        if work != "actors":
            lines.append(Line(f"{work}, one node", max(sides["ray"]), "rows/s", max(sides["own"]), "our own processes"))
    if "memory" in raw:
        first, last = (value for key, value in raw["memory"].items() if key.startswith("after"))
        flat = Required("at most", 1.1, "ratio")
        for who, before, after in (
            ("the caller", first["caller_mb"], last["caller_mb"]),
            ("the largest actor", max(first["actors_mb"]), max(last["actors_mb"])),
        ):
            work = f"memory of {who}, {raw['memory']['rows']:,} rows"
            lines.append(Line(work, after, "MB", before, "a tenth of them", flat))
    if "repeats" in raw:
        before, after = raw["repeats"]["before"], raw["repeats"]["after"]
        for what, unit in (("processes", ""), ("descriptors", ""), ("threads", ""), ("memory_mb", "MB")):
            work = f"{what.removesuffix('_mb')} after {raw['repeats']['repeats']} beginnings and ends of an actor"
            lines.append(Line(work, after[what], unit, before[what], "before", Required("at most", 1.1, "ratio")))
    if "beside" in raw:
        on_ray, own = raw["beside"]["ray"]["beside"]["p99"], raw["beside"]["own"]["beside"]["p99"]
        work = "p99 of another project's grade beside a run on Ray"
        lines.append(Line(work, on_ray, "ms", own, "a run by our own processes", Required("at most", 100.0)))
    a_minute, at_once = raw["kills"]["limits"]
    about = (
        f"A multi grader of python, ROUGE-L and a judge (20 ms, {a_minute:,} requests a minute, {at_once} at once) on"
        " a Ray cluster of three nodes with an actor each, while actors, processes and nodes are killed. Then one node"
        " with an actor a core against our own worker processes, best of three in turns. Last, three servers on one"
        " PostgreSQL and such a cluster, with two actors each, while servers, their processes, actors, nodes and the"
        " limiter are killed. All nodes are on this machine; the judge counts what reaches it."
    )
    return Report("ray", about, lines, raw)


def killed(where: str, right: str, seen: dict[str, Any]) -> list[Line]:
    """What became of rows while something was killed again and again, and what reached the judge."""
    judge, (a_minute, at_once) = seen["judge"], seen["limits"]
    return [
        Line(where + right, seen["right"], "rows", required=Required("at least", seen["rows"])),
        Line(f"{where}things killed meanwhile", sum(seen["kills"].values()), "kills"),
        Line(
            f"{where}requests to the judge",
            judge["asked"],
            "requests",
            seen["rows"],
            "rows",
            Required("at most", 1.1, "ratio"),
        ),
        Line(
            f"{where}in its busiest minute",
            judge["busiest_minute"],
            "requests",
            a_minute,
            "its limit",
            Required("at most", 1.0, "ratio"),
        ),
        Line(
            f"{where}at once",
            judge["most_at_once"],
            "requests",
            at_once,
            "its limit",
            Required("at most", 1.0, "ratio"),
        ),
    ]


def measured(module: str, *arguments: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [PYTHON, "-m", module, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            env={
                "PATH": os.environ["PATH"],
                "HOME": home,
                "FAIRMARK_HOME": home,
                "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
                "RAY_USAGE_STATS_ENABLED": "0",
            },
        )
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
