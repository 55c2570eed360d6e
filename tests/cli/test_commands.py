"""The table of commands: it lists what its modules say of themselves, and imports no more than is asked for."""

import subprocess
import sys

import pytest

from fairmark.cli.commands import COMMANDS, load


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says_of_itself(name: str) -> None:
    paragraph = load(name).help.partition("\n\n")[0]
    assert " ".join(paragraph.split()) == COMMANDS[name].summary


def imported(*words: str) -> set[str]:
    """What a command has imported of ours when it ends."""
    code = (
        "import atexit, sys; from fairmark.cli import main; sys.argv[0] = 'fairmark';"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return {name for name in done.stderr.split() if name.split(".")[0] in ("fairmark", "pydantic", "asyncio")}


def test_help_imports_no_command() -> None:
    names = imported("--help")
    assert "fairmark.cli.commands" in names
    assert not {"fairmark.cli.grading.grade", "fairmark.parse", "pydantic", "asyncio"} & names


def test_a_command_imports_no_other() -> None:
    names = imported("kinds")
    assert "fairmark.cli.grading.kinds" in names
    assert not {"fairmark.cli.grading.grade", "fairmark.cli.grading.evaluate", "fairmark.store"} & names


def test_a_mistyped_command_is_told_with_the_likely_one() -> None:
    code = "import sys; from fairmark.cli import main; sys.argv[0] = 'fairmark'; main()"
    done = subprocess.run([sys.executable, "-c", code, "grdae"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "grade" in done.stderr
