"""The real command, as a user runs it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests import command
from tests.judges.faults import FaultServer

ROOT = Path(__file__).parents[2]
Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def fairmark(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs `fairmark` with the arguments, in the project's folder, and gives what it printed and its exit code.

    What a test keeps lies in a home of its own, unless it names another.
    """
    home = {"FAIRMARK_HOME": str(tmp_path_factory.mktemp("home"))}

    def run(
        *arguments: str, stdin: str = "", env: dict[str, str] | None = None, cwd: Path = ROOT, cold: bool = False
    ) -> CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "120", **home, **(env or {})}
        done = command.run(arguments, cwd=cwd, env=environment, stdin=stdin, cold=cold)
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A provider of models, which answers as a test says."""
    with FaultServer() as server:
        yield server
