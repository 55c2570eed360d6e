"""A training as it goes on: what is told of a step, and when there is nothing left to learn from."""

from typing import Any

import pytest

from fairmark.training.course import DEAD_STEPS, Course, JobReward, TrainingFailed, item_of
from fairmark.training.recorder import Recorder

GRADER = {"type": "python", "name": "inverse", "source": "def grade(sample, item):\n    return 1 / item['n']\n"}


class Told(list[dict[str, Any]]):
    def __call__(self, kind: str, **told: Any) -> None:
        self.append({"type": kind, **told})


@pytest.fixture
def course() -> Course:
    reward = JobReward(GRADER, item=item_of)
    reward.recorder, reward.seconds = Recorder(), 0.0
    reward.is_training = lambda: True
    return Course(Told(), reward, reward.recorder)


def only(course: Course) -> dict[str, Any]:
    """The one thing that was told."""
    assert isinstance(course.tell, Told)
    assert len(course.tell) == 1
    return course.tell[0]


def step(course: Course, number: int, *values: int) -> None:
    course.begin_step()
    with course.sampling("train"):
        rows = [f'{{"n": {value}}}' for value in values]
        ids = [[1, 2, 3]] * len(values)
        prompts = ["?"] * len(values)
        course.reward(prompts, ["x"] * len(values), row=rows, completion_ids=ids)
    course.end_step()
    course.note_logs({"loss": 0.5, "epoch": 1})


def test_a_step_is_told_with_its_rewards_failures_tokens_and_times(course: Course) -> None:
    course.total_steps = 2
    step(course, 1, 1, 2, 0)
    course.tell_step(1)
    told = only(course)
    assert told["message"].startswith("Step 1: training mean reward=0.75 (1 of 3 rows not graded: ZeroDivisionError")
    data = told["data"]
    assert (data["train_mean_reward"], data["completion_tokens_mean"], data["total_steps"]) == (0.75, 3.0, 2)
    times = data["timing"]["step"]
    assert times["eval"] is None
    assert 0 <= times["sampling"] <= times["full_iteration"]
    assert 0 <= times["training"] <= times["full_iteration"]
    assert data["trainer"] == {"loss": 0.5, "epoch": 1}


def test_validation_is_told_with_its_step(course: Course) -> None:
    step(course, 1, 1)
    course.reward.is_training = lambda: False
    with course.sampling("valid"):
        course.reward(["?"], ["x"], row=['{"n": 4}'], completion_ids=[[1]])
    course.end_validation()
    course.tell_step(1)
    told = only(course)
    assert (told["data"]["train_mean_reward"], told["data"]["full_valid_mean_reward"]) == (1.0, 0.25)
    assert told["data"]["timing"]["step"]["eval"] > 0
    assert "validation mean reward=0.25" in told["message"]


def test_a_grader_that_grades_nothing_any_more_ends_the_training(course: Course) -> None:
    for number in range(DEAD_STEPS - 1):
        step(course, number, 0, 0)
    step(course, 9, 1, 0)  # one row is enough
    for number in range(DEAD_STEPS - 1):
        step(course, number, 0, 0)
    with pytest.raises(TrainingFailed, match=r"graded none of the answers\. Most often: ZeroDivisionError") as failed:
        step(course, 99, 0)
    assert failed.value.code == "grader_failed"


def test_rows_that_fail_have_no_reward(course: Course) -> None:
    rewards = course.reward(["?", "?"], ["x", "x"], row=['{"n": 2}', '{"n": 0}'])
    assert rewards == [0.5, None]
