"""The sandbox of this process: one for all its event loops and threads, another one in a forked child."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import fairmark
from tests.sandbox.sources import COUNTS, ENDLESS, GOOD, spec
from tests.sandbox.users import USERS, environment, run_as

FORKS = """
import os, sys
import fairmark
counter = {"type": "python", "name": "g", "source": %r}
before = fairmark.grade(counter).reward
child = os.fork()
if child == 0:
    rewards = [fairmark.grade(counter).reward for _ in range(2)]
    sys.exit(0 if rewards == [1.0, 2.0] else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print([status, before, fairmark.grade(counter).reward])
"""


def test_a_forked_child_has_runners_of_its_own_and_leaves_its_parents_alone(tmp_path: Path) -> None:
    done = run_as(
        # From 3.12 on Python warns of forks beside threads, rightly; this is about what happens then.
        USERS[0],
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS % COUNTS],
        "",
        environment(tmp_path),
    )
    assert (done.stdout, done.stderr) == ("[0, 1.0, 2.0]\n", "")


def test_an_agrade_that_is_cancelled_frees_its_place_for_others() -> None:
    async def run() -> float:
        for _ in range(2 * (os.cpu_count() or 1) + 1):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(fairmark.agrade(spec(ENDLESS), item={"loop": True}), 0.2)
        return (await asyncio.wait_for(fairmark.agrade(spec(GOOD)), 10)).reward

    assert asyncio.run(run()) == 0.5


def test_several_event_loops_one_after_the_other_share_the_sandbox() -> None:
    source = f"# several loops\n{COUNTS}"
    counted = [asyncio.run(fairmark.agrade(spec(source))).reward for _ in range(3)]
    assert counted == [1.0, 2.0, 3.0]


def test_several_threads_may_grade_at_once() -> None:
    def work(number: int) -> None:
        source = f"def grade(sample, item):\n    return item['n'] + {number}\n"
        found.extend((number, n, fairmark.grade(spec(source), item={"n": n}).reward) for n in range(10))

    def start(target: Callable[[int], None], number: int) -> threading.Thread:
        thread = threading.Thread(target=target, args=(number,))
        thread.start()
        return thread

    found: list[tuple[int, int, float]] = []
    for thread in [start(work, number) for number in range(8)]:
        thread.join()
    assert len(found) == 80
    assert [row for row in found if row[0] + row[1] != row[2]] == []
