"""Runs a command and tells what it cost: LIMIT_S FACTS_FILE COMMAND… It writes the facts as JSON when the command ends.

A script of its own because Linux counts the memory of the process that starts a command towards the command's peak:
this one is small, whatever the benchmark itself holds. It imports little and needs nothing of the project.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

SAMPLE_EVERY_S = 0.05
PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    limit_s, facts_file, command = float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the command does not outlive us
    started = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ, setpgroup=0)
    watch = Watch(pid, started + limit_s)
    watch.start()
    try:
        _, status, usage = os.wait4(pid, 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # whatever it left behind, also when we are interrupted
    wall = time.perf_counter() - started
    # ru_maxrss is in KiB on Linux and in bytes on macOS.
    peak = usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    facts = {
        "exit": os.waitstatus_to_exitcode(status),
        "too_long": watch.too_long,
        "wall_s": wall,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": peak,
        "together_mb": max(watch.together_mb, peak),
    }
    facts_file.write_text(json.dumps(facts))


class Watch(threading.Thread):
    """Kills the command at its time limit, and samples the memory of it and its children together."""

    def __init__(self, pid: int, deadline: float) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.deadline = deadline
        self.too_long = False
        self.together_mb = 0.0

    def run(self) -> None:
        while time.perf_counter() < self.deadline:
            self.together_mb = max(self.together_mb, _resident_mb(self.pid))
            time.sleep(SAMPLE_EVERY_S)
        self.too_long = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def _resident_mb(pid: int) -> float:
    """The resident memory of a process and its children. 0 where the system does not tell."""
    try:
        own = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1024**2
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0.0
    return own + sum(_resident_mb(int(child)) for child in children)


if __name__ == "__main__":
    main()
