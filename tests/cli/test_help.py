"""Help, version, and what happens when nothing fits."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fairmark as package
from tests.cli.conftest import ROOT, Run
from tests.command import python

COMMANDS = [
    "init",
    "grade",
    "validate",
    "eval",
    "kinds",
    "schema",
    "config show",
    "doctor",
    "import openai",
    "import azure",
    "graders list",
    "graders show",
    "graders export",
    "graders import",
    "graders lock",
    "graders unlock",
    "graders delete",
    "train worker",
    "export",
    "import load",
    "runs regrade",
    "keys create",
    "keys list",
    "keys revoke",
    "models list",
    "models test",
    "models pull",
    "models retired",
    "sandbox install",
    "sandbox list",
    "sandbox remove",
]
NEEDS_GRADERS = {"graders show", "graders lock", "graders unlock", "graders delete"}
NOT_RUN = {
    "init",  # writes a folder where it stands; tests/cli/grading/test_init.py has one for each template
    "import openai",  # needs the hosted service; tests/cli/moving/test_import.py has a double of it
    "import azure",
    "import load",  # needs an archive; tests/cli/moving/test_import_load.py has one
    "runs regrade",  # needs a run; tests/server/test_regrade.py has one
    "train worker",  # needs a model and a server; tests/training/test_grpo.py has both
    "keys revoke",  # needs a key that was made; tests/cli/server/test_keys.py makes one
    "sandbox install",  # downloads 300 MB and compiles; tests/sandbox/test_images.py builds a small image
    "models pull",  # downloads 90 MB; tests/judges/test_pull.py fetches small files from a server of its own
}
SHOWN_ON_ITS_PAGE = {"models test"}
"""Waits for an answer of the embedded model. So does the same call on its page, which tests/test_docs.py runs."""


# The command in one process, once for each call.
HELP = """
import contextlib, io, json, sys
from fairmark.cli import main

said = {}
for words in json.load(sys.stdin):
    sys.argv = ["fairmark", *words.split(), "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        main()
    said[words] = text.getvalue()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def helps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What --help says of each command, and of each group of them; "" is the command itself."""
    groups = {command.rpartition(" ")[0] for command in COMMANDS}
    env = {"PATH": "/usr/bin:/bin", "COLUMNS": "400", "FAIRMARK_HOME": str(tmp_path_factory.mktemp("home"))}
    done = python(HELP, env=env, stdin=json.dumps([*groups, *COMMANDS]))
    assert (done.returncode, done.stderr) == (0, "")
    said: dict[str, str] = json.loads(done.stdout)
    return said


def test_help_lists_every_command(helps: dict[str, str], fairmark: Run) -> None:
    for command in COMMANDS:
        group, _, name = command.rpartition(" ")
        assert re.search(rf"\b{name}\b", helps[group])
    for group in ("", "graders"):
        assert fairmark(*group.split(), "--help", env={"COLUMNS": "400"}).stdout == helps[group]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_in_a_commands_help_runs(
    helps: dict[str, str], fairmark: Run, tmp_path: Path, command: str
) -> None:
    text = helps[command]
    (example,) = re.findall(r"^\s+fairmark (.*\S)\s*$", text.partition("Example")[2], flags=re.MULTILINE)
    assert example.startswith(command)
    if command in NOT_RUN:
        return
    if command in SHOWN_ON_ITS_PAGE:
        assert f"fairmark {example}\n" in (ROOT / "docs" / "commands" / f"{command.split()[0]}.md").read_text()
        return
    # Images are removed here: not those of whoever runs the tests.
    (tmp_path / "images" / "2025-05-08").mkdir(parents=True)
    home = {"FAIRMARK_HOME": str(tmp_path)}
    if command in NEEDS_GRADERS:
        fairmark("graders", "import", "examples/graders.json", env=home)
    done = fairmark(*shlex.split(example.replace("my-archive", str(tmp_path / "my-archive"))), env=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_the_version_is_the_packages(fairmark: Run) -> None:
    assert fairmark("--version").stdout == f"fairmark {package.__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["grade"], ["eval", "x.jsonl"], ["grade", "--nonsense"]])
def test_a_wrong_call_is_exit_code_2_with_usage(fairmark: Run, arguments: list[str]) -> None:
    done = fairmark(*arguments)
    assert done.returncode == 2
    assert "Usage: fairmark" in done.stderr


def test_the_package_can_be_run_as_the_command(fairmark: Run) -> None:
    done = subprocess.run([sys.executable, "-m", "fairmark", "-V"], capture_output=True, text=True, check=True)
    assert done.stdout == fairmark("--version").stdout == f"fairmark {package.__version__}\n"


def test_a_shell_can_complete_commands(fairmark: Run) -> None:
    asked = {"_FAIRMARK_COMPLETE": "complete_bash", "COMP_WORDS": "fairmark vali", "COMP_CWORD": "1"}
    assert fairmark(env=asked).stdout.split() == ["validate"]
