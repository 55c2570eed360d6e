"""ragas: evaluate() with its ExactMatch and RougeScore. Takes DATA, prints the means as JSON."""

# ragas is installed only where this script runs.
# mypy: disable-error-code="import-not-found"

import json
import os
import sys
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # read when it is imported

from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.metrics import ExactMatch, RougeScore


def main(data: Path) -> None:
    with data.open() as file:
        rows = [json.loads(line) for line in file]
    samples = [SingleTurnSample(response=row["sample"], reference=row["item"]["answer"]) for row in rows]
    result = evaluate(EvaluationDataset(samples), metrics=[ExactMatch(), RougeScore()], show_progress=False)
    exact, rouge_l = result["exact_match"], result["rouge_score(mode=fmeasure)"]
    print(json.dumps({"rows": len(exact), "exact": sum(exact) / len(exact), "rouge_l": sum(rouge_l) / len(rouge_l)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
