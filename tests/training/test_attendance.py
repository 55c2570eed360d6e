"""One job from its lease to its end, and all that may come between."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

from fairmark.training import attendance
from tests.server.client import wait_for
from tests.server.conftest import Start
from tests.server.test_finetuning import JOBS, body, created, ended, lines, row, upload
from tests.training.conftest import Desk

NewDesk = Callable[..., Desk]
GOOD = [["step", 1], ["step", 2], ["checkpoint", 2], ["step", 3], ["step", 4], ["done"]]


def test_a_job_is_trained_told_of_and_succeeds(desk: NewDesk) -> None:
    at = desk()
    at.script(GOOD)
    at.begin()
    job = at.create(suffix="my own!")
    done = at.until(job, "succeeded", "failed")
    short = job["id"].removeprefix("ftjob-")[:8]
    assert (done["status"], done["error"]) == ("succeeded", None)
    assert (done["fine_tuned_model"], done["trained_tokens"]) == (f"ft:{at.model}:my-own:{short}", 1234)
    assert done["estimated_finish"] is None
    told = at.messages(job)
    assert told[told.index("Queued for a worker.") + 1 :] == [
        "Training has begun at step 0 of 4.",
        "Step 1",
        "Step 2",
        "Checkpoint created at step 2: m:ckpt-step-2.",
        "Step 3",
        "Step 4",
        f"The job has been trained: the model is {done['fine_tuned_model']}.",
    ]
    listed = at.server.get(f"{JOBS}/{job['id']}/checkpoints").json()["data"]
    assert [checkpoint["step_number"] for checkpoint in listed] == [2]
    at.nothing_is_left(job)
    assert {path.name for path in at.folder(job).iterdir()} >= {"grader.json", "train.jsonl", "plan.json", "log.txt"}
    assert not (at.folder(job) / "reward.py").exists()  # nothing that is fetched is run


def test_a_process_that_is_killed_goes_on_from_its_last_checkpoint(desk: NewDesk) -> None:
    at = desk()
    killed = [["step", 1], ["checkpoint", 1], ["step", 2], ["die", signal.SIGKILL]]
    at.script(killed, [["step", 2], ["checkpoint", 2], ["die", signal.SIGSEGV]], GOOD)
    at.begin()
    job = at.create()
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    told = at.messages(job)
    assert "ended by SIGKILL, which the system sends where memory runs out" in "\n".join(told)
    assert "ended by SIGSEGV" in "\n".join(told)
    assert "Training goes on from the checkpoint of step 1." in told
    assert "Training goes on from the checkpoint of step 2." in told
    assert len(at.pids(job)) == 3


def test_a_process_that_crashes_again_and_again_fails_the_job_with_its_last_words(desk: NewDesk) -> None:
    at = desk()
    at.script([["say", "CUDA error: an illegal memory access"], ["die", signal.SIGABRT]])
    at.begin()
    job = at.create()
    failed = at.until(job, "succeeded", "failed")
    assert failed["error"]["code"] == "trainer_crashed"
    assert "SIGABRT" in failed["error"]["message"]
    assert "CUDA error: an illegal memory access" in failed["error"]["message"]
    assert failed["fine_tuned_model"] is None
    assert len(at.pids(job)) == attendance.CRASHES
    assert at.messages(job).count("Training begins anew: there is no checkpoint here.") == attendance.CRASHES - 1


def test_what_the_process_says_of_its_failure_is_the_jobs_error(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["tell", {"kind": "failed", "code": "model_unusable", "message": "no chat template"}]])
    at.begin()
    failed = at.until(at.create(), "succeeded", "failed")
    assert failed["error"] == {"code": "model_unusable", "message": "no chat template", "param": None}


def test_a_process_that_ends_without_a_word_has_not_succeeded(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["exit", 0]])
    at.begin()
    failed = at.until(at.create(), "succeeded", "failed")
    assert (failed["status"], failed["error"]["code"]) == ("failed", "trainer_crashed")


def test_a_process_that_hangs_is_ended(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["hang"]])
    at.begin(silence_s=1.0)
    job = at.create()
    assert at.until(job, "succeeded", "failed")["error"]["code"] == "trainer_hung"
    at.nothing_is_left(job)


def test_a_job_that_is_cancelled_stops_at_once(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["hang"]])
    at.begin()
    job = at.create()
    at.until_told(job, "Step 1")
    at.call(job, "cancel")
    at.nothing_is_left(job)
    assert at.now(job)["status"] == "cancelled"
    assert at.messages(job)[-1] == "The job was cancelled."
    at.script(GOOD)
    assert at.until(at.create(), "succeeded", "failed")["status"] == "succeeded"  # it goes on with the next


def test_a_paused_job_saves_a_checkpoint_and_goes_on_from_it(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["until", "never"]], GOOD)
    at.begin()
    job = at.create()
    at.until_told(job, "Step 1")
    at.call(job, "pause")
    at.nothing_is_left(job)
    assert at.now(job)["paused"] is True
    at.call(job, "resume")
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    told = at.messages(job)
    assert "Training goes on from the checkpoint of step 77." in told
    # What was trained before the worker heard of the pause is told when it has the job again.
    assert told.index("Checkpoint created at step 77: m:ckpt-step-77.") > told.index("The job was resumed.")
    listed = at.server.get(f"{JOBS}/{job['id']}/checkpoints").json()["data"]
    assert [checkpoint["step_number"] for checkpoint in listed] == [2, 77]


def test_a_worker_that_is_stopped_gives_its_job_back(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["until", "never"]], GOOD)
    at.begin(lease_s=600)
    job = at.create()
    at.until_told(job, "Step 1")
    at.stop()
    at.nothing_is_left(job)
    assert at.now(job)["status"] == "running"
    other = desk(home=at.home)
    other.begin()
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    assert "Training goes on from the checkpoint of step 77." in at.messages(job)


def test_a_job_goes_on_while_the_server_is_away_and_everything_is_told_once(desk: NewDesk, start: Start) -> None:
    first = start()
    at = desk(first)
    at.script([["step", 1], ["until", "one"], ["step", 2], ["checkpoint", 2], ["step", 3], ["until", "two"], ["done"]])
    at.begin()
    job = at.create()
    at.until_told(job, "Step 1")
    first.stop(signal.SIGKILL)
    at.go_on(job, "one")
    at.server = start(home=first.home, args=["--port", str(first.port)])
    at.until_told(job, "Step 3")
    at.go_on(job, "two")
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    told = at.messages(job)
    assert [told.count(f"Step {number}") for number in (1, 2, 3)] == [1, 1, 1]
    assert len(at.pids(job)) == 1


def test_a_server_that_stays_away_ends_the_training(desk: NewDesk, start: Start) -> None:
    first = start()
    at = desk(first)
    at.script([["step", 1], ["hang"]])
    at.begin(patience_s=1.0)
    job = at.create()
    at.until_told(job, "Step 1")
    first.stop(signal.SIGKILL)
    at.nothing_is_left(job)
    wait_for(lambda: any("the server has been away" in said for said in at.said))


def test_a_job_whose_bundle_is_gone_fails(desk: NewDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    at = desk()
    at.script(GOOD)
    job: dict[str, Any] = ended(at.server, at.create())
    assert at.server.request("DELETE", f"/v1/files/{job['result_files'][0]}").status == 200
    at.begin(patience_s=1.0)
    failed = at.until(job, "succeeded", "failed")
    assert failed["error"]["code"] == "worker_failed"
    assert "the bundle could not be fetched" in failed["error"]["message"]


def test_what_cannot_be_had_is_told(desk: NewDesk) -> None:
    at = desk()
    at.script(GOOD)
    at.begin()
    asked = body(at.server, lines({**row("France?"), "answer": "Paris"}))
    asked["method"]["reinforcement"]["hyperparameters"] = {"batch_size": 5, "reasoning_effort": "low"}
    at.create()
    job = created(
        at.server,
        {**asked, "model": at.model, "validation_file": upload(at.server, lines({**row("Italy?"), "answer": "Rome"}))},
    )
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    told = "\n".join(at.messages(job))
    assert "batch_size is 1, for there are no more rows." in told
    assert "reasoning_effort is left to the model's chat template" in told
