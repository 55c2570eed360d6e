"""Our side of the endpoint benchmark: COUNT rows, graded by an endpoint. Prints what it cost as JSON.

    python -m bench.endpoint_rows URL 10000 64

One row goes before the time that counts: it opens the connection and the modules, which a process does once.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import fairmark

ANSWER = "The capital of France is Paris, which lies on the Seine and has been the capital for most of its history. "


def main(url: str, count: int, batch_size: int) -> None:
    grader = {"type": "endpoint", "name": "bench", "url": url, "batch_size": batch_size}
    warm = fairmark.grade(grader, sample="warm", item={"question": "up?"})
    if warm.status != "graded":
        sys.exit(str(warm.error))
    wall, cpu = time.perf_counter(), time.process_time()
    results = fairmark.grade_many(grader, _rows(count))
    cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    print(json.dumps(cost | {"graded": sum(result.reward == 0.75 for result in results)}))


def _rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        item = {"question": f"What is the capital of country {number}?", "reference": f"city {number}"}
        yield {"item": item, "sample": f"{ANSWER}{number}"}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
