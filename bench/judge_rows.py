"""Our side of the judge benchmark: COUNT ROWS, graded by score_model. Prints what it cost as JSON.

    python -m bench.judge_rows 500 many      grade_many, which hands all results back at once
    python -m bench.judge_rows 500 stream    grade_stream, whose results are looked at and let go of

The judge is whatever the environment says. One call goes before the time that counts: it opens the connection, the
cache and the modules, which a process does once.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

import fairmark

GRADER = {
    "type": "score_model",
    "name": "fair",
    "model": "gpt-4.1-mini",
    "input": [
        {
            "role": "user",
            "content": "How good is the answer {{ sample.output_text }} to a question whose right answer is "
            "{{ item.reference }}?",
        }
    ],
    "range": [0, 1],
}


def main(count: int, way: str) -> None:
    warm = fairmark.grade(GRADER, sample="warm", item={"reference": "up"})
    if warm.status != "graded":
        sys.exit(str(warm.error))
    wall, cpu = time.perf_counter(), time.process_time()
    results = (
        fairmark.grade_many(GRADER, _rows(count)) if way == "many" else fairmark.grade_stream(GRADER, _rows(count))
    )
    graded = sum(result.reward == 0.75 for result in results)
    cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    # ru_maxrss is in KiB on Linux and in bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    print(json.dumps(cost | {"peak_mb": peak, "graded": graded}))


def _rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {"item": {"reference": f"reference {number}"}, "sample": f"answer {number}"}


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
