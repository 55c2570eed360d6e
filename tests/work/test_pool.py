"""Worker processes: the same results in the same order, and no harm when they cannot help."""

import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.work import pool

SIMILAR = {
    "type": "text_similarity",
    "input": "{{sample.output_text}}",
    "reference": "{{item.reference}}",
    "evaluation_metric": "rouge_l",
    "pass_threshold": 0.5,
}


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers pay from the first row on."""
    monkeypatch.setattr(pool, "WORTH_STARTING_S", 0.0)
    monkeypatch.setattr(pool, "WORTH_SENDING_S", 0.0)


def rows(count: int) -> list[dict[str, Any]]:
    return [{"item": {"reference": f"one two {i}"}, "sample": f"one {i} three"} for i in range(count)]


def children() -> list[int]:
    """Worker processes of ours; a test run has other children too."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in pids if b"fairmark.work.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_workers_give_the_same_results_in_the_same_order() -> None:
    mixed: list[Any] = [*rows(1500), {"item": {}}, "no row", *rows(300)]
    alone = fairmark.grade_many(SIMILAR, mixed, workers=1)
    shared = fairmark.grade_many(SIMILAR, mixed, workers=2)
    for one, other in zip(alone, shared, strict=True):
        assert {**one.model_dump(), "metadata": None} == {**other.model_dump(), "metadata": None}
        assert one.errors == other.errors


def test_workers_are_started_only_when_the_work_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = pool.Pool(fairmark.parse.parse(SIMILAR), 2)
    assert counts.pays(1, 1.0)
    monkeypatch.setattr(pool, "WORTH_STARTING_S", 0.25)
    monkeypatch.setattr(pool, "WORTH_SENDING_S", 40e-6)
    cheap = pool.Pool(fairmark.parse.parse(SIMILAR), 2)
    assert not cheap.pays(100_000, 1.0)  # 10 µs a row: sending costs as much
    assert not pool.Pool(fairmark.parse.parse(SIMILAR), 2).pays(100, 0.1)  # too little work so far
    assert pool.Pool(fairmark.parse.parse(SIMILAR), 2).pays(1000, 0.3)
    assert not pool.Pool(fairmark.parse.parse(SIMILAR), 1).pays(1000, 100.0)


def test_nothing_is_left_running_afterwards_nor_when_a_stream_is_left_early() -> None:
    before = children()
    fairmark.grade_many(SIMILAR, rows(2000), workers=2)
    assert children() == before
    stream = fairmark.grade_stream(SIMILAR, rows(5000), workers=2)
    for _ in range(10):
        next(stream)
    assert len(children()) == len(before) + 2
    stream.close()  # type: ignore[attr-defined]
    assert children() == before


def test_a_worker_that_is_killed_costs_nothing() -> None:
    stream = fairmark.grade_stream(SIMILAR, rows(5000), workers=2)
    results = [next(stream) for _ in range(10)]
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    results += list(stream)
    assert [r.reward for r in results] == [r.reward for r in fairmark.grade_many(SIMILAR, rows(5000), workers=1)]


def test_values_that_cannot_be_sent_are_graded_here() -> None:
    odd = [
        {"item": {"reference": "a"}, "sample": "half \ud83d"},
        {"item": {"reference": 10**30}, "sample": str(10**30)},
        {"item": {"reference": "x", "when": datetime.date(2026, 1, 1)}, "sample": "x"},
    ] * 400
    assert [r.reward for r in fairmark.grade_many(SIMILAR, odd, workers=2)] == [0.0, 1.0, 1.0] * 400


def test_without_an_interpreter_to_start_everything_is_graded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert len(fairmark.grade_many(SIMILAR, rows(1000), workers=2)) == 1000


def test_a_script_without_a_main_guard_can_use_workers_and_killing_it_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import fairmark, itertools, sys\n"
        "from fairmark.work import pool\n"
        "pool.WORTH_STARTING_S = pool.WORTH_SENDING_S = 0.0\n"
        f"grader = {SIMILAR!r}\n"
        "rows = ({'item': {'reference': 'a b'}, 'sample': 'a'} for _ in itertools.count())\n"
        "for n, result in enumerate(fairmark.grade_stream(grader, rows, workers=2)):\n"
        "    if n == 1000: print('ready', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        workers = [int(p) for p in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        assert len(workers) == 2
        process.kill()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
