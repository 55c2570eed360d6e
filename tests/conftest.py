"""What several test files share, and in which order files are worked off."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DURATIONS = Path(__file__).with_name("durations.json")
"""Seconds of each file that takes some, as `make durations` measured them."""
PAGES = "tests/web/"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help=f"Write {DURATIONS.name} anew.")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker begins one when the others are done.

    Tests of pages stay together, and so does their browser: a worker starts it once.
    """
    seconds: dict[str, float] = json.loads(DURATIONS.read_text())
    files = {item: item.nodeid.partition("::")[0] for item in items}
    items.sort(key=lambda item: (not files[item].startswith(PAGES), -seconds.get(files[item], 0), files[item]))


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
