"""Help, version, and what happens when nothing fits."""

import re
import shlex

import pytest

import fairmark as package
from tests.cli.conftest import Run

COMMANDS = ["grade", "validate", "eval", "kinds"]


def test_help_lists_every_command(fairmark: Run) -> None:
    text = fairmark("--help").stdout
    assert [name for name in COMMANDS if re.search(rf"\b{name}\b", text)] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_in_a_commands_help_runs(fairmark: Run, command: str) -> None:
    text = fairmark(command, "--help", env={"COLUMNS": "400"}).stdout
    (example,) = re.findall(r"^\s+fairmark (.*\S)\s*$", text.partition("Example")[2], flags=re.MULTILINE)
    assert example.startswith(command)
    done = fairmark(*shlex.split(example))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_the_version_is_the_packages(fairmark: Run) -> None:
    assert fairmark("--version").stdout == f"fairmark {package.__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["grade"], ["eval", "x.jsonl"], ["grade", "--nonsense"]])
def test_a_wrong_call_is_exit_code_2_with_usage(fairmark: Run, arguments: list[str]) -> None:
    done = fairmark(*arguments)
    assert done.returncode == 2
    assert "Usage: fairmark" in done.stderr
