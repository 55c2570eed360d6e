"""Runs of fairmark eval in a home of their own, for those who look at them."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.grading.evaluating import EXACT


class Kept:
    """Evaluates rows of which some are wrong, and asks `fairmark runs` about it."""

    def __init__(self, fairmark: Run, folder: Path) -> None:
        self.fairmark = fairmark
        self.folder = folder
        self.env = {"FAIRMARK_HOME": str(folder / "home")}

    def evaluate(self, wrong: Sequence[int] = (), *more: str, rows: int = 20, data: str = "rows.jsonl") -> str:
        """The id of the run, as far as it is shown; "" where none was kept."""
        path = self.folder / data
        path.write_text(
            "".join(
                json.dumps({"item": {"a": str(n)}, "sample": "no" if n in wrong else str(n)}) + "\n"
                for n in range(1, rows + 1)
            )
        )
        done = self.fairmark("eval", str(path), "--grader", EXACT, *more, env=self.env)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.rpartition("kept as run ")[2].split(";")[0].strip() if "kept as" in done.stdout else ""

    def runs(self, *words: str, code: int = 0) -> str:
        done = self.fairmark("runs", *words, env=self.env)
        assert done.returncode == code, done.stderr
        return done.stdout if not code else done.stdout + done.stderr
