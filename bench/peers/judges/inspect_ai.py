"""inspect-ai: a task with model_graded_qa. Takes URL CALLS AT_ONCE, prints what it cost as JSON.

The answers are already there, so its solver only hands them over; the one model that is asked is the judge.
"""

# inspect-ai is installed only where this script runs.
# mypy: disable-error-code="import-not-found, untyped-decorator"

import json
import sys
import time
from typing import Any

from inspect_ai import Task, eval  # noqa: A004  # that is its name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import solver


@solver
def hand_over() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        state.output = ModelOutput.from_content("none", state.metadata["sample"])
        return state

    return solve


def main(url: str, calls: int, at_once: int) -> None:
    judge = get_model("openai/gpt-4.1-mini", base_url=f"{url}/v1", api_key="x")

    def ask(numbers: range) -> Any:
        samples = [
            Sample(input="-", target=f"reference {number}", metadata={"sample": f"answer {number}"})
            for number in numbers
        ]
        task = Task(dataset=MemoryDataset(samples), solver=hand_over(), scorer=model_graded_qa(model=judge))
        [log] = eval(
            task,
            model="mockllm/model",
            max_samples=at_once,
            max_connections=at_once,
            display="none",
            log_dir="logs",
            log_realtime=False,
            score_display=False,
        )
        if log.status != "success":
            sys.exit(str(log.error.message if log.error else log.status))
        return log

    ask(range(-1, 0))
    wall, cpu = time.perf_counter(), time.process_time()
    log = ask(range(calls))
    cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    graded = sum(score.value == "C" for sample in log.samples for score in sample.scores.values())
    print(json.dumps(cost | {"graded": graded}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
