"""AReaL: `f(prompt, completions, prompt_ids, completion_ids, **data) -> float`, one row a call, in a pool of processes.

In a module of your own: `reward_fn = fairmark.trainers.areal.reward("grader.json")`.
"""

from pathlib import Path
from typing import Any

from fairmark.parse import Grader
from fairmark.trainers.reward import Reward

AREAL_DEADLINE_S = 12.0
"""AReaL waits for 15 s and takes what is late for 0, without a word to the trainer."""


class ArealReward(Reward):
    """A failure is raised: after three more tries AReaL rejects the rollout. It is sent to its process anew with every
    row, and opened there once."""

    errors_become = "raise"
    deadline_s = AREAL_DEADLINE_S

    def __call__(
        self, prompt: Any, completions: str, prompt_ids: Any = None, completion_ids: Any = None, **data: Any
    ) -> float:
        (value,) = self.rewards(self.grade([self.maker.row(prompt, completions, data)]))
        return 0.0 if value is None else value


def reward(grader: Grader | Path, **options: Any) -> ArealReward:
    """A reward function for AReaL's workflows. Raises InvalidGrader before anything is generated."""
    return ArealReward(grader, **options)
