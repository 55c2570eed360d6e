"""Where the suite's processor time goes: `--cpu file` or `--cpu test` ranks files or tests by the CPU seconds of the
worker and all it has started, beside the seconds that passed.

What runs in the background, a server that many tests share say, is counted where it ran. Processes that leave the
family of the worker, as those of a daemon do, are not counted.
"""

import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
BEFORE, AFTER = "(reading the tests)", "(the end)"
UTIME = 11
"""Where four figures begin after the name in /proc/PID/stat: its own in user and kernel mode, and its children's."""


def used(pid: int) -> float:
    """CPU seconds of a process, of those it has waited for, and of all that descend from it now."""
    figures = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[UTIME : UTIME + 4]
    children = [child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(task).split()]
    return sum(map(int, figures)) / TICKS + sum(used(int(child)) for child in children)


def _read(file: Path) -> str:
    """Nothing of a process or a thread that has ended: what it took is its parent's, or its process's, now."""
    try:
        return file.read_text()
    except OSError:
        return ""


class Meter:
    """In each worker: asked when the file, or the test, changes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._by_test = config.getoption("--cpu") == "test"
        self._name = BEFORE
        self._cpu, self._clock = 0.0, time.monotonic()
        self.seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        name = nodeid if self._by_test else nodeid.partition("::")[0]
        if name != self._name:
            self._note(name)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._note(AFTER)
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["cpu"] = dict(self.seconds)

    def _note(self, name: str) -> None:
        cpu, clock = used(os.getpid()), time.monotonic()
        taken = self.seconds[self._name]
        taken[0] += max(0.0, cpu - self._cpu)
        taken[1] += clock - self._clock
        self._name, self._cpu, self._clock = name, cpu, clock


class Ranking:
    """In the process that people look at."""

    def __init__(self, alone: Meter | None) -> None:
        self._meter = alone
        self._seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._add(getattr(node, "workeroutput", {}).get("cpu", {}))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._meter is not None:
            self._add(self._meter.seconds)
        terminalreporter.section("CPU seconds, seconds that passed")
        for name, (cpu, passed) in sorted(self._seconds.items(), key=lambda entry: -entry[1][0]):
            terminalreporter.write_line(f"{cpu:7.2f} {passed:7.2f}  {name}")
        terminalreporter.write_line(f"{sum(cpu for cpu, _ in self._seconds.values()):7.2f}          all of it")

    def _add(self, seconds: dict[str, list[float]]) -> None:
        for name, (cpu, passed) in seconds.items():
            self._seconds[name][0] += cpu
            self._seconds[name][1] += passed


def measure(config: pytest.Config) -> None:
    """Registers what the option asks for, here or in a worker."""
    is_worker = hasattr(config, "workerinput")
    meter = Meter(config) if is_worker or not getattr(config.option, "numprocesses", None) else None
    if meter is not None:
        config.pluginmanager.register(meter)
    if not is_worker:
        config.pluginmanager.register(Ranking(meter))
