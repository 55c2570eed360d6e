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
    return _answered(python(_answering(code), executable=executable, path=path))


def _answering(code: str) -> str:
    return f"import json, fairmark\n{code}\nprint(json.dumps(answer))"


def _answered(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


FORK_FOR_EACH = """
import json, os, sys, tempfile, traceback
exec(sys.argv[1])
for line in sys.stdin:
    code, *arguments = json.loads(line)
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        child = os.fork()
        if not child:
            for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), said.fileno(), complained.fileno())):
                os.dup2(stream, number)
            sys.argv = ["-c", *arguments]
            status = 0
            try:
                exec(code, {"__name__": "__main__"})
            except SystemExit as ended:
                status = ended.code or 0
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        complained.seek(0)
        print(json.dumps([status, said.read(), complained.read()]), flush=True)
"""


class Interpreter:
    """A Python with packages of its own that imports once, and runs each piece of code in a fork of itself."""

    def __init__(self, executable: str, imports: str) -> None:
        self._process = subprocess.Popen(
            [executable, "-c", FORK_FOR_EACH, imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "120"},
        )

    def run(self, code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([code, *arguments]) + "\n")
        self._process.stdin.flush()
        status, said, complained = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess([code, *arguments], status, said, complained)

    def answer(self, code: str) -> Any:
        """What the code leaves in `answer`. It warns about nothing and prints nothing."""
        return _answered(self.run(_answering(code)))

    def close(self) -> None:
        self._process.communicate(timeout=60)


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
