"""The table of commands: it lists what its modules say of themselves, and imports no more than is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairmark.cli.commands import COMMANDS, load
from fairmark.cli.shared.exits import EXIT_INTERRUPTED
from tests.cli.conftest import Run


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


def test_a_mistyped_command_is_told_with_the_likely_one(fairmark: Run) -> None:
    done = fairmark("grdae")
    assert done.returncode == 2
    assert "grade" in done.stderr


@pytest.mark.parametrize("words", [["kinds"], ["eval", "rows.jsonl", "--grader", "exact.json"]])
def test_a_pipe_that_is_closed_early_stops_the_command_and_is_no_gate_that_failed(
    words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"item": {}, "sample": "a"}\n')
    grader = '{"type": "string_check", "operation": "eq", "input": "{{ sample.output_text }}", "reference": "a"}'
    (tmp_path / "exact.json").write_text(grader)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "fairmark", *words],
        cwd=tmp_path,
        env={**os.environ, "FAIRMARK_HOME": str(tmp_path / "home")},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (EXIT_INTERRUPTED, b"")
