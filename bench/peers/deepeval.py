"""deepeval: evaluate() with its ExactMatchMetric and a metric around rouge-score. Takes DATA, prints the means as JSON.

deepeval's own ROUGE stems the words first; without the stemmer the work is the same as ours, and less.
"""

# deepeval is installed only where this script runs.
# mypy: disable-error-code="import-not-found, misc, no-any-return"

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"  # read when it is imported

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric, ExactMatchMetric
from deepeval.test_case import LLMTestCase
from rouge_score.rouge_scorer import RougeScorer


class RougeL(BaseMetric):
    """A custom metric, as its documentation writes them."""

    threshold = 0.5
    async_mode = False
    include_reason = False

    def __init__(self) -> None:
        self.scorer = RougeScorer(["rougeL"])

    def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
        self.score = self.scorer.score(test_case.expected_output, test_case.actual_output)["rougeL"].fmeasure
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return self.success

    @property
    def __name__(self) -> str:
        return "rouge_l"


def main(data: Path) -> None:
    with data.open() as file:
        rows = [json.loads(line) for line in file]
    cases = [LLMTestCase(input="", actual_output=row["sample"], expected_output=row["item"]["answer"]) for row in rows]
    with contextlib.redirect_stdout(io.StringIO()):
        result = evaluate(
            cases,
            metrics=[ExactMatchMetric(), RougeL()],
            async_config=AsyncConfig(run_async=False),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
            cache_config=CacheConfig(write_cache=False),
        )
    scores: dict[str, list[float]] = {"Exact Match": [], "rouge_l": []}
    for test in result.test_results:
        for metric in test.metrics_data:
            scores[metric.name].append(metric.score)
    exact, rouge_l = scores.values()
    print(json.dumps({"rows": len(exact), "exact": sum(exact) / len(exact), "rouge_l": sum(rouge_l) / len(rouge_l)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
