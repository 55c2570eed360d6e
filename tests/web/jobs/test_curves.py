"""Events as points of curves, whatever they say."""

from typing import Any

from fairmark import jsontext
from fairmark.store.jobs.entries import Entry
from fairmark.web.jobs.curves import read_points


def entry(kind: str = "metrics", **data: Any) -> Entry:
    return Entry("e", jsontext.encode({"type": kind, "message": "m", "data": data}))


def test_points_come_the_oldest_first_and_only_from_steps() -> None:
    entries = [entry(step=2), entry("message", step=9), entry(), entry(step=1)]
    assert [point["step"] for point in read_points(entries)] == [1, 2]


def test_a_point_has_what_the_event_tells() -> None:
    (point,) = read_points(
        [
            entry(
                step=3,
                total_steps=9,
                train_mean_reward=0.5,
                full_valid_mean_reward=None,
                scores={"graders": [{"name": "a", "train_reward_mean": 0.25, "valid_reward_mean": None}]},
                graded={"train": {"rows": 4, "graded": 3, "most_frequent_error": "ValueError"}},
                timing={"step": {"sampling": 1.5, "full_iteration": 2}},
                completion_tokens_mean=7,
            )
        ]
    )
    assert point == {
        "step": 3,
        "total_steps": 9,
        "train": 0.5,
        "valid": None,
        "parts": [{"name": "a", "train": 0.25, "valid": None}],
        "failed": {"train": 0.25, "valid": None},
        "reason": "ValueError",
        "tokens": 7,
        "seconds": {"sampling": 1.5, "training": None, "eval": None, "full_iteration": 2},
    }


def test_what_is_no_number_is_none() -> None:
    graded = {"train": {"rows": 0, "graded": "x"}}
    strange = entry(step=1, scores=[], graded=graded, timing=None, train_mean_reward=True)
    (point,) = read_points([strange, Entry("x", b"[]")])
    assert (point["train"], point["parts"], point["failed"]["train"]) == (None, [], None)
