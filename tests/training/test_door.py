"""The server as a worker sees it."""

from pathlib import Path

import pytest

from fairmark.errors import InvalidData, LeaseLost, ServerFailed
from fairmark.training.door import JobDoor
from tests.server.client import Server
from tests.server.test_finetuning import body, created, ended

MODELS = ["of-the-door"]


def test_a_job_is_taken_told_of_and_its_bundle_saved(server: Server, tmp_path: Path) -> None:
    door = JobDoor(server.url, None)
    assert door.take("w", MODELS, 60) is None
    job = created(server, {**body(server), "model": MODELS[0]})
    assert ended(server, job)["status"] == "queued"
    taken = door.take("w", MODELS, 60)
    assert taken is not None
    assert taken.job["id"] == job["id"]
    door.save(taken.job["result_files"][0], tmp_path / "bundle.zip")
    assert (tmp_path / "bundle.zip").read_bytes().startswith(b"PK")
    assert door.tell(job["id"], {"lease": taken.lease, "status": "running"})["status"] == "running"
    found = door.job(job["id"])
    assert found is not None
    assert found["status"] == "running"
    with pytest.raises(InvalidData, match="status"):
        door.tell(job["id"], {"lease": taken.lease, "status": "queued"})
    server.post(f"/v1/fine_tuning/jobs/{job['id']}/cancel", {})
    with pytest.raises(LeaseLost, match="the job is cancelled"):
        door.tell(job["id"], {"lease": taken.lease})
    assert door.job("ftjob-none") is None


def test_a_file_that_is_not_there_and_a_server_that_is_not_are_failures(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="404"):
        JobDoor(server.url, None).save("file-none", tmp_path / "f")
    with pytest.raises(ServerFailed):
        JobDoor("http://127.0.0.1:1", None).take("w", MODELS, 60)
    with pytest.raises(ServerFailed):
        JobDoor("http://127.0.0.1:1", None).save("file-none", tmp_path / "f")
