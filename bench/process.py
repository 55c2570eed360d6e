"""Whole processes, measured: wall and CPU seconds with all children, and peak memory."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launcher.py")
ROOT = Path(__file__).parents[1]


class ProcessFailed(Exception):
    """The command did not end well; the message is the end of what it said."""


class TookTooLong(ProcessFailed):
    """The command was stopped at its time limit."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a process cost. `peak_mb` is its largest process, `together_mb` all its processes at once, sampled."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    together_mb: float
    stdout: str

    def numbers(self) -> dict[str, float]:
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "peak_mb": self.peak_mb, "together_mb": self.together_mb}


def run(
    command: Sequence[str | Path], limit_s: float = 120, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Run:
    """Run a command to its end. Raises ProcessFailed where it fails or takes longer than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        facts_file = Path(folder) / "facts.json"
        done = subprocess.run(
            [sys.executable, "-I", "-S", LAUNCHER, str(limit_s), facts_file, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            check=False,
        )
        if not facts_file.exists():
            raise ProcessFailed(_last_line(done.stderr) or "could not be started")
        facts = json.loads(facts_file.read_text())
    if facts["too_long"]:
        raise TookTooLong(f"stopped after {limit_s:.0f} s")
    if facts["exit"] != 0:
        raise ProcessFailed(_last_line(done.stderr) or f"exit status {facts['exit']}")
    return Run(facts["wall_s"], facts["cpu_s"], facts["peak_mb"], facts["together_mb"], done.stdout)


def _last_line(text: str) -> str:
    """The line that tells most of a failure, without paths of this machine."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace(str(ROOT), "…").replace(str(Path.home()), "~")[:200] if lines else ""
