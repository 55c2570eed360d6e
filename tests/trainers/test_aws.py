"""The Lambda as AWS calls it, grading itself and by a server."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import GradingFailed, InvalidData, InvalidGrader, ServerFailed
from fairmark.trainers import aws, reward
from tests.server.client import Server
from tests.trainers.test_trl import BOTH, EXACT

TRUE = {**BOTH, "graders": {**BOTH["graders"], "exact": {**EXACT, "reference": "{{item.reference_answer}}"}}}  # type: ignore[dict-item]


def entry(number: int, answer: str = "Paris", fail: bool = False) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": answer}]
    return {"id": str(number), "messages": messages, "reference_answer": "Paris", "metadata": {"fail": fail}}


EVENT = [entry(0), entry(1, "Rome"), entry(2, fail=True)]


def check(answers: list[dict[str, Any]]) -> None:
    assert [(answer["id"], answer["aggregate_reward_score"]) for answer in answers] == [
        ("0", 1.5), ("1", 0.4), ("2", 0.0),
    ]  # fmt: skip
    metrics = [{metric["name"]: metric["value"] for metric in answer["metrics_list"]} for answer in answers]
    assert metrics[0] == {"both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}
    assert [of_row["both/failed"] for of_row in metrics] == [0.0, 0.0, 1.0]
    assert len({tuple(of_row) for of_row in metrics}) == 1
    assert {metric["type"] for answer in answers for metric in answer["metrics_list"]} == {"Metric"}


def test_a_batch_is_graded_here() -> None:
    check(aws.handler(TRUE)(EVENT, None))


def test_a_batch_is_graded_by_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path / "home")
    try:
        monkeypatch.setenv("FAIRMARK_URL", server.url)
        check(aws.handler(TRUE)(EVENT, None))
    finally:
        server.stop()
    with pytest.raises(ServerFailed):
        aws.handler(TRUE)(EVENT, None)


def test_a_turn_before_the_last_is_no_answer() -> None:
    asked = entry(1)
    asked["messages"].append({"role": "user", "content": "And of Italy?"})
    (answer,) = aws.handler(BOTH, item={"answer": "reference_answer"}, max_failed=1.0)([asked])
    failed = {metric["name"]: metric["value"] for metric in answer["metrics_list"]}["both/failed"]
    assert (answer["aggregate_reward_score"], failed) == (0.0, 1.0)


def test_too_many_failures_stop_the_job() -> None:
    event = [entry(0), entry(1, fail=True), entry(2, fail=True)]
    with pytest.raises(GradingFailed, match=r"2 of 3 rows were not graded, more than max_failed \(0.5\)"):
        aws.handler(TRUE)(event, None)
    assert len(aws.handler(TRUE, max_failed=0.7)(event, None)) == 3
    assert aws.handler(TRUE)([], None) == []


def test_without_a_sandbox_it_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here(spec: Any, deadline_s: float) -> None:
        raise InvalidGrader.at("$", "its code cannot be run here: none.", "sandbox_unavailable")

    monkeypatch.setattr(reward, "open_sandbox", none_here)
    with pytest.raises(InvalidGrader, match="Set FAIRMARK_URL to a Fairmark server"):
        aws.handler(TRUE)
    monkeypatch.setenv("FAIRMARK_URL", "http://127.0.0.1:9")
    assert aws.handler(TRUE).__name__ == "both"


@pytest.mark.parametrize("event", [{}, [{"id": "1"}], ["x"]])
def test_another_event_is_refused(event: Any) -> None:
    with pytest.raises(InvalidData, match="event"):
        aws.handler(EXACT)(event, None)
    with pytest.raises(InvalidData, match="max_failed"):
        aws.handler(EXACT, max_failed="half")


def test_it_pickles_with_how_many_rows_may_fail() -> None:
    again = pickle.loads(pickle.dumps(aws.handler(TRUE, max_failed=0.9)))  # noqa: S301
    assert again.max_failed == 0.9
    assert len(again([entry(0), entry(1, fail=True), entry(2, fail=True)], None)) == 3


@pytest.mark.parametrize("share", [-0.1, 1.5, True, float("nan")])
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(InvalidData, match=r"max_failed: found .*0 to 1"):
        aws.handler(EXACT, max_failed=share)
