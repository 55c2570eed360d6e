"""The library's side of the registry benchmark: inline and by reference in turns. Prints CPU microseconds as JSON.

FAIRMARK_HOME=folder python -m bench.registry_rows '{"type": …}' exact-match 60 3000
"""

import asyncio
import json
import sys
import time
from typing import Any

import fairmark
from fairmark.registry.lookup import local
from fairmark.settings import settings
from fairmark.store import Store

ITEM = {"answer": "Paris"}
LOOKS = 20


def main(inline: dict[str, Any], key: str, rounds: int, calls: int) -> None:
    asyncio.run(_register(key, inline))
    graders = {"reference": {"type": "registered", "key": key}, "inline": inline}
    rows = [{"item": ITEM, "sample": "Paris"}] * calls
    told: dict[str, Any] = {"grade": {how: [] for how in graders}, "grade_many": {how: [] for how in graders}}
    for _ in range(rounds):
        for how, grader in graders.items():
            fairmark.grade(grader, "Paris", ITEM)  # a look, where one is due, is a number of its own
            began = time.process_time()
            for _ in range(calls):
                fairmark.grade(grader, "Paris", ITEM)
            told["grade"][how].append(1e6 * (time.process_time() - began) / calls)
            began = time.process_time()
            fairmark.grade_many(grader, rows, workers=1)
            told["grade_many"][how].append(1e6 * (time.process_time() - began) / calls)
    told["look_ms"] = [_look(graders["reference"]) for _ in range(LOOKS)]
    print(json.dumps(told))


def _look(reference: dict[str, Any]) -> float:
    local().forget()
    began = time.process_time()
    fairmark.grade(reference, "Paris", ITEM)
    return 1e3 * (time.process_time() - began)


async def _register(key: str, grader: dict[str, Any]) -> None:
    store = await Store.open(None, settings().data_folder)
    await store.graders.create("default", key, grader)
    await store.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
