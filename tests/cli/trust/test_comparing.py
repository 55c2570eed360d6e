"""fairmark judge compare and calibrate, against a provider on loopback."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.trust.test_judge import GRADER, asking, labelled
from tests.judges.faults import FaultServer, Status


def test_every_model_is_checked_on_the_same_rows(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    rows, out = labelled(tmp_path / "rows.jsonl"), tmp_path / "out.json"
    arguments = ["judge", "compare", GRADER, rows, "--models", "one,two", "-o", str(out)]
    done = fairmark(*arguments, env=asking(server, tmp_path))
    assert done.returncode == 0, done.stderr
    assert {request.body["model"] for request in server.requests} == {"one", "two"}
    assert len(server.requests) == 80
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["JUDGE", "one", "two"]
    told = json.loads(out.read_text())
    assert [check["grader"]["models"] for check in told["checks"]] == [["one"], ["two"]]


def test_whose_questions_failed_is_told_and_has_no_grade_to_rely_on(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    server.always(Status(401))
    rows = labelled(tmp_path / "rows.jsonl")
    done = fairmark("judge", "compare", GRADER, rows, "--models", "one,two", env=asking(server, tmp_path))
    assert done.returncode == 3
    assert "one: 40 of 40 questions failed: " in done.stderr
    assert "two: 40 of 40 questions failed: " in done.stderr


def test_one_model_is_nothing_to_compare(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    rows = labelled(tmp_path / "rows.jsonl")
    done = fairmark("judge", "compare", GRADER, rows, "--models", "one", env=asking(server, tmp_path))
    assert done.returncode == 2
    assert "It takes two names or more" in done.stderr


def test_a_constant_judge_cannot_be_mended_by_a_curve(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    rows, out = labelled(tmp_path / "rows.jsonl"), tmp_path / "curve.json"
    done = fairmark("judge", "calibrate", GRADER, rows, "-o", str(out), env=asking(server, tmp_path))
    assert done.returncode == 0, done.stderr  # half of the rows pass, the judge says 0.75 of each: the curve says 0.5
    told = json.loads(out.read_text())
    assert (told["method"], told["labels"]) == ("platt", 40)
    assert told["brier_before"] > told["brier_after"] > 0.24
    assert "0.50" in done.stdout
    few = labelled(tmp_path / "few.jsonl", 20)
    done = fairmark("judge", "calibrate", GRADER, few, env=asking(server, tmp_path))
    assert done.returncode == 2
    assert "A curve takes 30" in done.stderr
