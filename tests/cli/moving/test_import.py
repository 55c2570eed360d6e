"""fairmark import openai and azure, as a user runs them."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from fairmark.cli.moving.pulling import words
from fairmark.cli.shared.database import without_password
from fairmark.moving.pull.tally import PullTally
from tests import command
from tests.cli.conftest import Run
from tests.hosted import KEY, Faults, Size, World, hosting

HELD = {"OPENAI_API_KEY": KEY}


def test_it_pulls_and_reports(fairmark: Run, tmp_path: Path) -> None:
    with hosting(World(Size(evals=2))) as hosted:
        done = fairmark("import", "openai", "--pull-only", "--base-url", hosted.base_url, env=HELD, cwd=tmp_path)
    assert done.returncode == 3  # two files cannot be had
    folder = tmp_path / "openai-archive"
    assert "- 2 evals" in done.stdout
    assert "Not allowed to download files of purpose: user_data" in done.stdout
    assert "fairmark import load openai-archive" in done.stdout
    assert '"o3-mini" = "gpt-5.6-sol"' in done.stdout
    assert (folder / "report.md").read_text() == done.stdout
    assert KEY not in done.stdout + done.stderr


def test_all_is_well_when_nothing_is_missing(fairmark: Run, tmp_path: Path) -> None:
    with hosting() as hosted:
        words = [
            "import",
            "openai",
            "--only",
            "jobs,completions",
            "--base-url",
            hosted.base_url,
            "--pull-only",
            "--json",
        ]
        done = fairmark(*words, env=HELD, cwd=tmp_path)
    assert done.returncode == 0
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["counts"]["jobs"] == 2
    assert report["problems"] == []
    assert report["go_on"] is None


def test_a_dry_run_counts_and_writes_nothing(fairmark: Run, tmp_path: Path) -> None:
    with hosting() as hosted:
        done = fairmark("import", "openai", "--dry-run", "--base-url", hosted.base_url, env=HELD, cwd=tmp_path)
        asked = hosted.kinds()
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "3 evals", "12 runs", "300 items", "5 files", "2 jobs", "7 completions", "2,989 bytes in files",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    assert set(asked) == {"evals", "runs", "files", "jobs", "completions"}


def test_azure_takes_its_key_in_its_own_header(fairmark: Run, tmp_path: Path) -> None:
    environment = {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": ""}
    with hosting() as hosted:
        dated = ["--api-version", "2025-04-01-preview", "--only", "jobs", "--pull-only"]
        done = fairmark("import", "azure", "--base-url", hosted.root, *dated, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert hosted.requests[0].startswith("/openai/fine_tuning/jobs?api-version=2025-04-01-preview")
    assert (tmp_path / "azure-archive" / "jobs.jsonl").exists()


def test_the_command_that_goes_on_does(fairmark: Run, tmp_path: Path) -> None:
    with hosting(faults=Faults(refused_after=12)) as hosted:
        done = fairmark("import", "openai", "--pull-only", "--base-url", hosted.base_url, env=HELD, cwd=tmp_path)
        assert done.returncode == 3
        assert "the key is no longer accepted" in done.stdout
        go_on = done.stdout.partition("## Go on")[2].split("\n")[2].split()
        hosted.faults = Faults()
        done = fairmark(*go_on[1:], "--json", env={**HELD, "FAIRMARK_HOME": str(tmp_path / "home")}, cwd=tmp_path)
    assert go_on[0] == "fairmark"
    assert json.loads(done.stdout)["stopped"] is None
    assert json.loads(done.stdout)["counts"]["items"] == 300


def test_the_commands_that_are_printed_lead_to_the_same_project_and_database_and_hold_no_password(
    fairmark: Run, tmp_path: Path
) -> None:
    into = ["--on-clash", "copy", "--project", "north", "--db", "sqlite:///mine.db"]
    with hosting(faults=Faults(refused_after=12)) as hosted:
        done = fairmark("import", "openai", *into, "--base-url", hosted.base_url, env=HELD, cwd=tmp_path)
    go_on, load = (done.stdout.partition(f"## {part}")[2].split("\n")[2].split() for part in ("Go on", "Load it"))
    assert (go_on[-6:], load[-6:]) == (into, into)
    assert without_password("postgresql://me:secret@here/db") == "postgresql://me:***@here/db"
    assert without_password("me:secret") == "***"


@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        ([], {}, "the environment has no OPENAI_API_KEY"),
        (["--key-env", "MINE"], {"OPENAI_API_KEY": KEY}, "the environment has no MINE"),
        ([], {"OPENAI_API_KEY": "a key"}, "has characters that no key has"),
        (["--only", "evals,prompts"], HELD, '--only: found "prompts". It takes some of evals,files,'),
        (["--only", ","], HELD, "--only: found nothing"),
        (["--since", "yesterday"], HELD, "It takes a date: 2026-01-31"),
        (["--deadline", "0"], HELD, "more than 0"),
        (["--project", "a b"], HELD, 'project: found "a b". It takes 1 to 64 letters'),
        (["--db", "mysql://here"], HELD, "the database URL is of an unknown kind"),
        (["--db", "sqlite:////proc/nowhere/a.db"], HELD, "/proc/nowhere: no such file or directory"),
        (["--base-url", "api.openai.com"], HELD, "It takes https://HOST/v1"),
        (["--responses", "absent.txt"], HELD, "absent.txt: no such file or directory"),
        (["--responses", "wrong.txt"], HELD, 'wrong.txt: line 2: found "req_1". It takes an id: resp_'),
    ],
)
def test_a_mistake_is_told_before_anything_is_asked(
    words: list[str], environment: dict[str, str], told: str, fairmark: Run, tmp_path: Path
) -> None:
    (tmp_path / "wrong.txt").write_text("resp_12345678\nreq_1\n")
    done = fairmark("import", "openai", *words, env=environment, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert KEY not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.txt"]


def test_a_refused_key_is_exit_code_2(fairmark: Run, tmp_path: Path) -> None:
    wrong = "sk-wrong-3f9a1c77d2e84b06"
    with hosting() as hosted:
        done = fairmark("import", "openai", "--base-url", hosted.base_url, env={"OPENAI_API_KEY": wrong}, cwd=tmp_path)
    assert done.returncode == 2
    assert "the key is refused" in done.stderr
    assert wrong not in done.stderr + done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_service_that_is_not_there_is_exit_code_3_and_leaves_nothing(fairmark: Run, tmp_path: Path) -> None:
    with hosting() as hosted:
        pass
    done = fairmark("import", "openai", "--base-url", hosted.base_url, env=HELD, cwd=tmp_path)
    assert done.returncode == 3
    assert "cannot be reached" in done.stderr
    assert "It was asked 3 times. Nothing was read. To try again:\n  fairmark import openai" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_control_c_leaves_all_in_order(tmp_path: Path) -> None:
    with hosting(World(Size(items=130)), Faults(slow_s=0.005)) as hosted:
        words = ["import", "openai", "--pull-only", "--base-url", hosted.base_url, "--archive", "a"]
        errors = tmp_path / "errors.txt"
        with errors.open("w") as stderr:
            started = command.start(words, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", **HELD}, stderr=stderr)
        hosted.on_request = lambda number: os.kill(started.pid, signal.SIGINT) if number == 15 else None
        assert started.wait(60) == 130
        assert started.stdout is not None
        started.stdout.close()
        told = errors.read_text()
        assert "Traceback" not in told
        assert f"fairmark import openai --base-url {hosted.base_url} --key-env OPENAI_API_KEY --archive a" in told
        manifest = json.loads((tmp_path / "a" / "manifest.json").read_bytes())
        assert manifest["pull"]["finished_at"] is None
        assert KEY not in told


def test_the_progress_tells_objects_bytes_rate_the_time_left_and_the_wait() -> None:
    tally = PullTally()
    tally.at("runs and output items")
    tally.expected_items = 300
    tally.count("items", 100, 2_500_000)
    tally.waits(30)
    said = words(tally)
    assert said.startswith("runs and output items: 100 objects, 2.5 MB, ")
    assert "objects/s" in said
    assert " left, waiting " in said
    assert said.endswith(" s (429)")


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_nothing_of_the_key_is_in_what_is_written_or_said(fairmark: Run, tmp_path: Path) -> None:
    """The double repeats the key in each of its errors."""
    with hosting(faults=Faults(refused_at="/messages$")) as hosted:
        words = ["import", "openai", "--only", "completions", "--base-url", hosted.base_url]
        done = fairmark(*words, env={**HELD, "FAIRMARK_HOME": str(tmp_path / "home")}, cwd=tmp_path)
    assert done.returncode == 3
    assert "you sent ***" in done.stdout
    assert KEY.encode() not in all_bytes(tmp_path) + done.stdout.encode() + done.stderr.encode()
