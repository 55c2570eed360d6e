"""The GitHub Action and the GitLab template: their steps, run as a runner would."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import command

ROOT = Path(__file__).parents[1]
EXACT = '{"type": "string_check", "name": "exact", "input": "{{ sample.output_text }}", "reference": "{{ item.a }}", "operation": "eq"}'  # noqa: E501


def write_rows(path: Path, wrong: int) -> None:
    rows = (f'{{"item": {{"a": "{n}"}}, "sample": "{n if n >= wrong else "no"}"}}\n' for n in range(40))
    path.write_text("".join(rows))


class GitHub:
    """As much of a runner as the action's own steps see. Steps of others are left out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / "step-summary.md"
        self.action = yaml.safe_load((ROOT / "action.yml").read_text())

    def run(self, branch: str, **inputs: str) -> tuple[int, dict[str, str], str]:
        """The status of the last step, its outputs, and what all said."""
        given = {name: each.get("default", "") for name, each in self.action["inputs"].items()}
        values = {
            "github.head_ref || github.ref_name": branch,
            "github.event.repository.default_branch": "main",
            "runner.temp": str(self.folder / "temp"),
        }
        filled = {name: fill(text, values) for name, text in {**given, "install": "", **inputs}.items()}
        values |= {f"inputs.{name}": text for name, text in filled.items()}
        (self.folder / "temp").mkdir(exist_ok=True)
        outputs = self.folder / "outputs"
        outputs.write_text("")
        status, said = 0, ""
        for step in self.action["runs"]["steps"]:
            if "run" not in step or status:
                continue
            env = {name: fill(str(text), values) for name, text in step.get("env", {}).items()}
            env |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(self.summary)}
            status, text = run_script(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"], self.folder, env
            )
            said += text
        return status, dict(line.split("=", 1) for line in outputs.read_text().splitlines()), said


def fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    assert "${{" not in text
    return text


def run_script(shell: list[str], script: str, folder: Path, env: dict[str, str]) -> tuple[int, str]:
    path = folder / "step.sh"
    path.write_text(script)
    environment = {"PATH": f"{command.folder()}:{os.environ['PATH']}", "HOME": str(folder), "COLUMNS": "200", **env}
    done = subprocess.run([*shell, str(path)], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_action_fails_a_branch_that_is_worse_than_main_and_says_so_in_the_summary(tmp_path: Path) -> None:
    github = GitHub(tmp_path)
    (tmp_path / "exact.json").write_text(EXACT)
    asked = {"data": "rows.jsonl", "graders": "exact.json\n"}
    write_rows(tmp_path / "rows.jsonl", wrong=2)
    status, outputs, said = github.run("main", **asked)
    assert (status, outputs["status"]) == (0, "0"), said
    assert 'there is no run "main" of rows yet' in said

    status, _, said = github.run("feature/same", **asked)
    assert status == 0, said

    write_rows(tmp_path / "rows.jsonl", wrong=20)
    status, outputs, said = github.run("feature/worse", **asked)
    assert (status, outputs["status"]) == (1, "1")
    assert "exact: worse by 45.0 points, p < 0.001 than main" in said
    whole = github.summary.read_text()
    assert whole.count("### ✅ rows: passed") == 2
    assert "### ❌ rows: failed" in whole
    assert Path(outputs["summary"]).read_text() in whole
    assert len(Path(outputs["results"]).read_text().splitlines()) == 40


def test_an_input_is_never_a_command(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", wrong=2)
    (tmp_path / "exact.json").write_text(EXACT)
    evil = '$(touch evil)`touch evil`"; touch evil; "'
    status, _, said = GitHub(tmp_path).run(evil, data="rows.jsonl", graders="exact.json", baseline="")
    assert status == 0, said
    assert not (tmp_path / "evil").exists()


def test_the_action_passes_limits_on(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", wrong=20)
    (tmp_path / "exact.json").write_text(EXACT)
    asked = {"data": "rows.jsonl", "graders": "exact.json", "fail-under": "0.9", "arguments": "--eval\nother name"}
    status, _, said = GitHub(tmp_path).run("main", **asked)
    assert status == 1
    assert "exact: 0.5000 is below 0.9" in said
    assert "of other name yet" in said


@pytest.mark.parametrize("shell", [["bash", "-e"], ["sh", "-e"]])
def test_the_gitlab_template_fails_a_branch_that_is_worse_than_main(tmp_path: Path, shell: list[str]) -> None:
    job: dict[str, Any] = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())[".fairmark"]
    known = {"CI_PROJECT_DIR": str(tmp_path), "CI_DEFAULT_BRANCH": "main"}
    variables: dict[str, str] = dict(job["variables"])
    for name, value in known.items():
        variables = {key: text.replace(f"${name}", value) for key, text in variables.items()}
    variables |= {**known, "FAIRMARK_INSTALL": "", "FAIRMARK_DATA": "rows.jsonl", "FAIRMARK_GRADERS": "exact.json\n"}
    (tmp_path / "exact.json").write_text(EXACT)

    def run(branch: str, wrong: int) -> tuple[int, str]:
        write_rows(tmp_path / "rows.jsonl", wrong)
        env = {**variables, "CI_COMMIT_REF_NAME": branch}
        return run_script(shell, "\n".join([*job["before_script"], *job["script"]]), tmp_path, env)

    assert run("main", 2)[0] == 0
    status, said = run("feature", 20)
    assert status == 1, said
    assert "exact: worse by 45.0 points" in said
    assert 'failures="1"' in (tmp_path / "fairmark-junit.xml").read_text()
    for artifact in job["artifacts"]["paths"]:
        assert (tmp_path / artifact).stat().st_size > 0
