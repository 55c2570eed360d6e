"""The bare loop: json, == and rouge-score, and nothing around them. Takes DATA, prints the means as JSON."""

import json
import sys
from pathlib import Path

from rouge_score.rouge_scorer import RougeScorer


def main(data: Path) -> None:
    scorer = RougeScorer(["rougeL"])
    exact: list[float] = []
    rouge_l: list[float] = []
    with data.open() as file:
        for line in file:
            row = json.loads(line)
            reference, text = row["item"]["answer"], row["sample"]
            exact.append(float(text == reference))
            rouge_l.append(scorer.score(reference, text)["rougeL"].fmeasure)
    print(json.dumps({"rows": len(exact), "exact": sum(exact) / len(exact), "rouge_l": sum(rouge_l) / len(rouge_l)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
