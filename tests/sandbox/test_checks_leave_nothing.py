"""Checks of functions, by library, API and page: however many there are, they leave no processes behind."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from fairmark.registry.functions import check_function
from tests.server.client import Server, wait_for
from tests.server.conftest import Start, start
from tests.server.test_gate import make_key
from tests.thoroughness import share

__all__ = ["start"]

CHECKS = share(200)
MORE_MB = 30


def source(number: int) -> str:
    return f"async def grade(thread: StringThread) -> float:\n    return {number}.0\n"


def descendants(pid: int) -> int:
    """Processes below this one, whichever of its threads started them."""
    try:
        threads = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
        below = [
            int(child)
            for thread in threads
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return len(below) + sum(map(descendants, below))


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def stays_small(pid: int, check: Callable[[int], None]) -> None:
    """After the first few checks, whatever one needs is there; many more add nothing to it."""
    for number in range(5):
        check(number)
    processes, open_files, memory = descendants(pid), descriptors(pid), memory_mb(pid)
    for number in range(5, CHECKS):
        check(number)
    wait_for(lambda: descendants(pid) <= processes + 2)
    assert descriptors(pid) <= open_files + 8
    assert memory_mb(pid) <= memory + MORE_MB


def test_checks_by_the_library_leave_no_processes() -> None:
    def check(number: int) -> None:
        assert check_function(source(number)).score == number

    stays_small(os.getpid(), check)


@pytest.fixture
def keyed(start: Start, tmp_path: Path) -> tuple[Server, dict[str, str]]:  # the fixture
    home = tmp_path / "home"
    return start(home=home), {"authorization": f"Bearer {make_key(home)}"}


def test_graders_kept_by_the_api_leave_no_processes(keyed: tuple[Server, dict[str, str]]) -> None:
    server, headers = keyed

    def check(number: int) -> None:
        grader = {"type": "function", "source": source(number)}
        answer = server.post("/v1/graders", {"key": f"function-{number}", "grader": grader}, headers)
        assert answer.status == 201, answer.body

    stays_small(server.process.pid, check)


def test_checks_while_somebody_types_leave_no_processes(keyed: tuple[Server, dict[str, str]]) -> None:
    server, headers = keyed

    def check(number: int) -> None:
        text = f'{{"type": "function", "name": "f", "source": {source(number)!r}}}'.replace("'", '"')
        answer = server.post("/graders/check", {"grader": text, "sandbox": True}, headers)
        assert answer.status == 200, answer.body
        assert [check["passed"] for check in answer.json()["functions"][0]["checks"]] == [True] * 6

    stays_small(server.process.pid, check)
