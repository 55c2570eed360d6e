"""Our side of what a check costs: judge check of 100 rows with all probes. Prints what it took as JSON.

The judge is whatever the environment says. One grade goes before the time that counts.
"""

import json
import sys
import time

import fairmark
from bench.scripted_judges import SCORE_GRADER, World


def main() -> None:
    grader = {**SCORE_GRADER, "model": "gpt-4.1-mini"}
    warm = fairmark.grade(grader, sample="warm", item={"id": 0})
    if warm.status != "graded":
        sys.exit(str(warm.error))
    rows = World.of_scores(1).rows
    began, cpu = time.perf_counter(), time.process_time()
    check = fairmark.check_judge(grader, rows)
    cost = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
    print(json.dumps({**cost, "calls": check.asked, "failed": check.failed, "grade": check.grade}))


if __name__ == "__main__":
    main()
