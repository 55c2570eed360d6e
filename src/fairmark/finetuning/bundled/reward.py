"""The reward of this job's grader, for any trainer that calls a Python function.

python reward.py FILE prints the reward of every answer that the rows of FILE bring along, one a line as JSON.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairmark import Result, grade_many

HERE = Path(__file__).parent
DEADLINE_S = 300.0
"""For all rows of one call: what is not graded by then has no reward."""


class GraderReward:
    """Called with completions and, under `row`, the rows that they answer. A row that cannot be graded is None, so that
    the trainer leaves it out, and never 0."""

    def __init__(self, grader: dict[str, Any]) -> None:
        self.grader = grader
        self.__name__ = str(grader.get("name") or grader["type"])

    def __call__(
        self,
        prompts: Any = None,
        completions: Any = (),
        row: Any = (),
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        rows = [{"item": json.loads(text), "sample": said} for text, said in zip(row, completions, strict=True)]
        results = grade_many(self.grader, rows, deadline_s=DEADLINE_S)
        if log_metric is not None:
            self._log(results, log_metric)
        return [result.reward_or(None) for result in results]

    def _log(self, results: list[Result], log_metric: Callable[[str, float], None]) -> None:
        graded = [result for result in results if result.ok]
        log_metric(f"{self.__name__}/failed", 1 - len(graded) / len(results) if results else 0.0)
        for part in self.grader.get("graders") or ():
            rewards = [result.sub_rewards.get(part, 0.0) for result in graded]
            log_metric(f"{self.__name__}/{part}", sum(rewards) / len(rewards) if rewards else 0.0)

    def __reduce__(self) -> Any:
        return GraderReward, (self.grader,)


def load_reward() -> GraderReward:
    return GraderReward(json.loads((HERE / "grader.json").read_text("utf-8")))


def load_rows(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a file of this bundle: `item`, and `answer` where the row brought one along."""
    with (HERE / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main() -> None:
    rows = [row for row in load_rows(sys.argv[1]) if row["answer"] is not None]
    items = [json.dumps(row["item"]) for row in rows]
    rewards = load_reward()(completions=[row["answer"] for row in rows], row=items)
    for value in rewards:
        print(json.dumps(value))  # noqa: T201  # that is what it is for


if __name__ == "__main__":
    main()
