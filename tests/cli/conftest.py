"""The real command, as a user runs it."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests import command

ROOT = Path(__file__).parents[2]
Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def fairmark() -> Run:
    """Runs `fairmark` with the arguments, in the project's folder, and gives what it printed and its exit code."""

    def run(
        *arguments: str, stdin: str = "", env: dict[str, str] | None = None, cwd: Path = ROOT, cold: bool = False
    ) -> CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "120", **(env or {})}
        done = command.run(arguments, cwd=cwd, env=environment, stdin=stdin, cold=cold)
        assert "Traceback" not in done.stderr
        return done

    return run
