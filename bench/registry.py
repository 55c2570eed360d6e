"""What a grader costs by reference, against the same grader inline: in the library and on the server.

Both are asked in turns, and CPU is what counts: that of the process which grades. The best of many short turns is the
one that others on the machine have disturbed least.
"""

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import process, server
from bench.report import Line, Report, Required

KEY = "exact-match"
REFERENCE = {"type": "registered", "key": KEY}
LIMIT_S = 300
NO_MORE = Required("at most", 1.05, "ratio")


def main(quick: bool = False) -> Report:
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        lines = [*_library(Path(folder) / "library", quick, raw), *_server(Path(folder) / "server", quick, raw)]
    about = (
        "string_check by reference, against the same inline, in turns; CPU of the process that grades, best of the"
        " turns. What a reference leads to is looked up again every 2 s; a look into the store costs as much as told."
    )
    return Report("registry", about, lines, raw)


def _library(home: Path, quick: bool, raw: dict[str, Any]) -> Iterator[Line]:
    home.mkdir()
    rounds, calls = (3, 500) if quick else (60, 3_000)
    environment = {"PYTHONPATH": str(process.ROOT), "FAIRMARK_HOME": str(home)}
    command = [sys.executable, "-m", "bench.registry_rows", json.dumps(server.EXACT), KEY, str(rounds), str(calls)]
    told = raw["library"] = json.loads(process.run(command, LIMIT_S, environment, home).stdout)
    for work in ("grade", "grade_many"):
        yield _line(f"fairmark.{work}", *(told[work][how] for how in ("reference", "inline")))
    yield Line("a look into the local store", statistics.median(told["look_ms"]), "ms")


def _server(home: Path, quick: bool, raw: dict[str, Any]) -> Iterator[Line]:
    rounds, seconds = (2, 0.3) if quick else (24, 0.5)
    home.mkdir()
    rows = [server.new_row(index) for index in range(server.ROWS_A_REQUEST)]
    one = {"model_sample": "Paris", "item": {"answer": "Paris"}}
    with server.serving(home / "data") as url:
        server.ask(f"{url}/v1/graders", {"key": KEY, "grader": server.EXACT})
        for work, path, body, connections in (
            ("graders/run", "/v1/fine_tuning/alpha/graders/run", one, server.CONNECTIONS),
            (f"rewards, {len(rows):,} rows", "/v1/rewards", {"rows": rows}, 2),
        ):
            found: dict[str, list[float]] = {"reference": [], "inline": []}
            for how, grader in (("reference", REFERENCE), ("inline", server.EXACT)):
                (home / how).write_text(json.dumps({**body, "grader": grader}))
            for turn in range(2 * rounds):
                how = ("reference", "inline", "inline", "reference")[turn % 4]
                before = _cpu_s(server.pids[url])
                told = server.load(url + path, home / how, connections, seconds)
                found[how].append(1e6 * (_cpu_s(server.pids[url]) - before) / told["answered"])
            raw[work] = found
            yield _line(work, found["reference"], found["inline"])


def _line(work: str, reference: list[float], inline: list[float]) -> Line:
    return Line(work, min(reference), "µs", min(inline), "inline", NO_MORE)


def _cpu_s(pid: int) -> float:
    """What a process has had of a core so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
