"""deepeval: evaluate() with G-Eval, its steps given. Takes URL CALLS AT_ONCE, prints what it cost as JSON.

Without given steps G-Eval asks twice for each case.
"""

# deepeval is installed only where this script runs.
# mypy: disable-error-code="import-not-found"

import contextlib
import io
import json
import os
import sys
import time
from typing import Any

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"  # read when it is imported

from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import GEval
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase, SingleTurnParams


def main(url: str, calls: int, at_once: int) -> None:
    judge = GEval(
        name="fair",
        evaluation_steps=["Compare the answer with the right answer.", "Say how good it is."],
        evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT],
        model=OpenAIModel(model="gpt-4.1-mini", api_key="x", base_url=f"{url}/v1"),
    )

    def ask(numbers: range) -> Any:
        cases = [
            LLMTestCase(input="", actual_output=f"answer {number}", expected_output=f"reference {number}")
            for number in numbers
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            return evaluate(
                cases,
                metrics=[judge],
                async_config=AsyncConfig(max_concurrent=at_once),
                display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
                cache_config=CacheConfig(write_cache=False),
            )

    ask(range(-1, 0))
    wall, cpu = time.perf_counter(), time.process_time()
    result = ask(range(calls))
    cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    scores = [metric.score for test in result.test_results for metric in test.metrics_data]
    print(json.dumps(cost | {"graded": sum(0.7 < score < 0.9 for score in scores)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
