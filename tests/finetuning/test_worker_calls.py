"""What workers ask of a server, over HTTP: jobs, leases, and what they tell."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.client import Server, wait_for
from tests.server.test_finetuning import JOBS, body, created, ended, events

TAKE = "/v1/fine_tuning/workers/take"
WORKER = {"worker": "gpu-1", "models": ["some/model"]}


def queued(server: Server) -> dict[str, Any]:
    server.post(TAKE, WORKER)
    job = ended(server, created(server, body(server)))
    assert job["status"] == "queued", job["error"]
    return job


def taken(server: Server, **more: Any) -> tuple[dict[str, Any], str]:
    job = queued(server)
    answer = server.post(TAKE, {**WORKER, **more}).json()
    assert answer["job"]["id"] == job["id"]
    return job, answer["lease"]


def tell(server: Server, job: dict[str, Any], lease: str, **more: Any) -> Any:
    return server.post(f"{JOBS}/{job['id']}/progress", {"lease": lease, **more})


def test_a_worker_takes_a_job_tells_how_it_goes_and_ends_it(server: Server) -> None:
    assert server.post(TAKE, WORKER).json()["job"] is None
    job, lease = taken(server)
    assert server.post(TAKE, WORKER).json() == {
        "object": "fine_tuning.lease",
        "job": None,
        "lease": None,
        "lease_s": 60,
    }
    step = {"key": "1", "message": "Step 1", "data": {"step": 1, "train_mean_reward": 0.5}}
    checkpoint = {"model": "ft:x:ckpt-step-1", "step": 1, "metrics": {"step": 1}}
    for _ in range(2):  # the answer to the first may be lost
        told = tell(server, job, lease, status="running", events=[step], checkpoints=[checkpoint], estimated_finish=9)
        assert (told.status, told.json()["status"], told.json()["estimated_finish"]) == (200, "running", 9)
    assert [event["message"] for event in events(server, job)].count("Step 1") == 1
    (kept,) = server.get(f"{JOBS}/{job['id']}/checkpoints").json()["data"]
    assert (kept["fine_tuned_model_checkpoint"], kept["step_number"]) == ("ft:x:ckpt-step-1", 1)
    done = tell(server, job, lease, status="succeeded", fine_tuned_model="ft:x", trained_tokens=7).json()
    assert (done["status"], done["fine_tuned_model"], done["trained_tokens"]) == ("succeeded", "ft:x", 7)
    assert (done["estimated_finish"], done["error"], done["finished_at"] > 0) == (None, None, True)
    late = tell(server, job, lease, events=[{"key": "2", "message": "late"}])
    assert (late.status, late.error["code"]) == (409, "lease_lost")
    assert "the job is succeeded" in late.error["message"]


def test_a_job_fails_with_its_workers_words(server: Server) -> None:
    job, lease = taken(server)
    failed = tell(server, job, lease, status="failed", error={"code": "trainer_crashed", "message": "signal 11"})
    assert failed.json()["error"] == {"code": "trainer_crashed", "message": "signal 11", "param": None}
    assert failed.json()["status"] == "failed"


@pytest.mark.parametrize(("call", "words"), [("cancel", "the job is cancelled"), ("pause", "the job is paused")])
def test_who_trains_a_job_hears_that_it_was_stopped(server: Server, call: str, words: str) -> None:
    job, lease = taken(server)
    server.post(f"{JOBS}/{job['id']}/{call}", {})
    lost = tell(server, job, lease, status="running")
    assert (lost.status, lost.error["code"]) == (409, "lease_lost")
    assert words in lost.error["message"]
    server.post(f"{JOBS}/{job['id']}/cancel", {})


def test_a_dead_workers_job_goes_to_another(server: Server) -> None:
    job, lease = taken(server, lease_s=2)
    answers: list[Any] = []

    def is_taken() -> bool:
        answers.append(server.post(TAKE, {**WORKER, "worker": "gpu-2"}).json())
        return answers[-1]["job"] is not None

    wait_for(is_taken)
    assert answers[-1]["job"]["id"] == job["id"]
    assert tell(server, job, lease).status == 409
    assert tell(server, job, answers[-1]["lease"], release=True).status == 200
    again = server.post(TAKE, WORKER).json()
    assert again["job"]["id"] == job["id"]
    server.post(f"{JOBS}/{job['id']}/cancel", {})


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"worker": None}, "worker"),
        ({"worker": "a b"}, "worker"),
        ({"models": None}, "models"),
        ({"models": []}, "models"),
        ({"models": [""]}, "models[0]"),
        ({"lease_s": 1}, "lease_s"),
        ({"modles": ["m"]}, "modles"),
    ],
)
def test_a_wrong_worker_is_told_what_is_wrong(server: Server, changes: dict[str, Any], param: str) -> None:
    answer = server.post(TAKE, {**WORKER, **changes})
    assert (answer.status, answer.error["param"]) == (400, param)


@pytest.fixture(scope="module")
def held(server: Server) -> Iterator[tuple[dict[str, Any], str]]:
    """A job that a worker has, and its lease."""
    job, lease = taken(server)
    yield job, lease
    server.post(f"{JOBS}/{job['id']}/cancel", {})


@pytest.mark.parametrize(
    ("told", "param"),
    [
        ({"lease": None}, "lease"),
        ({"status": "queued"}, "status"),
        ({"status": "succeeded"}, "fine_tuned_model"),
        ({"fine_tuned_model": "m"}, "fine_tuned_model"),
        ({"status": "failed"}, "error"),
        ({"error": {"code": "c", "message": "m"}}, "error"),
        ({"status": "failed", "error": {"code": "", "message": "m"}}, "error.code"),
        ({"trained_tokens": -1}, "trained_tokens"),
        ({"release": 1}, "release"),
        ({"events": {}}, "events"),
        ({"events": [{"message": "m"}]}, "events[0].key"),
        ({"events": [{"key": "k", "message": ""}]}, "events[0].message"),
        ({"events": [{"key": "k", "message": "m", "level": "loud"}]}, "events[0].level"),
        ({"events": [{"key": "k", "message": "m", "data": {"x": "y" * 60_000}}]}, "events[0].data"),
        ({"checkpoints": [{"model": "m", "step": -1}]}, "checkpoints[0].step"),
        ({"checkpoints": [{"model": "m", "step": 1, "metrics": []}]}, "checkpoints[0].metrics"),
        ({"stauts": "running"}, "stauts"),
    ],
)
def test_wrong_progress_is_told_and_changes_nothing(
    server: Server, held: tuple[dict[str, Any], str], told: dict[str, Any], param: str
) -> None:
    job, lease = held
    before = server.get(f"{JOBS}/{job['id']}").json()
    answer = tell(server, job, **{"lease": lease, **told})
    assert (answer.status, answer.error["param"]) == (400, param)
    assert server.get(f"{JOBS}/{job['id']}").json() == before
