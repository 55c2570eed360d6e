"""AWS (Bedrock, SageMaker): a Lambda that is handed a batch of answers.

In the Lambda: `lambda_handler = fairmark.trainers.aws.handler("grader.json")`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.client.remote import RemoteBackend
from fairmark.errors import GradingFailed, InvalidData, InvalidGrader
from fairmark.parse import Grader
from fairmark.result import Grade, Result
from fairmark.trainers.chat import divide
from fairmark.trainers.reward import Reward
from fairmark.work import eventloop

MOST_FAILED = 0.5
LAMBDA_DEADLINE_S = 600.0
"""A Lambda has a quarter of an hour."""


class AwsHandler(Reward):
    """AWS takes nothing but numbers: a failure is 0, and 1 in the metric `failed`. Where more than `max_failed` of a
    batch fail, it raises: the job stops rather than learns noise."""

    errors_become = "zero"
    deadline_s = LAMBDA_DEADLINE_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.max_failed = options.pop("max_failed", MOST_FAILED)
        if (
            isinstance(self.max_failed, bool)
            or not isinstance(self.max_failed, (int, float))
            or not 0 <= self.max_failed <= 1
        ):
            raise InvalidData(f"max_failed: found {jsontext.describe(self.max_failed)}. It takes a share, 0 to 1.")
        url = os.environ.get("FAIRMARK_URL") or None
        self._server = None if url is None else RemoteBackend(url, os.environ.get("FAIRMARK_API_KEY") or None)
        self.runs_here = url is None
        try:
            super().__init__(*arguments, **options)
        except InvalidGrader as wrong:
            if any(problem.code == "sandbox_unavailable" for problem in wrong.problems):
                hint = "Set FAIRMARK_URL to a Fairmark server, which then grades the rows."
                raise InvalidGrader.at("$", f"{wrong.problems[0].message} {hint}", "sandbox_unavailable") from None
            raise

    def maker_of_this(self) -> Callable[..., Reward]:
        return partial(AwsHandler, max_failed=self.max_failed)

    def __call__(self, event: Any, context: Any = None) -> list[dict[str, Any]]:
        entries = _entries(event)
        results = self._grade([self._row(entry) for entry in entries])
        failed = sum(not result.ok for result in results)
        if results and failed / len(results) > self.max_failed:
            first = next(result for result in results if not result.ok)
            raise GradingFailed(
                f"{self.spec.name}: {failed} of {len(results)} rows were not graded, more than max_failed "
                f"({self.max_failed:g}) of them. The first: {first.error or first.skipped}"
            )
        rewards, logs = self.rewards(results), self.logs(results)
        return [
            {
                "id": entry.get("id"),
                "aggregate_reward_score": rewards[index],
                "metrics_list": [{"name": name, "value": logs[name][index], "type": "Metric"} for name in logs],
            }
            for index, entry in enumerate(entries)
        ]

    def _row(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        before, sample = divide(entry["messages"])
        if len(before) + 1 != len(entry["messages"]):
            sample = []  # the last turn is not the assistant's: one before it is no answer
        metadata = entry.get("metadata")
        columns = dict(metadata) if isinstance(metadata, Mapping) else {}
        if entry.get("reference_answer") is not None:
            columns["reference_answer"] = entry["reference_answer"]
        return self.maker.row(before, sample, columns)

    def _grade(self, rows: Sequence[dict[str, Any]]) -> list[Result]:
        if self._server is None:
            return self.grade(rows)
        answers = eventloop.run(self._server.rewards(self.spec.echo(), rows, self.options.deadline_s))
        return [Result(self.spec, _grade_of(answer), 0.0) for answer in answers]


def handler(grader: Grader | Path, **options: Any) -> AwsHandler:
    """A `lambda_handler`. With FAIRMARK_URL in the environment a Fairmark server grades (FAIRMARK_API_KEY is its key);
    without, this machine does. Raises InvalidGrader, also where a Lambda has no sandbox for the grader's code."""
    return AwsHandler(grader, **options)


def _entries(event: Any) -> list[Mapping[str, Any]]:
    if not isinstance(event, list):
        raise InvalidData(f"event: found {jsontext.describe(event)}. It takes a list of objects with messages.")
    for index, entry in enumerate(event):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("messages"), list):
            raise InvalidData(f"event[{index}]: it takes an object with id and messages, a list.")
    return event


def _grade_of(answer: Mapping[str, Any]) -> Grade:
    """A server's answer for a row as a grade."""
    return Grade(
        float(answer["reward"]),
        answer.get("sub_rewards") or {},
        error=answer.get("error"),
        skipped=answer.get("skipped"),
    )
