"""Fireworks' eval-protocol: in an `@evaluation_test`, `evaluate("grader.json", row)` sets the row's result."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.trainers.borrowed import borrowed
from fairmark.trainers.chat import divide
from fairmark.trainers.single import SingleReward, made_once


@dataclass
class MetricResult:
    """As eval-protocol's own, which refuses scores below 0 and above 1; results may have any."""

    score: float
    reason: str
    is_score_valid: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise ValueError(f"score: {self.score} is not between 0 and 1.")


@dataclass
class EvaluateResult:
    """As eval-protocol's own."""

    score: float
    is_score_valid: bool = True
    reason: str | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


class FireworksReward(SingleReward):
    """A failed row has score 0 and `is_score_valid` false, by which it is left out."""

    errors_become = "mask"
    can_mask = True

    def evaluate(self, row: Any) -> Any:
        row.evaluation_result = self._told(self.gatherer.grade(self._row(row)))
        return row

    def _row(self, row: Any) -> dict[str, Any]:
        """The item has the data set's columns, those that were added to the row, and `ground_truth`."""
        before, sample = divide(row.messages)
        columns = {**(row.input_metadata.dataset_info or {}), **(getattr(row, "model_extra", None) or {})}
        if row.ground_truth is not None:
            columns["ground_truth"] = row.ground_truth
        return self.maker.row(before, sample, columns)

    def _told(self, result: Result) -> Any:
        why = result.error or result.skipped
        metric = borrowed("eval_protocol.models", "MetricResult", MetricResult)
        metrics = {
            name: metric(
                score=min(1.0, max(0.0, value)),
                is_score_valid=result.ok or name.endswith("/failed"),
                reason=why or ("" if 0 <= value <= 1 else f"{value:g}; a metric has 0 to 1"),
            )
            for name, value in self.row_logs(result).items()
        }
        return borrowed("eval_protocol.models", "EvaluateResult", EvaluateResult)(
            score=self.number(result), is_score_valid=result.ok, reason=why, metrics=metrics, error=why
        )


def evaluate(grader: Grader | Path, row: Any, **options: Any) -> Any:
    """The row, graded. The grader is opened with the first row of a process. Raises InvalidGrader."""
    return made_once(FireworksReward, grader, options).evaluate(row)
