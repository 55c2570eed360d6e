"""Our side of the benchmark of hanging judges. Prints, as JSON, the seconds of single grades by a healthy judge.

    python -m bench.hanging_rows 40      so many grades of one project, alone and then beside two others' hanging work

The judges `healthy` and `hanging` are whatever fairmark.toml says.
"""

import asyncio
import json
import sys
import time
from typing import Any

from fairmark.parse import parse
from fairmark.run import context, grade_parts
from fairmark.work import eventloop

HANGING_ROWS = 200


def grader(model: str) -> Any:
    message = {"role": "user", "content": "How good is the answer {{ sample.output_text }}?"}
    return parse({"type": "score_model", "name": "fair", "model": model, "input": [message]})


async def healthy(count: int, what: str) -> list[float]:
    spec, seconds = grader("healthy"), []
    for number in range(count):
        started = time.perf_counter()
        (result,) = await grade_parts(spec, [({}, f"{what} {number}")], context(owner="ours"))
        if result.status != "graded":
            sys.exit(str(result.error))
        seconds.append(time.perf_counter() - started)
    return seconds


async def hang(name: str) -> None:
    """A run's worth of rows that never get an answer."""
    rows: list[tuple[dict[str, Any], str]] = [({}, f"{name} {number}") for number in range(HANGING_ROWS)]
    await grade_parts(grader("hanging"), rows, context(owner="theirs"))


async def measure(count: int) -> dict[str, list[float]]:
    await healthy(1, "warm")
    alone = await healthy(count, "alone")
    others = [asyncio.create_task(hang(name)) for name in ("first", "second")]
    await asyncio.sleep(1.0)
    beside = await healthy(count, "beside")
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    return {"alone": alone, "beside": beside}


if __name__ == "__main__":
    print(json.dumps(eventloop.run(measure(int(sys.argv[1])))))
