"""Hundreds of grades at once, good and bad: each gets its own outcome."""

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

import fairmark
from fairmark import run
from fairmark.sandbox.base import MB, Limits
from tests.sandbox.pools import grade, opened, program

Found: TypeAlias = tuple[str | None, float]
Job: TypeAlias = Coroutine[Any, Any, Found]

LIMITS = Limits(wall_s=1.0, memory_bytes=256 * MB, disk_bytes=16 * MB, cpus=1)

GOOD = "def grade(sample, item):\n    return item['n'] + {number}\n"
SLOW = "import time\ndef grade(sample, item):\n    time.sleep(0.1)\n    return item['n'] + {number}\n"
RUNS = "def grade(sample, item):\n    return eval(sample['output_text']) + {number}\n"
BAD = {
    "raises": ("def grade(sample, item):\n    raise ValueError({number})\n", "error"),
    "returns a text": ("def grade(sample, item):\n    return '{number}'\n", "error"),
    "ends": ("import os\ndef grade(sample, item):\n    os._exit({number})\n", "died"),
    "crashes": ("import ctypes\ndef grade(sample, item):\n    ctypes.string_at({number})\n", "died"),
    "forges": ("import os\ndef grade(sample, item):\n    os.write(3, bytes(100 + {number}))\n    return 1.0\n", "died"),
    "floods memory": ("def grade(sample, item):\n    return len(bytearray(2**30 + {number}))\n", "oom"),
    "floods the channel": (
        "import os\ndef grade(sample, item):\n    while {number} < 9:\n        os.write(3, b'x' * 65536)\n",
        "died",
    ),
    "does not end": ("def grade(sample, item):\n    while True:\n        {number}\n", "timeout"),
    "sleeps": ("import time\ndef grade(sample, item):\n    time.sleep(60 + {number})\n", "timeout"),
    "does not load": ("1 / 0\ndef grade(sample, item):\n    return {number}\n", "error"),
}
PRINTS = "def grade(sample, item):\n    print('x' * 10**6)\n    return item['n'] + {number}\n"


def test_of_hundreds_of_grades_at_once_every_one_has_its_own_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    async def by_agrade(source: str, n: int) -> Found:
        spec = {"type": "python", "name": "grader", "source": source}
        result = await fairmark.agrade(spec, sample=str(n), item={"n": n})
        kind = result.errors["python_grader_server_error_type"]
        failure = "error" if result.errors["python_grader_runtime_error"] else kind
        assert (result.status == "error") == (failure is not None)
        return None if failure is None else str(failure), result.reward

    async def by_owner(source: str, n: int, owner: str) -> Found:
        wanted = program(source, limits=LIMITS, owner=owner)
        (outcome,) = await grade(pool_of_test[0], wanted, {"n": n})
        return outcome.failure, outcome.reward

    async def main() -> None:
        async with opened() as pool:
            pool.policy = replace(pool.policy, python=LIMITS)
            pool_of_test.append(pool)
            monkeypatch.setattr(run, "CONTEXT", replace(run.CONTEXT, sandbox=pool))
            jobs: list[tuple[str, Found, Job]] = []
            for n in range(400):
                number = n % 7
                good = (None, float(n + number))
                template = {0: RUNS, 1: SLOW, 2: PRINTS}.get(n % 20, GOOD)
                jobs.append(("good", good, by_agrade(template.format(number=number), n)))
                if n % 4 == 0:
                    owned = by_owner(GOOD.format(number=number), n, f"owner {n % 3}")
                    jobs.append(("good", good, owned))
            for name, (source, failure) in BAD.items():
                times = 4 if failure == "timeout" else 8
                jobs += [(name, (failure, 0.0), by_agrade(source.format(number=n % 2), n)) for n in range(times)]
            random.Random(1).shuffle(jobs)
            assert len(jobs) >= 500
            outcomes: list[Any] = await asyncio.gather(*(job for _, _, job in jobs))
            wrong = Counter(
                f"{name}: expected {expected}, found {found}"
                for (name, expected, _), found in zip(jobs, outcomes, strict=True)
                if expected != found
            )
            assert wrong == Counter()

    pool_of_test: list[Any] = []
    asyncio.run(main())


def test_a_row_that_fails_leaves_the_other_rows_of_its_call_alone() -> None:
    source = """
import os, time
def grade(sample, item):
    match item["do"]:
        case "end":
            os._exit(1)
        case "raise":
            raise ValueError
        case "sleep":
            time.sleep(60)
        case "flood":
            bytearray(1 << 30)
    return item["n"]
"""
    doings = ["", "sleep", "", "sleep", *["", "end", "", "raise", "", "", "flood", "", "end"] * 20]

    async def main() -> list[Found]:
        async with opened() as pool:
            wanted = program(source, limits=replace(LIMITS, wall_s=1))
            rows: list[Sequence[Any]] = [({}, {"n": n, "do": do}) for n, do in enumerate(doings)]
            return [(outcome.failure, outcome.reward) for outcome in await pool.run(wanted, rows)]

    failures = {"end": "died", "raise": "error", "flood": "oom", "sleep": "timeout"}
    expected: list[Found] = [(failures[do], 0.0) if do else (None, float(n)) for n, do in enumerate(doings)]
    assert asyncio.run(main()) == expected


@pytest.mark.parametrize("strict", [False, True])
def test_many_more_runners_at_once_than_cores_all_start(strict: bool) -> None:
    async def main() -> list[Found]:
        async with opened(at_once=128) as pool:
            programs = [program(GOOD.format(number=n), strict=strict) for n in range(128)]
            outcomes = await asyncio.gather(*(grade(pool, wanted, {"n": 0}) for wanted in programs))
            return [(outcome.failure, outcome.reward) for (outcome,) in outcomes]

    assert asyncio.run(main()) == [(None, float(n)) for n in range(128)]
