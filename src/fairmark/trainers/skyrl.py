"""SkyRL: an environment of one step whose reward is the grade.

In a module of your own: `Graded = fairmark.trainers.skyrl.env("grader.json")`, and
`skyrl_gym.register(id="graded", entry_point="my_envs:Graded")`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from fairmark.parse import Grader
from fairmark.trainers.borrowed import borrowed
from fairmark.trainers.single import SingleReward


class SkyRLReward(SingleReward):
    """SkyRL takes nothing but numbers: a failure is 0, and 1 in the metric `<grader>/failed`."""

    errors_become = "zero"


class GradedEnv:
    """What a class made by `env` has: `init`, `step`, `close`, `get_metrics`, as SkyRL's `BaseTextEnv`."""

    made: ClassVar[SkyRLReward]

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        columns = dict(extras or {})
        truth = columns.get("reward_spec")
        if isinstance(truth, Mapping) and "ground_truth" in truth:
            columns.setdefault("ground_truth", truth["ground_truth"])
        self._prompt: Any = columns.pop("prompt", None)
        self._columns = columns
        self._metrics: dict[str, float] = {}

    def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
        self._prompt = prompt
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        result = self.made.gatherer.grade(self.made.maker.row(self._prompt, action, self._columns))
        self._metrics = self.made.row_logs(result)
        told = {"error": result.error or result.skipped} if not result.ok else {}
        reward = self.made.number(result)
        return {"observations": [], "reward": reward, "done": True, "metadata": {**self._metrics, **told}}

    def close(self) -> None:
        """There is nothing to close: the sandbox is the process's."""

    def get_metrics(self) -> dict[str, float]:
        return self._metrics

    @staticmethod
    def aggregate_metrics(metrics: list[dict[str, Any]]) -> dict[str, Any]:
        """The mean of each."""
        names = dict.fromkeys(name for row in metrics for name in row)
        return {name: sum(row.get(name, 0.0) for row in metrics) / len(metrics) for name in names}


def env(grader: Grader | Path, **options: Any) -> type[GradedEnv]:
    """A class of environments; a BaseTextEnv where skyrl_gym is installed. Raises InvalidGrader when it is made."""
    made = SkyRLReward(grader, **options)
    base = borrowed("skyrl_gym.envs.base_text_env", "BaseTextEnv", object)
    bases = (GradedEnv,) if base is object else (GradedEnv, base)
    return type(made.spec.name, bases, {"made": made, "__doc__": GradedEnv.__doc__})
