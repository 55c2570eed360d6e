"""Programs of others: run to their end and watched, and ended with all that they started."""

import os
import sys
import time
from pathlib import Path

from fairmark.sandbox.children import run

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def is_gone(pid: int) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # ended, and nobody has asked for it yet
            return True
        os.sched_yield()
    return False


def test_what_it_prints_is_told_line_by_line_with_its_code(tmp_path: Path) -> None:
    seen: list[str] = []
    script = (
        "import os, sys; print(os.getcwd()); print('oh', file=sys.stderr); print(len(os.environ['A'])); sys.exit(3)"
    )
    done = run([sys.executable, "-u", "-c", script], tmp_path, {**ENVIRONMENT, "A": "xyz"}, seen.append)
    assert done == (3, [str(tmp_path), "oh", "3"])
    assert seen == done.lines


def test_a_program_that_is_not_there_is_told_as_a_shell_would(tmp_path: Path) -> None:
    assert run(["/no/such/program"], tmp_path, ENVIRONMENT) == (
        127,
        ["/no/such/program: no such file or directory"],
    )


def test_bytes_that_are_no_text_stop_nothing(tmp_path: Path) -> None:
    assert run(["printf", r"a\377b\n"], tmp_path, ENVIRONMENT) == (0, ["a\ufffdb"])


def test_the_timeout_ends_it_together_with_what_it_started(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $!; wait"
    done = run(["sh", "-c", script], tmp_path, ENVIRONMENT, timeout_s=0.2)
    assert done.code < 0
    assert is_gone(int(done.lines[0]))


def test_who_breaks_off_in_the_middle_leaves_nothing_running(tmp_path: Path) -> None:
    started: list[int] = []

    def interrupt(line: str) -> None:
        started.append(int(line))
        raise KeyboardInterrupt

    try:
        run(["sh", "-c", "sleep 1000 & echo $!; wait"], tmp_path, ENVIRONMENT, interrupt)
    except KeyboardInterrupt:
        pass
    assert is_gone(started[0])
