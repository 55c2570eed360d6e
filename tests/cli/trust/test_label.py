"""fairmark label next."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.trust.test_series import people, results
from tests.moving.hosted import three_rows


def test_answers_to_label_are_written_without_the_judges_word(fairmark: Run, tmp_path: Path) -> None:
    run = results(tmp_path / "run.jsonl", [number / 200 for number in range(200)])
    labels = people(tmp_path / "labels.jsonl", ["pass"] * 40)
    out = tmp_path / "todo.jsonl"
    done = fairmark("label", "next", run, "-n", "30", "--labels", labels, "-o", str(out))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert 29 <= len(lines) <= 30
    assert all(line["item"]["id"] >= 40 and "reward" not in json.dumps(line) for line in lines)
    assert {line["picked"] for line in lines} >= {"random", "doubtful"}
    assert "answers to label in" in done.stderr
    again = fairmark("label", "next", run, "-n", "30", "--labels", labels)
    assert again.stdout == out.read_text()


def test_nothing_goes_over_what_is_read(fairmark: Run, tmp_path: Path) -> None:
    run = results(tmp_path / "run.jsonl", [0.5] * 3)
    done = fairmark("label", "next", run, "-o", run)
    assert (done.returncode, "this is the file that is read" in done.stderr) == (2, True)


def test_labels_of_a_stored_run_come_in_and_go_out(fairmark: Run, tmp_path: Path) -> None:
    folder, home = three_rows(tmp_path / "archive").archive.folder, {"FAIRMARK_HOME": str(tmp_path / "home")}
    assert fairmark("import", "load", str(folder), env=home).returncode == 0
    todo = tmp_path / "todo.jsonl"
    done = fairmark("label", "next", "evalrun_1", "-o", str(todo), env=home)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in todo.read_text().splitlines()]
    assert len(lines) >= 2
    labelled = tmp_path / "labelled.jsonl"
    labelled.write_text("".join(json.dumps({**line, "label": "pass"}) + "\n" for line in lines))
    done = fairmark("label", "import", "evalrun_1", str(labelled), "--rater", "kim", env=home)
    assert (done.returncode, done.stdout) == (0, f"{len(lines)} labels of evalrun_1\n"), done.stderr
    out = tmp_path / "out.jsonl"
    assert fairmark("label", "export", "evalrun_1", "-o", str(out), env=home).returncode == 0
    back = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(line["label"], line["rater"]) for line in back} == {("pass", "kim")}
    assert len(back) == len(lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "evalrun_x"], 'No run found with id "evalrun_x"'),
        (["import", "evalrun_x", "README.md"], 'No run found with id "evalrun_x"'),
        (["next", "evalrun_x"], "neither a file nor a run"),
        (["export", "evalrun_x", "--server", "nonsense"], "It takes the address"),
        (["import", "evalrun_x", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_what_is_wrong_with_stored_labels_is_told(
    fairmark: Run, tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = fairmark("label", *arguments, env={"FAIRMARK_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
