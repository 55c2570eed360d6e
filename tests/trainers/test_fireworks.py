"""Rows of eval-protocol."""

from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.trainers import fireworks
from fairmark.trainers.reward import Reward
from tests.trainers.test_trl import BOTH, EXACT

TRUE = {**BOTH, "graders": {**BOTH["graders"], "exact": {**EXACT, "reference": "{{item.ground_truth}}"}}}  # type: ignore[dict-item]


def row(fail: bool = False) -> Any:
    messages = [{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": "Paris"}]
    return SimpleNamespace(
        messages=messages,
        ground_truth="Paris",
        input_metadata=SimpleNamespace(dataset_info={"fail": fail}),
        evaluation_result=None,
    )


def test_a_row_gets_its_result_and_a_metric_for_each_part() -> None:
    graded = fireworks.evaluate(TRUE, row())
    result = graded.evaluation_result
    assert (result.score, result.is_score_valid) == (1.5, True)
    assert {name: metric.score for name, metric in result.metrics.items()} == {
        "both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0,
    }  # fmt: skip


def test_a_part_beyond_1_is_cut_in_its_metric_and_told() -> None:
    """eval-protocol refuses a metric with such a score, and the row with it."""
    ten = {"type": "python", "name": "ten", "source": "def grade(sample, item):\n    return 10\n"}
    below = {"type": "python", "name": "below", "source": "def grade(sample, item):\n    return -0.5\n"}
    parts = {"type": "multi", "name": "m", "graders": {"a": ten, "b": below}, "calculate_output": "a + b"}
    result = fireworks.evaluate(parts, row()).evaluation_result
    assert (result.score, result.is_score_valid) == (9.5, True)
    told = {name: (metric.score, metric.reason) for name, metric in result.metrics.items()}
    assert told == {
        "m/a": (1.0, "10; a metric has 0 to 1"), "m/b": (0.0, "-0.5; a metric has 0 to 1"), "m/failed": (0.0, ""),
    }  # fmt: skip


def test_a_failure_is_not_a_valid_score() -> None:
    result = fireworks.evaluate(TRUE, row(fail=True)).evaluation_result
    assert (result.score, result.is_score_valid) == (0.0, False)
    assert "on purpose" in result.reason
    assert result.metrics["both/failed"].score == 1.0


def test_the_grader_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    plain = Reward.__init__

    def counted(self: Any, *arguments: Any, **options: Any) -> None:
        made.append(type(self).__name__)
        plain(self, *arguments, **options)

    monkeypatch.setattr(Reward, "__init__", counted)
    once = {**EXACT, "name": "opened once", "reference": "{{item.ground_truth}}"}
    assert [fireworks.evaluate(once, row()).evaluation_result.score for _ in range(3)] == [1.0] * 3
    assert made == ["FireworksReward"]


def test_a_wrong_grader_is_told() -> None:
    with pytest.raises(InvalidGrader):
        fireworks.evaluate({**EXACT, "operation": "equals"}, row())
