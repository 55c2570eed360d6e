"""fairmark import file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

CONFIG = "examples/promptfoo.yaml"
ITEMS = "examples/eval_items.jsonl"


def test_a_dry_run_tells_all_and_writes_nothing(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("import", "file", CONFIG, "--dry-run", env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("promptfoo config: 2 files, 3 rows, 3 evals\n")
    assert "tests[2].assert[2]: javascript: it is code in JavaScript" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_an_archive_is_written_to_a_new_folder(fairmark: Run, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    done = fairmark("import", "file", ITEMS, "--archive", str(folder), "--name", "Mine")
    assert done.returncode == 0
    assert done.stdout.endswith(f"wrote {folder}. Load it: fairmark import load {folder}\n")
    assert json.loads((folder / "evals.jsonl").read_text())["name"] == "Mine"
    again = fairmark("import", "file", ITEMS, "--archive", str(folder))
    assert (again.returncode, again.stderr) == (
        2,
        f"{folder}: there is something in it already. Name a new folder.\n",
    )


def test_what_cannot_be_read_is_status_3_and_what_is_not_converted_is_not(fairmark: Run, tmp_path: Path) -> None:
    half = tmp_path / "half.jsonl"
    half.write_text((Path(ITEMS)).read_text()[:-100])
    done = fairmark("import", "file", str(half), "--dry-run")
    assert done.returncode == 3
    assert "could not be read (1):\n  line 3: not JSON" in done.stdout
    assert fairmark("import", "file", CONFIG, "--dry-run").returncode == 0


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nothing.json", "nothing.json: no such file."),
        ("README.md", "README.md: "),
        ("examples/exact.json", "not recognised: found an object with type"),
        ("src", "src: a folder without evals/*.yaml in it."),
        ("-", "-: no such file."),
    ],
)
def test_a_wrong_file_is_status_2_and_says_why(fairmark: Run, given: str, why: str) -> None:
    done = fairmark("import", "file", given, "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_a_project_that_nobody_could_have_a_key_for_is_refused(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("import", "file", ITEMS, "--project", "a b", env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert 'project: found "a b"' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    inside = fairmark("import", "file", ITEMS, "--archive", str(tmp_path / "file" / "archive"))
    assert inside.returncode == 2
    assert "not a directory" in inside.stderr
    taken = fairmark("import", "file", ITEMS, "--archive", str(tmp_path / "file"))
    assert (taken.returncode, taken.stderr) == (2, f"{tmp_path / 'file'}: it is no folder.\n")


def test_it_is_loaded_once_however_often_it_is_imported(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path / "home")}
    (tmp_path / "rows.yaml").write_text(
        "prompts: ['Capital of {{country}}?']\n"
        "providers: [openai:gpt-4o-mini]\n"
        "tests:\n"
        "  - vars: {country: France}\n"
        "    assert: [{type: equals, value: Paris}]\n"
    )
    first = fairmark("import", "file", str(tmp_path / "rows.yaml"), env=home)
    assert first.returncode == 0, first.stderr
    assert "files: 1 new\nevals: 1 new\n" in first.stdout
    (tmp_path / "rows.yaml").touch()
    again = fairmark("import", "file", str(tmp_path / "rows.yaml"), env=home)
    assert "files: 1 unchanged\nevals: 1 unchanged\n" in again.stdout


def drafted(fairmark: Run, tmp_path: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """What is said of a file with a draft, and its criterion in the store afterwards."""
    home = {"FAIRMARK_HOME": str(tmp_path / "home")}
    done = fairmark("import", "file", CONFIG, *options, env=home)
    assert done.returncode == 0, done.stderr
    assert fairmark("export", str(tmp_path / "out"), env=home).returncode == 0
    evals = [json.loads(line) for line in (tmp_path / "out" / "evals.jsonl").read_text().splitlines()]
    (eval_,) = [one for one in evals if one["name"].endswith("drafts")]
    return done.stdout, eval_["testing_criteria"][0]


def test_a_draft_is_a_criterion_like_others_once_somebody_says_so(fairmark: Run, tmp_path: Path) -> None:
    said, draft = drafted(fairmark, tmp_path)
    assert "draft, not run until somebody accepts it (--accept-drafts) (1):" in said
    assert (draft["runnable"], draft["model"]) == (False, "choose-a-judge")
    said, accepted = drafted(fairmark, tmp_path, "--accept-drafts", "--judge", "gpt-6-luna")
    assert "accepted draft, whose own prompt was another (1):" in said
    assert "1 changed" in said
    assert accepted["model"] == "gpt-6-luna"
    assert "runnable" not in accepted
    assert "reason" not in accepted
    assert {**draft, "model": "gpt-6-luna", "runnable": None, "reason": None} == {
        **accepted,
        "runnable": None,
        "reason": None,
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--accept-drafts"], "names no judge. Choose one: --judge MODEL, or judge in a request."),
        (["--judge", "gpt-6-luna"], "it is for --accept-drafts, which is missing."),
    ],
)
def test_a_draft_needs_a_judge_and_a_judge_a_draft(fairmark: Run, options: list[str], why: str) -> None:
    done = fairmark("import", "file", CONFIG, "--dry-run", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in " ".join(done.stderr.replace("│", " ").split())


def test_what_was_copied_is_copied_once(fairmark: Run, tmp_path: Path) -> None:
    """Also though the archive of a file is gone when it is loaded."""
    home = {"FAIRMARK_HOME": str(tmp_path / "home")}
    copying = ("import", "file", CONFIG, "--on-clash", "copy")
    assert fairmark("import", "file", CONFIG, "--project", "other", env=home).returncode == 0
    first = fairmark(*copying, env=home)
    assert first.returncode == 0, first.stderr
    assert "copied as eval_" in first.stdout
    again = fairmark(*copying, env=home)
    assert "copied as" not in again.stdout
    assert "files: 2 unchanged\nevals: 3 unchanged\n" in again.stdout
