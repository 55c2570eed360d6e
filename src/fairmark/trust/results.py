"""Graded rows out of the results file of a run: what a judge said of each answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairmark import jsontext
from fairmark.data.results import no_result_line, read_lines
from fairmark.errors import GradingFailed, InvalidData
from fairmark.result import is_split
from fairmark.row import read_sample
from fairmark.trust.labelled import answer_key


@dataclass(frozen=True, slots=True)
class GradedRow:
    """One answer and its reward; None where it could not be graded."""

    item: Mapping[str, Any]
    sample: Any
    reward: float | None
    passed: bool | None
    components: Mapping[str, float] = field(default_factory=dict)
    split: bool = False
    """Whether a panel, or several answers of one judge, were of different opinions."""

    @property
    def key(self) -> bytes:
        return answer_key(self.item, self.sample)

    @property
    def text(self) -> str:
        """The answer; "" where there is none."""
        try:
            return read_sample(self.sample).text
        except GradingFailed:
            return ""


@dataclass(frozen=True)
class GradedRun:
    name: str
    grader: str
    rows: Sequence[GradedRow]

    @property
    def graded(self) -> list[GradedRow]:
        return [row for row in self.rows if row.reward is not None]


def read_results(path: str, grader: str | None = None) -> GradedRun:
    """A results file of `fairmark eval`, by one of its graders; without a name it has to have one alone.

    Raises InvalidData, with the line.
    """
    rows: list[GradedRow] = []
    label = grader
    for number, line in read_lines(path):
        try:
            value = jsontext.decode(line)
        except jsontext.NotJson as error:
            raise InvalidData(f"{path}: line {number}: not JSON: {error}.", number) from None
        results = value.get("results") if isinstance(value, dict) else None
        if not isinstance(results, dict) or not results:
            raise no_result_line(path, number)
        if label is None:
            if len(results) > 1:
                raise InvalidData(f"{path}: it has results of {', '.join(results)}. Say which: --criterion NAME.")
            label = next(iter(results))
        if label not in results:
            words = f"no result of {jsontext.quote(label)}. It has: {', '.join(results)}."
            raise InvalidData(f"{path}: line {number}: {words}", number)
        rows.append(_row(value, results[label]))
    if not rows:
        raise InvalidData(f"{path}: there are no rows in it.")
    return GradedRun(path, label or "", rows)


def _row(line: Mapping[str, Any], result: Mapping[str, Any]) -> GradedRow:
    item = line.get("item")
    reward = result.get("reward")
    is_graded = (
        result.get("status", "graded") == "graded" and isinstance(reward, (int, float)) and math.isfinite(reward)
    )
    return GradedRow(
        item if isinstance(item, dict) else {},
        line.get("sample"),
        float(reward) if is_graded and reward is not None else None,
        result.get("passed") if is_graded else None,
        result.get("sub_rewards") or {},
        is_split(result.get("spread")),
    )


def range_of(runs: Sequence[GradedRun], told: tuple[float, float] | None = None) -> tuple[float, float]:
    """The range of rewards: as told, else 0 to 1 where all lie in it, else what was given."""
    if told is not None:
        return told
    rewards = [row.reward for run in runs for row in run.rows if row.reward is not None]
    return min([0.0, *rewards]), max([1.0, *rewards])
