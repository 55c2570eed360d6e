"""fairmark runs regrade, as far as it needs no server: tests/server/test_regrade.py has one."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.moving import hosted
from tests.moving.hosted import three_rows


def test_a_run_is_graded_again_on_this_machine(fairmark: Run, tmp_path: Path) -> None:
    folder, home = three_rows(tmp_path / "archive").archive.folder, {"FAIRMARK_HOME": str(tmp_path / "home")}
    assert fairmark("import", "load", str(folder), env=home).returncode == 0
    criteria = tmp_path / "criteria.json"
    criteria.write_text(json.dumps([{**hosted.EXACT, "reference": "Rome"}]))
    done = fairmark("runs", "regrade", "eval_1", "evalrun_1", "--criteria", str(criteria), "--name", "new", env=home)
    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)
    assert (run["name"], run["status"], run["regraded_from"]) == ("new", "completed", "evalrun_1")
    assert (run["result_counts"]["passed"], run["result_counts"]["failed"]) == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "=x"], "It takes OLD=NEW"),
        (["--criteria", "absent.json"], "absent.json"),
        (["--criteria", "README.md"], "not JSON"),
        (["--criteria", "examples/graders.json"], "It takes a list of graders"),
        (["--server", "nonsense"], "It takes the address"),
        ([], 'No eval found with id "eval_1"'),
    ],
)
def test_what_is_wrong_is_told(fairmark: Run, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = fairmark("runs", "regrade", "eval_1", "evalrun_1", *arguments, env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
