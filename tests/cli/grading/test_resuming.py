"""fairmark eval, stopped and gone on with: killed, cut off, interrupted, or out of budget."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Run
from tests.cli.grading.evaluating import CAPITALS, EXACT, JUDGED, data, judging, rewards, statuses
from tests.judges.faults import FaultServer


def test_a_run_that_was_killed_goes_on(fairmark: Run, tmp_path: Path) -> None:
    """What a killed process leaves: the part that was written, with half a line at its end, and the old file."""
    source, out, partial = data(tmp_path / "d.jsonl"), tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    arguments = ["eval", source, "--grader", EXACT, "-o", str(out)]
    fairmark(*arguments)
    whole = out.read_bytes()
    partial.write_bytes(whole[: len(whole) // 2])
    out.write_text("the results of another day\n")
    done = fairmark(*arguments, "--resume")
    assert done.returncode == 0
    assert "from before" in done.stdout
    assert [row for row, _ in rewards(out)] == list(range(1, 11))
    assert not partial.exists()


@pytest.mark.parametrize("cut", [0, 1, 250, 700, 10_000])
def test_resuming_a_cut_file_grades_just_what_is_missing(fairmark: Run, tmp_path: Path, cut: int) -> None:
    source, whole, part = data(tmp_path / "d.jsonl"), tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    fairmark("eval", source, "--grader", EXACT, "-o", str(whole))
    # What a crash leaves of the last line may be longer than what will stand in its place.
    part.write_bytes(whole.read_bytes()[:cut] + b"x" * 5000)
    kept = part.read_bytes().rpartition(b"\n")[0]
    done = fairmark("eval", source, "--grader", EXACT, "-o", str(part), "--resume")
    assert done.returncode == 0
    assert part.read_bytes().startswith(kept)
    assert rewards(part) == rewards(whole)
    assert done.stdout.splitlines()[1].split()[:5] == ["exact", "0.8000", "80.0%", "8", "2"]


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"nonsense\n", "line 1 is not a result line; cannot resume."),
        (b'{"row":1,"graders":"other","results":{}}\n', "line 1 was made by other graders; cannot resume."),
    ],
)
def test_resuming_somebody_elses_file_is_refused(fairmark: Run, tmp_path: Path, stored: bytes, message: str) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(stored)
    done = fairmark("eval", *CAPITALS, "-o", str(out), "--resume")
    assert (done.returncode, done.stderr) == (2, f"{out}: {message}\n")
    assert out.read_bytes() == stored


def test_resuming_with_other_data_is_refused(fairmark: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    fairmark("eval", data(tmp_path / "d.jsonl", 3), "--grader", EXACT, "-o", str(out))
    (tmp_path / "d.jsonl").write_text('{"a": "1", "sample": "1"}\n' * 5)
    done = fairmark("eval", str(tmp_path / "d.jsonl"), "--grader", EXACT, "-o", str(out), "--resume")
    assert (done.returncode, done.stderr) == (
        2,
        f"{tmp_path}/d.jsonl: row 3 is not the row that was graded; cannot resume.\n",
    )


def test_ctrl_c_keeps_what_was_graded_and_says_how_to_go_on(fairmark: Run, tmp_path: Path) -> None:
    """Rows come by a pipe that stays open, so that the run is surely under way when it is interrupted."""
    out = tmp_path / "out.jsonl"
    command = [str(Path(sys.executable).parent / "fairmark"), "eval", "-", "--grader", EXACT, "-o", str(out)]
    env = {**os.environ, "FAIRMARK_HOME": str(tmp_path / "home")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=env) as process:
        assert process.stdin
        assert process.stderr
        deadline = time.monotonic() + 60
        number = 0
        partial = out.with_name("out.jsonl.partial")
        while not (partial.exists() and partial.stat().st_size) and time.monotonic() < deadline:
            for _ in range(500):
                number += 1
                process.stdin.write(json.dumps({"a": str(number), "sample": str(number)}).encode() + b"\n")
            process.stdin.flush()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130  # before its rows end; what it says fits into the pipe
        told = process.stderr.read().decode()
        process.stdin.close()
    graded = rewards(out)
    # The interrupt may fall between writing a row and counting it.
    assert any(f"Stopped after {len(graded) - late:,} rows." in told for late in (0, 1))
    assert f"They are in {out}. Go on with:\n  fairmark eval - --grader" in told
    assert told.rstrip().endswith("--resume")
    assert graded == [(i, 1.0) for i in range(1, len(graded) + 1)]
    assert len(graded) > 100


def test_resume_grades_skipped_rows_again_and_keeps_the_others_and_their_order(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    """Also where skipped rows lie between others, as they do where a part of the answers was known already."""
    out = tmp_path / "out.jsonl"
    arguments = ["eval", data(tmp_path / "d.jsonl", 8), "--grader", JUDGED, "-o", str(out)]
    env = judging(server, tmp_path)
    fairmark(*arguments, "--budget-tokens", "300", env=env)
    whole = out.read_text().splitlines(keepends=True)
    # As a run that was stopped leaves it: skipped rows between graded ones, and half a line at the end.
    mixed = [whole[3].replace('"row":4', '"row":1'), *whole[1:3], *whole[3:6]]
    mixed[0] = json.dumps({**json.loads(mixed[0]), "item": {"a": "1"}, "sample": "1"}) + "\n"
    out.write_text("".join(mixed) + whole[6][:40])
    out.chmod(0o640)
    done = fairmark(*arguments, "--resume", "--budget-tokens", "500", env=env)
    assert done.returncode == 0
    assert statuses(out) == [(row, "skipped" if row == 8 else "graded") for row in range(1, 9)]
    assert out.read_text().splitlines(keepends=True)[1:3] == whole[1:3]
    assert len(server.requests) == 3 + 5
    assert "6 rows in" in done.stdout
    assert "2 from before" in done.stdout
    assert done.stdout.splitlines()[-1] == "judges: 840 tokens"  # seven rows, two of them from before
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "home", "out.jsonl"]
    done = fairmark(*arguments, "--resume", env=env)
    assert statuses(out) == [(row, "graded") for row in range(1, 9)]
    assert "rows were skipped" not in done.stdout


def test_resume_keeps_the_rows_that_lie_behind_the_last_skipped_one(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["eval", data(tmp_path / "d.jsonl", 6), "--grader", JUDGED, "-o", str(out)]
    env = judging(server, tmp_path)
    fairmark(*arguments, env=env)
    whole = out.read_text().splitlines(keepends=True)
    second = json.loads(whole[1])
    second["results"]["judged"] = {"reward": 0.0, "passed": None, "status": "skipped", "skipped": "no budget"}
    out.write_text("".join([whole[0], json.dumps(second) + "\n", *whole[2:]]))
    assert fairmark(*arguments, "--resume", env=env).returncode == 0
    assert statuses(out) == [(row, "graded") for row in range(1, 7)]
    assert [line for line in out.read_text().splitlines(keepends=True) if line in whole] == [whole[0], *whole[2:]]
    assert len(server.requests) == 6 + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "home", "out.jsonl"]


def test_resuming_after_skipped_rows_loses_nothing_when_it_is_stopped_too(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    out, source = tmp_path / "out.jsonl", Path(data(tmp_path / "d.jsonl", 6))
    arguments = ["eval", str(source), "--grader", JUDGED, "-o", str(out)]
    env = judging(server, tmp_path)
    fairmark(*arguments, "--budget-tokens", "300", env=env)
    rows = source.read_text().splitlines()
    source.write_text("\n".join([*rows[:4], "no row", rows[5]]) + "\n")
    done = fairmark(*arguments, "--resume", env=env)
    assert done.returncode == 0  # a row that cannot be read was read before; its line stays as it is
    assert statuses(out) == [
        (1, "graded"),
        (2, "graded"),
        (3, "graded"),
        (4, "graded"),
        (5, "skipped"),
        (6, "graded"),
    ]
    source.write_text("\n".join([*rows, "no row"]) + "\n")
    done = fairmark(*arguments, "--resume", env=env)
    assert done.returncode == 2
    assert "line 7: not JSON" in done.stderr
    # Row 5 may have been under way when the bad one was found.
    assert [(row, status) for row, status in statuses(out) if row != 5] == [(row, "graded") for row in (1, 2, 3, 4, 6)]
    assert [row for row, _ in statuses(out)] == [1, 2, 3, 4, 5, 6]
