"""The benchmark suite runs and writes what it found. How fast anything is stands in no test."""

import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from bench import process, report
from tests import command, thoroughness

ROOT = Path(__file__).parents[2]
NAMES = ["engine", "startup"] if thoroughness.is_whole() else ["startup"]
"""Those that are run: the quick run takes one of them."""


def bench(*words: str) -> CompletedProcess[str]:
    """As `python -m bench`."""
    code = "import runpy; runpy.run_module('bench', run_name='__main__', alter_sys=True)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return command.python(code, *words, env=environment, cwd=ROOT, timeout_s=600)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    done = bench("--quick", *NAMES, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert ("string_check" in done.stdout) is ("engine" in NAMES)
    return folder


def read(results: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((results / f"{name}.json").read_text())
    return content


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_writes_its_numbers_and_the_machine(results: Path, name: str) -> None:
    content = read(results, name)
    assert content["machine"]["cores"] >= 1
    assert content["machine"]["quick"] is True
    assert content["raw"]
    assert all(line["ours"] > 0 for line in content["lines"])


def test_a_started_fairmark_takes_longer_than_a_bare_python(results: Path) -> None:
    raw = read(results, "startup")["raw"]["peak_mb"]
    assert raw["bare"] < raw["help"] < raw["grade"]


def test_the_summary_says_that_small_inputs_measure_nothing(results: Path) -> None:
    summary = (results / "README.md").read_text()
    assert [f"## {name}" in summary for name in NAMES] == [True] * len(NAMES)
    assert "not a measurement" in summary


def test_an_unknown_benchmark_is_refused_with_the_names_there_are() -> None:
    done = bench("speling")
    assert done.returncode == 2
    assert "no benchmark speling. There are: metrics, engine, " in done.stderr


@pytest.mark.parametrize(
    ("required", "verdict"),
    [
        (report.Required("at least", 10), "ok"),
        (report.Required("at least", 11), "short"),
        (report.Required("at most", 10), "ok"),
        (report.Required("at most", 0.5, "ratio"), "ok"),
        (report.Required("at most", 0.4, "ratio"), "short"),
        (None, ""),
    ],
)
def test_a_line_is_short_exactly_when_its_bound_is_missed(required: report.Required | None, verdict: str) -> None:
    assert report.Line("work", 10.0, "s", 20.0, "peer", required).verdict == verdict


def test_a_ratio_to_a_peer_that_failed_is_not_measured() -> None:
    line = report.Line(
        "work", 10.0, "s", None, "peer: could not be installed", report.Required("at most", 0.5, "ratio")
    )
    assert line.verdict == "not measured"
    assert line.cells()[2] == "peer: could not be installed"


def test_the_summary_holds_the_reports_of_earlier_runs(tmp_path: Path) -> None:
    facts = {
        "system": "Linux",
        "cores": 2,
        "python": "3.11.7",
        "date": "2026-01-01",
        "load": [0.1, 0.2],
        "source": "0123",
    }
    for name in ("first", "second"):
        report.save(report.Report(name, "About.", [report.Line("a|b", 1.0, "s")]), facts, tmp_path)
    summary = (tmp_path / "README.md").read_text()
    assert "## first" in summary
    assert "## second" in summary
    assert "| a\\|b | 1 s |  |  |  |  |" in summary


def test_a_process_is_measured_with_its_children() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(80_000_000)'])"
    run = process.run([sys.executable, "-c", child])
    assert run.peak_mb > 80
    assert run.cpu_s > 0


def test_a_process_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(process.TookTooLong, match="stopped after 1 s"):
        process.run([sys.executable, "-c", "import time; time.sleep(60)"], limit_s=1)


def test_a_process_that_fails_tells_why() -> None:
    with pytest.raises(process.ProcessFailed, match="ValueError: because"):
        process.run([sys.executable, "-c", "raise ValueError('because')"])
