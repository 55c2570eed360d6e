"""fairmark import load: an archive into the store, beside a server or without one."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.hosted import KEY, Size, World, hosting
from tests.moving import hosted
from tests.moving.hosted import three_rows
from tests.moving.test_export import content


def test_an_archive_is_loaded_and_the_report_says_what_became_of_it(fairmark: Run, tmp_path: Path) -> None:
    folder, home = three_rows(tmp_path / "archive").archive.folder, {"FAIRMARK_HOME": str(tmp_path / "home")}
    counted = fairmark("import", "load", str(folder), "--dry-run", env=home)
    done = fairmark("import", "load", str(folder), env=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert counted.stdout == "files: 1 new\nevals: 1 new\nruns: 1 new\n"
    assert done.stdout == "files: 1 new\nevals: 1 new\nruns: 1 new\noutput items: 3 written\n"
    again = fairmark("import", "load", str(folder), env=home)
    assert again.stdout == "files: 1 unchanged\nevals: 1 unchanged\nruns: 1 unchanged\n"


def test_what_was_left_out_is_exit_code_3_and_criteria_that_cannot_run_alone_are_not(
    fairmark: Run, tmp_path: Path
) -> None:
    odd = {"type": "odd", "name": "o", "id": "o-1"}
    given = three_rows(tmp_path / "archive").evals(hosted.eval_(testing_criteria=[odd]))
    folder, home = str(given.archive.folder), {"FAIRMARK_HOME": str(tmp_path / "home")}
    done = fairmark("import", "load", folder, env=home)
    assert (done.returncode, "cannot run here: eval_1, criterion o: " in done.stdout) == (0, True)
    other = fairmark("import", "load", folder, "--project", "other", env=home)
    assert other.returncode == 3
    assert "clash: evals eval_1: another project on this server has this id. It was skipped." in other.stdout
    copied = fairmark("import", "load", folder, "--project", "other", "--on-clash", "copy", env=home)
    assert (copied.returncode, "It was copied as eval_" in copied.stdout) == (0, True)


def test_what_is_no_archive_or_no_project_is_told(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path / "home")}
    absent = fairmark("import", "load", str(tmp_path / "absent"), env=home)
    assert (absent.returncode, "there is no such folder" in absent.stderr) == (2, True)
    folder = str(three_rows(tmp_path / "archive").archive.folder)
    wrong = fairmark("import", "load", folder, "--project", "no / project", env=home)
    assert wrong.returncode == 2
    clash = fairmark("import", "load", folder, "--on-clash", "merge", env=home)
    assert clash.returncode == 2


def test_a_hosted_service_is_read_and_loaded_by_one_command(fairmark: Run, tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": KEY, "FAIRMARK_HOME": str(tmp_path / "home")}
    with hosting(World(Size(evals=2))) as service:
        words = ["import", "openai", "--json", "--base-url", service.base_url]
        done = fairmark(*words, env=env, cwd=tmp_path)
        again = fairmark(*words, env=env, cwd=tmp_path)
    first, second = json.loads(done.stdout), json.loads(again.stdout)
    assert first["loaded"]["evals"] == "2 new"
    assert first["loaded"]["runs"] == f"{first['counts']['runs']} new"
    assert first["loaded"]["output items"] == f"{first['counts']['items']} written"
    assert first["loaded"]["jobs"] == f"{first['counts']['jobs']} new"
    assert first["loaded"]["completions"] == f"{first['counts']['completions']} new"
    assert {kind: words.split()[1] for kind, words in second["loaded"].items()} == dict.fromkeys(
        second["loaded"], "unchanged"
    )
    out = fairmark("export", str(tmp_path / "out"), env=env)
    assert (out.returncode, out.stderr) == (0, "")
    exported, read = content(tmp_path / "out"), content(tmp_path / "openai-archive")
    assert {name for name in read if not name.startswith(("models.json", "files", "jobs.jsonl"))} <= exported.keys()
    assert [name for name in exported if name.startswith("runs/") and exported[name] != read[name]] == []
