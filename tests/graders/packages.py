"""Packages of others with kinds in them, and Pythons that have them on their path."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests import command

COMMAND = "import sys; from fairmark.cli import main; sys.argv[0] = 'fairmark'; main()"


def python(code: str, *arguments: str, executable: str | None = None, path: Path | None = None) -> Any:
    """A run of Python with a folder of packages on its path; of ours, where Fairmark is imported already."""
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "120", **({"PYTHONPATH": str(path)} if path else {})}
    if executable is None:
        return command.python(code, *arguments, env=environment)
    return subprocess.run(
        [executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )


def answer(code: str, executable: str | None = None, path: Path | None = None) -> Any:
    """What the code leaves in `answer`. It warns about nothing and prints nothing."""
    done = python(f"import json, fairmark\n{code}\nprint(json.dumps(answer))", executable=executable, path=path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


KIND = """
from typing import Literal
from fairmark.plugin import Context, Grade, GraderSpec, GradingFailed, Kind, NotGraded, Row

class Spec(GraderSpec):
    "Made for a test."
    type: Literal["mine"]

def grade(spec, row, ctx):
    return Grade(0.25)
"""
"""The beginning of a module with all that a kind is made of."""


def package(folder: Path, name: str, source: str, points: str = "mine = {name}:KIND") -> Path:
    """A package as it lies in site-packages: a module, and the folder that announces it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[fairmark.graders]\n{points.replace('{name}', name)}\n")
    (folder / f"{name}.py").write_text(source)
    return folder
