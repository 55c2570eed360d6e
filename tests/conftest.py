"""What several test files share, and in which order files are worked off."""

import contextlib
import gc
import importlib
import json
import os
import signal
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pytest

from tests import cpu, thoroughness

TESTS = Path(__file__).parent
DURATIONS = TESTS / "durations.json"
"""Seconds of each file that takes some, as `make durations` measured them."""
PAGES = "tests/web/"
AS_LONG_AS_ALL_PAGES_S = 300
SHARES = frozenset({"thoroughness", "share", "is_whole", "thorough"})
"""Names under which files of tests know `thoroughness`, and what tests of metrics make of it."""
NO_PARAMETERS = SimpleNamespace(params={})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help=f"Write {DURATIONS.name} anew.")
    parser.addoption("--cpu", choices=["file", "test"], help="Rank files or tests by the processor time they take.")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell starts what runs in its background, and every command that tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until all tests are in memory
    thoroughness.choose(whole=config.option.markexpr != "not thorough")
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())
    if config.getoption("--cpu"):
        cpu.measure(config)


def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are cores: while a test waits, for a process or a deadline, others work."""
    return 2 * len(os.sched_getaffinity(0))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Each worker reads the files from another one on: what one has compiled, the others find compiled.

    All of them compile all files otherwise, at the same time: with pytest's asserts, most of a minute of a new clone.
    """
    config = session.config
    told: dict[str, Any] = getattr(config, "workerinput", {})
    if not told or [Path(path).name for path in config.args] != config.getini("testpaths"):
        return
    files = sorted(TESTS.rglob("test_*.py"))
    begin = len(files) * int(told["workerid"].removeprefix("gw")) // told["workercount"]
    for file in files[begin:] + files[:begin]:
        with contextlib.suppress(Exception):  # it is told when its tests are collected
            importlib.import_module(".".join(file.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker begins one when the others are done.

    Tests of pages stay together, and so does their browser: a worker starts it once. They come first, but for a file
    that takes as long as all of them. That both databases do the same,
    and that a page is right in the other look too, is held by the thorough run, and so is all of what the quick one
    tries a share of. What happens at once or is cut off is tried `on_both` databases in every run.
    """
    for item in items:
        is_other_database = _is_on_postgresql(item) and not item.get_closest_marker("on_both")
        is_repeated = thoroughness.is_whole() and _tries_a_share(item)
        if is_other_database or is_repeated or _is_in_the_other_look(item):
            item.add_marker(pytest.mark.thorough)
    seconds: dict[str, float] = json.loads(DURATIONS.read_text())
    files = {item: item.nodeid.partition("::")[0] for item in items}

    def turn(item: pytest.Item) -> tuple[bool, bool, float, str]:
        file = files[item]
        takes_s = seconds.get(file, 0)
        return takes_s < AS_LONG_AS_ALL_PAGES_S, not file.startswith(PAGES), -takes_s, file

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """All tests are in memory now, and no look for garbage need go through them: they cost a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def _is_on_postgresql(item: pytest.Item) -> bool:
    """Whether it is one of a pair of tests, of which the other one is on SQLite."""
    values = getattr(item, "callspec", NO_PARAMETERS).params.values()
    return any(isinstance(value, str) and value == "postgresql" for value in values)


def _tries_a_share(item: pytest.Item) -> bool:
    """Whether its file takes a share of what repeats itself in the quick run: by what it imports."""
    file = item.getparent(pytest.Module)
    return file is not None and not vars(file.obj).keys().isdisjoint(SHARES)


def _is_in_the_other_look(item: pytest.Item) -> bool:
    """Whether it is the one of two tests of a page that the quick run leaves out."""
    look = getattr(item, "callspec", NO_PARAMETERS).params.get("look")
    return isinstance(look, tuple) and bool(look[0] == "dark") != is_dark(item)


def is_dark(item: pytest.Item) -> bool:
    """Whether a test of a page looks at it in the dark: half of them do."""
    return crc32(item.nodeid.partition("[")[0].encode()) % 2 == 0


class Recorder:
    """How long the tests of each file took, with all that they set up."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        slow = {file: round(seconds) for file, seconds in sorted(self._seconds.items()) if seconds >= 1}
        DURATIONS.write_text(json.dumps(slow, indent=1) + "\n")


@pytest.fixture(scope="session")
def northwind() -> list[dict[str, Any]]:
    """The five rows of the Azure grader documentation, whose grades are published."""
    rows: list[dict[str, Any]] = json.loads((Path(__file__).parent / "northwind.json").read_text())
    return rows
