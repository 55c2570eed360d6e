"""rLLM: an evaluator, `evaluate(task, episode) -> EvalOutput`.

`evaluator = fairmark.trainers.rllm.evaluator("grader.json")`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairmark.parse import Grader
from fairmark.trainers.borrowed import borrowed
from fairmark.trainers.single import SingleReward


@dataclass
class Signal:
    """As rLLM's own."""

    name: str
    value: float
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class EvalOutput:
    """As rLLM's own."""

    reward: float
    is_correct: bool
    signals: list[Any] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


class RllmEvaluator(SingleReward):
    """rLLM takes nothing but numbers: a failure is 0, and 1 in the signal `<grader>/failed`."""

    errors_become = "zero"

    def evaluate(self, task: Any, episode: Any) -> Any:
        """`is_correct` where the reward reaches the grader's pass_threshold, or 1 where it has none."""
        result = self.gatherer.grade(self._row(task, episode))
        value = self.number(result)
        passed = value >= 1 if result.passed is None else result.passed
        signal = borrowed("rllm.eval.types", "Signal", Signal)
        signals = [signal(name, number) for name, number in self.row_logs(result).items()]
        told = {} if result.ok else {"error": result.error or result.skipped}
        return borrowed("rllm.eval.types", "EvalOutput", EvalOutput)(value, bool(result.ok and passed), signals, told)

    def _row(self, task: Any, episode: Any) -> dict[str, Any]:
        if isinstance(task, Mapping):
            columns = dict(task)
            prompt = columns.pop("instruction", None) or columns.get("question")
        else:
            columns, prompt = dict(task.metadata), task.instruction
        return self.maker.row(prompt, answer_of(episode), columns)


def answer_of(episode: Any) -> str | None:
    """What was answered at the end, where rLLM's own evaluators look for it; None where nothing was."""
    if "answer" in episode.artifacts:
        answer = episode.artifacts["answer"]
        return None if answer is None else str(answer)
    for trajectory in reversed(episode.trajectories[-1:]):
        if trajectory.output:
            return str(trajectory.output)
        if trajectory.steps and trajectory.steps[-1].output:
            return str(trajectory.steps[-1].output)
        for step in reversed(trajectory.steps):
            if step.model_response:
                return str(step.model_response)
    return None


def evaluator(grader: Grader | Path, **options: Any) -> RllmEvaluator:
    """An evaluator for rLLM's trainer and its runner. Raises InvalidGrader."""
    return RllmEvaluator(grader, **options)
