"""Checks of a real server whose disk fills while it asks, and many checks one after another."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disk import no_room, small_disk
from tests.evals.house import Models, open_house
from tests.server.client import Server, wait_for
from tests.server.test_checks import CHECKS, body, ended


@pytest.fixture
def models() -> Iterator[Models]:
    with open_house() as opened:
        yield opened


def test_a_check_that_meets_a_full_disk_goes_on_once_there_is_room(tmp_path: Path, models: Models) -> None:
    models.house.latency_s = 0.02
    with small_disk(tmp_path / "home", 12) as disk:
        server = Server(tmp_path / "home", {**models.environment, "FAIRMARK_JUDGE_CONCURRENCY": "1"}, enter=disk.enter)
        server.home = disk.path
        try:
            begun = server.post(CHECKS, body(probes=["repeat"]))
            wait_for(lambda: len(models.requests) > 5)
            with no_room(server.home):
                wait_for(lambda: server.get("/readyz").status == 503, 60)
                assert server.get(f"{CHECKS}/{begun.json()['id']}").json()["status"] == "in_progress"
            done = ended(server, CHECKS, begun)
        finally:
            server.stop()
    assert done["status"] == "completed", done
    assert done["progress"]["answered"] == done["plan"]["calls"] == len(models.asked_of("judge"))
    assert "Traceback" not in server.stderr.read_text()


def resources(server: Server) -> tuple[int, int, int]:
    """Descriptors and processes, and megabytes."""
    pid = server.process.pid
    status = Path(f"/proc/{pid}/status").read_text()
    megabytes = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) // 1024
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return server.descriptors(), len(children), megabytes


@pytest.mark.thorough
def test_many_checks_leave_nothing_behind(tmp_path: Path, models: Models) -> None:
    server = Server(tmp_path / "home", models.environment)
    few = {**body(), "rows": body()["rows"][:12]}
    try:
        counts = []
        for many in (20, 60):
            for _ in range(many):
                assert ended(server, CHECKS, server.post(CHECKS, few))["status"] == "completed"
            counts.append(resources(server))
    finally:
        server.stop()
    (descriptors, processes, megabytes), (after_descriptors, after_processes, after_megabytes) = counts
    assert after_descriptors <= descriptors + 5
    assert after_processes <= processes
    assert after_megabytes <= 1.15 * megabytes
    assert "Traceback" not in server.stderr.read_text()
