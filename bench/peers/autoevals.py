"""autoevals: its ExactMatch, and a scorer of its kind around rouge-score. Takes DATA, prints the means as JSON."""

# autoevals is installed only where this script runs.
# mypy: disable-error-code="import-not-found, misc"

import json
import sys
from pathlib import Path
from typing import Any

from autoevals import ExactMatch, Score
from autoevals.partial import ScorerWithPartial
from rouge_score.rouge_scorer import RougeScorer


class RougeL(ScorerWithPartial):
    """autoevals has no ROUGE of its own."""

    def __init__(self) -> None:
        self.scorer = RougeScorer(["rougeL"])

    def _run_eval_sync(self, output: str, expected: str | None = None, **_: Any) -> Any:
        return Score(name=self._name(), score=self.scorer.score(expected, output)["rougeL"].fmeasure)


def main(data: Path) -> None:
    scorers = {"exact": ExactMatch(), "rouge_l": RougeL()}
    scores: dict[str, list[float]] = {name: [] for name in scorers}
    with data.open() as file:
        for line in file:
            row = json.loads(line)
            for name, scorer in scorers.items():
                scores[name].append(scorer.eval(output=row["sample"], expected=row["item"]["answer"]).score)
    print(json.dumps({"rows": len(scores["exact"])} | {name: sum(some) / len(some) for name, some in scores.items()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
