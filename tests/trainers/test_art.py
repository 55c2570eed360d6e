"""The reward as a rollout of ART's awaits it."""

import asyncio
import pickle
from typing import Any

import pytest

from fairmark.errors import GradingFailed
from fairmark.trainers import art
from tests.trainers.test_trl import BOTH


class Trajectory:
    """The part of ART's Trajectory that is read and written."""

    def __init__(self, answer: str, **metadata: Any) -> None:
        self.reward, self.metrics, self.metadata = 0.0, {"duration": 1.0}, metadata
        self._answer = answer

    def messages(self) -> list[dict[str, Any]]:
        return [{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": self._answer}]


def test_the_trajectory_gets_its_reward_and_its_parts() -> None:
    trajectory = Trajectory("Paris", step=3)
    assert asyncio.run(art.reward(BOTH)(trajectory, answer="Paris")) == 1.5
    assert trajectory.reward == 1.5
    assert trajectory.metrics == {"duration": 1.0, "both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}


def test_a_failure_is_raised_and_the_trajectory_keeps_its_reward() -> None:
    trajectory = Trajectory("Paris", fail=True)
    with pytest.raises(GradingFailed, match="on purpose"):
        asyncio.run(art.reward(BOTH)(trajectory, answer="Paris"))
    assert (trajectory.reward, trajectory.metrics["both/failed"]) == (0.0, 1.0)


def test_it_pickles() -> None:
    assert pickle.loads(pickle.dumps(art.reward(BOTH))).__name__ == "both"  # noqa: S301
