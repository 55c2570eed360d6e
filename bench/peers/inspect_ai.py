"""inspect-ai: a task with its match scorer and a ROUGE-L scorer. Takes DATA, prints the means as JSON.

The answers are already there, so its solver only hands them over; no model is asked.
"""

# inspect-ai is installed only where this script runs.
# mypy: disable-error-code="import-not-found, untyped-decorator"

import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval  # noqa: A004  # that is its name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, match, mean, scorer
from inspect_ai.solver import solver
from rouge_score.rouge_scorer import RougeScorer


@solver
def hand_over() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        state.output = ModelOutput.from_content("none", state.metadata["sample"])
        return state

    return solve


@scorer(metrics=[mean()])
def rouge_l() -> Any:
    rouge = RougeScorer(["rougeL"])

    async def score(state: Any, target: Any) -> Any:
        return Score(value=rouge.score(target.text, state.output.completion)["rougeL"].fmeasure)

    return score


def main(data: Path) -> None:
    with data.open() as file:
        rows = [json.loads(line) for line in file]
    samples = [Sample(input="-", target=row["item"]["answer"], metadata={"sample": row["sample"]}) for row in rows]
    task = Task(
        dataset=MemoryDataset(samples),
        solver=hand_over(),
        scorer=[match(location="exact", ignore_case=False), rouge_l()],
    )
    [log] = eval(task, model="mockllm/model", display="none", log_dir="logs")
    if log.status != "success":
        sys.exit(str(log.error.message if log.error else log.status))
    means = {result.scorer: next(iter(result.metrics.values())).value for result in log.results.scores}
    print(json.dumps({"rows": len(log.samples), "exact": means["match"], "rouge_l": means["rouge_l"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
