"""How bubblewrap is started, by whom."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairmark.sandbox.runners import RunnerGone
from fairmark.sandbox.zygotes import Profile, Zygote
from tests.sandbox.pools import LIMITS, program
from tests.sandbox.users import environment, run_as, without_mounts

GRADE = (
    "import fairmark\n"
    "result = fairmark.grade({'type': 'python', 'source': 'import os\\ndef grade(s, i): return os.getuid()'})\n"
    "print(result.reward, result.error)\n"
)


def test_root_gives_root_up_and_an_ordinary_user_stays_who_he_is(tmp_path: Path) -> None:
    done = run_as("root", [sys.executable, "-c", GRADE], "", environment(tmp_path))
    assert done.stdout == f"{float(os.getuid() or 65534)} None\n"


def test_root_that_may_not_mount_works_as_an_ordinary_user_would(tmp_path: Path) -> None:
    """As in a container. Who is not root already is that user, and the test is the one above."""
    command = [sys.executable, "-c", GRADE]
    done = subprocess.run(
        without_mounts(command) if os.getuid() == 0 else command,
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
        cwd=tmp_path,
    )
    assert (done.stdout, done.stderr) == (f"{float(os.getuid() or 65534)} None\n", "")


def test_runners_have_random_numbers_of_their_own_although_all_come_from_one_process() -> None:
    source = "import random\ndef grade(sample, item): return random.random()"

    async def numbers() -> list[float]:
        zygote = await Zygote.start(Profile(None, frozenset({"random"})))
        try:
            outcomes = []
            for _ in range(4):
                runner = await zygote.spawn(program(source))
                outcomes += await runner.grade([b"[{}, {}]"])
                runner.end()
            return [outcome.reward for outcome in outcomes]
        finally:
            zygote.stop()

    assert len(set(asyncio.run(numbers()))) == 4


def test_a_runner_that_cannot_be_locked_down_never_begins_and_its_zygote_goes_on() -> None:
    no_disk = replace(program("def grade(s, i): return 1.0"), limits=replace(LIMITS, inodes=-1))

    async def run() -> tuple[str | None, float]:
        zygote = await Zygote.start(Profile(None, frozenset()))
        try:
            with pytest.raises(RunnerGone) as gone:
                await zygote.spawn(no_disk)
            runner = await zygote.spawn(program("def grade(s, i): return 1.0"))
            (outcome,) = await runner.grade([b"[{}, {}]"])
            runner.end()
            return gone.value.outcome.failure, outcome.reward
        finally:
            zygote.stop()

    assert asyncio.run(run()) == ("sandbox", 1.0)
