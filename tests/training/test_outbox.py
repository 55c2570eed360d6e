"""What is told of a job, with a server that is away, forgets to answer, or refuses."""

from collections.abc import Mapping
from typing import Any

import pytest

from fairmark.errors import InvalidData, LeaseLost, ServerFailed
from fairmark.training.door import JobDoor
from fairmark.training.outbox import AT_ONCE, Outbox


class ScriptedDoor(JobDoor):
    """Fails as it is told to; keeps what it heard."""

    def __init__(self, *failures: Exception | None) -> None:
        super().__init__("http://127.0.0.1:1", None)
        self.failures = list(failures)
        self.heard: list[dict[str, Any]] = []
        self.known: dict[str, Any] | None = None

    def tell(self, job_id: str, told: Mapping[str, Any]) -> dict[str, Any]:
        self.heard.append(dict(told))
        if self.failures and (failure := self.failures.pop(0)) is not None:
            raise failure
        return {}

    def job(self, job_id: str) -> dict[str, Any] | None:
        return self.known


def outbox(door: JobDoor) -> Outbox:
    return Outbox(door, "ftjob-1", "lease", 60)


def test_what_the_server_did_not_hear_is_told_again_under_the_same_keys() -> None:
    door = ScriptedDoor(ServerFailed("away"))
    box = outbox(door)
    box.add("one")
    box.add_checkpoint("m", 1, {})
    box.change(status="running")
    assert not box.send()
    assert not box.is_empty
    box.add("two")
    assert box.send()
    first, second = door.heard
    assert [event["key"] for event in first["events"]] == ["lease:1"]
    assert [event["key"] for event in second["events"]] == ["lease:1", "lease:2"]
    assert (second["status"], len(second["checkpoints"])) == ("running", 1)
    assert box.send()  # only that we are alive
    assert door.heard[-1]["events"] == []


def test_what_a_lease_could_not_tell_is_told_by_the_next() -> None:
    first = outbox(ScriptedDoor(LeaseLost("the job is paused")))
    first.add("one", "warn", {"step": 1})
    first.add_checkpoint("m", 1, {})
    with pytest.raises(LeaseLost):
        first.send()
    door = ScriptedDoor()
    second = Outbox(door, "ftjob-1", "another", 60)
    second.take_over(first.untold())
    assert second.send()
    (told,) = door.heard
    assert told["events"] == [{"key": "another:1", "level": "warn", "message": "one", "data": {"step": 1}}]
    assert told["checkpoints"] == [{"model": "m", "step": 1, "metrics": {}}]


def test_much_is_told_in_order_and_the_end_with_the_last_of_it() -> None:
    door = ScriptedDoor()
    box = outbox(door)
    for number in range(2 * AT_ONCE + 5):
        box.add(str(number))
    assert box.end(1.0, status="succeeded", fine_tuned_model="m")
    assert [len(told["events"]) for told in door.heard] == [AT_ONCE, AT_ONCE, 5]
    assert ["status" in told for told in door.heard] == [False, False, True]


def test_an_end_whose_answer_was_lost_is_an_end() -> None:
    door = ScriptedDoor(ServerFailed("no answer"), LeaseLost("the job is succeeded"))
    door.known = {"status": "succeeded", "fine_tuned_model": "m"}
    assert outbox(door).end(10.0, status="succeeded", fine_tuned_model="m")
    door = ScriptedDoor(ServerFailed("no answer"), LeaseLost("the job is cancelled"))
    door.known = {"status": "cancelled", "fine_tuned_model": None}
    with pytest.raises(LeaseLost):
        outbox(door).end(10.0, status="succeeded", fine_tuned_model="m")


def test_a_server_that_stays_away_is_waited_for_so_long_and_no_longer() -> None:
    door = ScriptedDoor(*[ServerFailed("away")] * 9)
    assert not outbox(door).end(0.1, status="failed", error={"code": "c", "message": "m"})


def test_what_the_server_refuses_is_not_sent_for_ever() -> None:
    door = ScriptedDoor(InvalidData("events[0].data: too large"))
    box = outbox(door)
    box.add("large")
    assert box.send()
    assert box.refused is not None
    assert "too large" in box.refused
    assert box.is_empty
    with pytest.raises(InvalidData):
        outbox(ScriptedDoor(InvalidData("no"))).end(1.0, status="succeeded", fine_tuned_model="m")
