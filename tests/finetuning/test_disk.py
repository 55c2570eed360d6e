"""A disk that has no room for a bundle: the job waits, says so, and goes on once there is some. And many jobs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disk import no_room, small_disk
from tests.server.client import Server, wait_for
from tests.server.test_finetuning import CAPITALS, JOBS, body, created, ended, events, lines, method, upload


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Its files are on a small disk, its database is not."""
    with small_disk(tmp_path / "home") as disk:
        database = {"FAIRMARK_DB": f"sqlite:///{tmp_path}/elsewhere.db"}
        started = Server(tmp_path / "home", database, enter=disk.enter)
        started.home = disk.path
        yield started
        started.stop()
    assert "Traceback" not in started.stderr.read_text()


def test_a_job_waits_for_room_and_goes_on(server: Server) -> None:
    given = body(server, lines({**CAPITALS[2]}))
    with no_room(server.home):
        job = created(server, given)
        wait_for(lambda: any("disk is full" in event["message"] for event in events(server, job)))
        assert server.get(f"{JOBS}/{job['id']}").json()["status"] == "validating_files"
        left = sorted(path.name for path in (server.home / "files").iterdir())
        assert left == [given["training_file"]]
    done = ended(server, job)
    assert done["error"]["code"] == "no_trainer"
    assert len([event for event in events(server, job) if "disk is full" in event["message"]]) == 1


@pytest.mark.thorough
def test_many_jobs_leave_no_descriptor_open(tmp_path: Path) -> None:
    server = Server(tmp_path / "home")
    try:
        file = upload(server, lines(*CAPITALS))
        given = {"model": "some/model", "training_file": file, "method": method()}
        counts = []
        for many in (10, 50):
            jobs = [created(server, given) for _ in range(many)]
            for job in jobs:
                assert ended(server, job)["error"]["code"] == "no_trainer"
            counts.append(server.descriptors())
        assert counts[1] <= counts[0] + 5
    finally:
        server.stop()
    assert "Traceback" not in server.stderr.read_text()
