"""ART: in a rollout, `await score(trajectory)` sets the trajectory's reward and metrics.

`score = fairmark.trainers.art.reward("grader.json")`.
"""

from pathlib import Path
from typing import Any

from fairmark.parse import Grader
from fairmark.trainers.chat import divide
from fairmark.trainers.single import SingleReward


class ArtReward(SingleReward):
    """A failure is raised: within `max_exceptions` ART drops that trajectory and keeps the others of its group."""

    errors_become = "raise"

    async def __call__(self, trajectory: Any, **columns: Any) -> float:
        """The item has the trajectory's metadata and what is handed over by name."""
        before, sample = divide(trajectory.messages())
        result = await self.gatherer.agrade(self.maker.row(before, sample, {**trajectory.metadata, **columns}))
        trajectory.metrics.update(self.row_logs(result))
        trajectory.reward = self.number(result)
        return float(trajectory.reward)


def reward(grader: Grader | Path, **options: Any) -> ArtReward:
    """A function for rollouts, awaited with their trajectory. Raises InvalidGrader."""
    return ArtReward(grader, **options)
