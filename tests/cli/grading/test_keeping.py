"""What fairmark eval keeps of itself, and that nothing of it stops an eval."""

import json
import os
import signal
from pathlib import Path

import pytest

from fairmark.cli.grading import keeping
from fairmark.cli.grading.keeping import WhereKept
from fairmark.data import journal
from fairmark.parse import parse
from fairmark.settings import settings
from tests import command
from tests.cli.conftest import Run
from tests.cli.grading.evaluating import EXACT, JUDGED, data, judging
from tests.judges.faults import FaultServer
from tests.server.client import wait_for


def listed(fairmark: Run, env: dict[str, str]) -> list[dict[str, object]]:
    done = fairmark("runs", "list", "--json", env=env)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_without_the_packages_of_the_store_a_run_is_not_kept_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keeping, "find_spec", lambda name: None)
    assert keeping.begin(WhereKept(), {}, "d.jsonl", None, None, False) is None
    assert capsys.readouterr().err == (
        "This run is not kept: that needs sqlalchemy. pip install 'fairmark[server]', or say --no-store.\n"
    )


def test_a_home_that_cannot_be_written_costs_a_warning_and_nothing_else(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    out = tmp_path / "out.jsonl"
    env = {"FAIRMARK_HOME": str(tmp_path / "home")}
    done = fairmark("eval", data(tmp_path / "d.jsonl"), "--grader", EXACT, "-o", str(out), env=env)
    assert done.returncode == 0
    assert done.stderr == f"warning: this run is not kept: {tmp_path}/home/journals: not a directory.\n"
    assert "kept as" not in done.stdout
    assert len(out.read_text().splitlines()) == 10


def test_a_run_that_stopped_goes_on_as_the_same_run(fairmark: Run, tmp_path: Path) -> None:
    env = {"FAIRMARK_HOME": str(tmp_path / "home")}
    rows, out = tmp_path / "d.jsonl", tmp_path / "out.jsonl"
    data(rows, 6)
    whole = rows.read_text()
    rows.write_text(whole.replace('{"item": {"a": "5"}', "{broken"))
    words = ["eval", str(rows), "--grader", EXACT, "-o", str(out)]
    assert fairmark(*words, env=env).returncode == 2
    (stopped,) = listed(fairmark, env)
    assert stopped["status"] == "canceled"
    assert stopped["rows"] in range(1, 5)
    rows.write_text(whole)
    assert fairmark(*words, "--resume", env=env).returncode == 0
    (run,) = listed(fairmark, env)
    assert (run["id"], run["status"], run["rows"]) == (stopped["id"], "completed", 6)
    assert fairmark(*words, "--overwrite", env=env).returncode == 0
    assert len(listed(fairmark, env)) == 2


def test_rows_that_a_budget_skipped_are_graded_in_the_same_run(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    env = judging(server, tmp_path)
    words = ["eval", data(tmp_path / "d.jsonl", 5), "--grader", JUDGED, "-o", str(tmp_path / "out.jsonl")]
    assert fairmark(*words, "--budget-tokens", "300", env=env).returncode == 0
    (first,) = listed(fairmark, env)
    assert (first["passed"], first["skipped"]) == (3, 2)
    assert fairmark(*words, "--resume", env=env).returncode == 0
    (run,) = listed(fairmark, env)
    assert (run["id"], run["passed"], run["skipped"]) == (first["id"], 5, 0)


def test_a_judges_words_and_what_it_was_sent_are_kept(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    env = judging(server, tmp_path)
    assert fairmark("eval", data(tmp_path / "d.jsonl", 1), "--grader", JUDGED, env=env).returncode == 0
    (line,) = fairmark("runs", "export", "last", "--items", env=env).stdout.splitlines()
    sample = json.loads(line)["results"][0]["sample"]
    assert sample["input"][0]["content"].startswith("Rate 1 as 1.") or "Rate 1 as 1." in json.dumps(sample["input"])
    assert sample["output"][0]["content"]


def test_a_killed_eval_leaves_the_rows_it_had(fairmark: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(home)}
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    with (tmp_path / "log").open("wb") as log:
        process = command.start(["eval", str(pipe), "--grader", EXACT], cwd=tmp_path, env=env, stderr=log)
    with pipe.open("w") as rows:

        def are_written() -> bool:
            rows.write('{"item": {"a": "1"}, "sample": "1"}\n' * 300)
            rows.flush()
            return any(path.stat().st_size for path in (home / journal.FOLDER).glob("*.jsonl"))

        wait_for(are_written, 120)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
    (run,) = listed(fairmark, {"FAIRMARK_HOME": str(home)})
    assert run["status"] == "failed"
    assert run["rows"] == run["passed"]
    assert isinstance(run["rows"], int)
    assert run["rows"] > 0


@pytest.mark.parametrize(
    ("given", "sql", "name", "path"),
    [
        ("data/capitals.jsonl.gz", None, "capitals", None),
        ("-", None, "stdin", "-"),
        ("sqlite:///some/rows.db", "select 1", "rows", "sqlite:///some/rows.db"),
        ("postgresql://me:secret@host/rows", "select 1", "rows", "postgresql://me:***@host/rows"),
    ],
)
def test_an_eval_is_called_as_its_data_and_no_password_is_kept(
    given: str, sql: str | None, name: str, path: str | None
) -> None:
    assert keeping.eval_name_of(given, sql) == name
    named = keeping._data_named(given, sql)
    assert path is None or named.path == path


def test_graders_are_kept_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path))
    settings.cache_clear()
    spec = parse(json.loads(EXACT))
    begun = keeping.begin(WhereKept("main", "mine"), {"exact": spec}, "d.jsonl", None, None, False)
    settings.cache_clear()
    assert begun is not None
    (kept,) = journal.pending(tmp_path)
    assert (kept.name, kept.eval_name, kept.graders) == ("main", "mine", {"exact": spec.echo()})
    begun.end(whole=True, goes_on=False, rows=0)
    assert journal.pending(tmp_path) == []
