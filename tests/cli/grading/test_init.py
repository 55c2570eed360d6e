"""fairmark init: every template is an eval that runs, and nothing is written over."""

import json
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import typer

from fairmark import FakeAnswer, FakeJudge, grade, parse
from fairmark.cli.grading import init
from fairmark.errors import InvalidData
from fairmark.judges.models import read_registry
from tests.cli.conftest import Run


@pytest.mark.parametrize("name", init.TEMPLATES)
def test_a_template_runs_as_its_readme_says_and_tells_good_rows_from_bad(
    fairmark: Run, tmp_path: Path, name: str
) -> None:
    written = fairmark("init", "new", "--template", name, cwd=tmp_path)
    assert (written.returncode, written.stderr) == (0, "")
    folder = tmp_path / "new"
    (line,) = [line.strip() for line in (folder / "README.md").read_text().splitlines() if "fairmark eval" in line]
    assert written.stdout.endswith(f"Try it: cd new && {line}\n")
    command, *arguments = shlex.split(line)
    assert command == "fairmark"
    done = fairmark(*arguments, "--json", cwd=folder, env={"FAIRMARK_HOME": str(tmp_path)})
    assert done.returncode == 0
    graders = json.loads(done.stdout)["graders"]
    assert len(graders) == len(list((folder / "graders").iterdir()))
    for figures in graders.values():
        assert (figures["errors"], figures["skipped"]) == (0, 0)
        assert figures["passed"] > 0
        assert figures["failed"] > 0


@pytest.mark.parametrize("name", init.TEMPLATES)
def test_graders_and_judges_of_a_template_are_valid_and_fit_its_rows(tmp_path: Path, name: str) -> None:
    files = init.contents(name)
    schema = jsonschema.Draft202012Validator(json.loads(files["grader.schema.json"]))
    row = json.loads(files["rows.jsonl"].splitlines()[0])
    graders = {path: json.loads(text) for path, text in files.items() if path.startswith(("graders/", "judges/"))}
    assert {path.partition("/")[0] for path in graders} == {"graders", "judges"}
    for path, grader in graders.items():
        assert list(schema.iter_errors(grader)) == [], path
        assert parse.validate(grader).warnings == [], path
        assert grader["name"] == Path(path).stem
        if path.startswith("judges/"):
            # What it says is no verdict; the question was made of the row all the same.
            result = grade(grader, row["sample"], row["item"], judge=FakeJudge(FakeAnswer("?")))
            assert result.errors["model_grader_parse_error"] or result.errors["model_grader_server_error"], path
            assert not result.errors["invalid_variable_error"], path


def test_the_settings_that_are_offered_are_ones(tmp_path: Path) -> None:
    offered = "\n".join(
        line.removeprefix("# ")
        for line in init.contents("qa")["fairmark.toml"].splitlines()
        if "=" in line or "[" in line
    )
    assert tomllib.loads(init.contents("qa")["fairmark.toml"]) == {}
    (tmp_path / "fairmark.toml").write_text(offered)
    model = read_registry(tmp_path / "fairmark.toml", {}).resolve("gpt-6-luna")
    assert model.real_name == "qwen3-32b"


def test_nothing_is_written_where_one_of_its_files_is_there(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("mine")
    done = fairmark("init", "--template", "json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rows.jsonl: it is there already. Name another folder; nothing was written.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
    assert (tmp_path / "rows.jsonl").read_text() == "mine"
    (tmp_path / "file").write_text("")
    blocked = fairmark("init", "file/below", "--template", "json", cwd=tmp_path)
    assert blocked.returncode == 2
    assert blocked.stderr.startswith("file/below")


def test_the_templates_are_listed_and_a_wrong_one_is_told(fairmark: Run, tmp_path: Path) -> None:
    listed = fairmark("init", "--list", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(init.TEMPLATES)
    wrong = fairmark("init", "--template", "rewards", cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.endswith("Did you mean reward?\n")
    missing = fairmark("init", cwd=tmp_path)
    assert missing.stderr == f"--template: missing. Use one of: {', '.join(init.TEMPLATES)}.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("typed", "chosen"), [("3", "json"), ("code", "code"), ("9", None), ("0", None), ("³", None)])
def test_on_a_terminal_the_user_is_asked(monkeypatch: pytest.MonkeyPatch, typed: str, chosen: str | None) -> None:
    terminal: Any = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(init, "sys", SimpleNamespace(stdin=terminal, stdout=terminal))
    monkeypatch.setattr(typer, "prompt", lambda *words, **more: typed)
    if chosen is None:
        with pytest.raises(InvalidData, match="Use one of: qa, "):
            init._chosen(None)
    else:
        assert init._chosen(None) == chosen
