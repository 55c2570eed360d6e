"""A worker process from the side that asks it: it grades, it can be killed, and its end is told."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fairmark.graders import KINDS
from fairmark.parse import parse
from fairmark.work.process import NotSent, WorkerDied, WorkerProcess
from tests import kinds

CHECK = parse({"type": "string_check", "input": "{{sample.output_text}}", "reference": "b", "operation": "eq"})
FUZZY = parse(
    {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference}}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.5,
    }
)
ENDLESS = {"item": {"reference": "ab" * 5_000_000}, "sample": "ba" * 5_000_000}


@pytest.fixture(scope="module")
def shared() -> Iterator[WorkerProcess]:
    worker = WorkerProcess()
    yield worker
    worker.stop()


def test_it_grades_with_one_grader_after_another(shared: WorkerProcess) -> None:
    row = {"item": {"reference": "b"}, "sample": "b"}
    for spec in (CHECK, CHECK, FUZZY, CHECK):
        [result] = shared.grade(spec, [row])
        assert (result.reward, result.spec) == (1.0, spec)
    assert [result.reward for result in shared.grade(CHECK, [row, {"item": {}, "sample": "c"}])] == [1.0, 0.0]


def test_what_cannot_be_sent_leaves_the_worker_as_it_was(shared: WorkerProcess) -> None:
    with pytest.raises(NotSent):
        shared.grade(CHECK, [{"item": {"a": 10**30}, "sample": "b"}])
    assert shared.alive
    assert [result.reward for result in shared.grade(CHECK, [{"item": {}, "sample": "b"}])] == [1.0]


def test_a_kill_from_another_thread_ends_the_order_and_the_process() -> None:
    worker = WorkerProcess()
    worker.grade(FUZZY, [{"item": {"reference": "b"}, "sample": "b"}])
    killer = threading.Thread(target=worker.kill)
    killer.start()
    with pytest.raises(WorkerDied) as told:
        worker.grade(FUZZY, [ENDLESS])
    killer.join()
    assert (told.value.knew_grader, worker.alive) == (True, False)
    with pytest.raises(WorkerDied):
        worker.grade(FUZZY, [ENDLESS])


def test_a_grader_that_only_the_caller_can_read_is_told_as_such() -> None:
    worker = WorkerProcess()
    with kinds.installed():
        spec: Any = KINDS["breaking"].spec(type="breaking", name="breaking")
        with pytest.raises(WorkerDied) as told:
            worker.grade(spec, [{"item": {}, "sample": "b"}])
    assert told.value.knew_grader is False


def test_a_worker_that_is_stopped_is_gone_and_stopping_twice_is_no_harm() -> None:
    worker = WorkerProcess()
    assert worker.alive
    assert worker.stop() < 0
    assert (worker.alive, worker.stop()) == (False, 0)


def test_one_that_cannot_be_started_is_told_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    worker = WorkerProcess()
    assert not worker.alive
    with pytest.raises(WorkerDied):
        worker.grade(CHECK, [])
