"""The real command, as a user runs it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fairmark() -> Run:
    """Runs `fairmark` with the arguments, in the project's folder, and gives what it printed and its exit code."""

    def run(
        *arguments: str, stdin: str | None = None, env: dict[str, str] | None = None, cwd: Path = ROOT
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [Path(sys.executable).parent / "fairmark", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=cwd,
            timeout=120,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", **(env or {})},
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done

    return run
