"""Workers that die, that are two, and that are not let in."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fairmark.errors import AccessDenied
from fairmark.training.worker import new_name
from tests import command
from tests.server.client import wait_for
from tests.server.conftest import Start
from tests.training.conftest import Desk

NewDesk = Callable[..., Desk]
ROOT = Path(__file__).parents[2]


def test_the_job_of_a_worker_that_is_killed_goes_to_another_from_its_last_checkpoint(desk: NewDesk) -> None:
    at = desk()
    at.script(
        [["step", 1], ["checkpoint", 1], ["step", 2], ["until", "never"]],
        [["step", 2], ["step", 3], ["step", 4], ["done"]],
    )
    arguments = [sys.executable, "-m", "tests.training.atwork", at.server.url, str(at.home), at.model]
    worker = subprocess.Popen([*arguments, str(at.home / "script.json")], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        job = at.create()
        at.until_told(job, "Step 2")
    finally:
        worker.kill()
        worker.wait()
    at.nothing_is_left(job)  # the process that trained ends with its worker
    assert at.now(job)["status"] == "running"
    other = desk(home=at.home)
    other.begin()
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    told = at.messages(job)
    assert "Training goes on from the checkpoint of step 1." in told
    assert told.count("Step 2") == 2


def test_a_worker_without_the_checkpoints_begins_anew_and_says_so(desk: NewDesk) -> None:
    at = desk()
    at.script([["step", 1], ["checkpoint", 1], ["until", "never"]])
    at.begin()
    job = at.create()
    at.until_told(job, "Checkpoint created at step 1")
    at.stop()
    elsewhere = desk()
    elsewhere.script([["step", 1], ["done"]])
    elsewhere.begin()
    assert at.until(job, "succeeded", "failed")["status"] == "succeeded"
    assert "Training begins anew: there is no checkpoint here." in at.messages(job)


def test_two_workers_train_each_job_once(desk: NewDesk) -> None:
    one, two = desk(), desk()
    for at in (one, two):
        at.script([["step", 1], ["done"]])
        at.begin()
    jobs = [one.create() for _ in range(4)]
    for job in jobs:
        assert one.until(job, "succeeded", "failed")["status"] == "succeeded"
        assert one.messages(job).count("Step 1") == 1
    trained = [[at.folder(job).exists() for at in (one, two)].count(True) for job in jobs]
    assert trained == [1, 1, 1, 1]


def test_a_worker_with_a_wrong_key_stops_with_the_servers_words(desk: NewDesk, start: Start, tmp_path: Path) -> None:
    server = start()
    made = command.run(
        ["keys", "create", "--project", "p"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(server.home)},
    )
    assert made.returncode == 0, made.stderr
    at = desk(server)
    at.script([["done"]])

    def is_refused() -> bool:
        at.stop()
        at.begin("sk-wrong")
        wait_for(lambda: at.failure is not None or bool(at.said), 10)
        return at.failure is not None

    wait_for(is_refused)
    assert isinstance(at.failure, AccessDenied)
    assert "API key is not valid" in str(at.failure)


def test_a_name_tells_the_machine_and_is_the_workers_own() -> None:
    first, second = new_name(), new_name()
    assert first != second
    assert re.fullmatch(r"[A-Za-z0-9._:-]{1,100}", first)
