"""Killed at any moment and started again, a pull ends with the archive that it would have made undisturbed."""

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from tests import command
from tests.hosted import Faults, Hosted, Size, World, hosting
from tests.moving.pull.pulling import contents, pulled

SIZE = Size(evals=5, runs=3, items=230, files=8, completions=25, responses=4, jobs=3, events=130)


def start(hosted: Hosted, folder: Path, errors: Path) -> "command.Command":
    words = ["import", "openai", "--pull-only", "--base-url", hosted.base_url, "--archive", str(folder)]
    environment = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": hosted.key}
    with errors.open("w") as stderr:
        started = command.start(words, cwd=folder.parent, env=environment, stderr=stderr)
    assert isinstance(started, command.Command)
    return started


def end(started: "command.Command") -> int:
    code = started.wait(120)
    assert started.stdout is not None
    started.stdout.close()
    return code


class Killer:
    """Ends a process a moment after a request of its has come."""

    def __init__(self, hosted: Hosted, seed: int) -> None:
        self._hosted = hosted
        self._random = random.Random(seed)
        self._timers: list[threading.Timer] = []

    def aim(self, pid: int, after: int) -> None:
        """After so many more requests, at some moment of the work that the last of them brings."""
        aimed_at = len(self._hosted.requests) + after

        def fire() -> None:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it was faster

        def look(number: int) -> None:
            if number == aimed_at:
                timer = threading.Timer(self._random.uniform(0.0, 0.03), fire)
                self._timers.append(timer)
                timer.start()

        self._hosted.on_request = look

    def rest(self) -> None:
        self._hosted.on_request = lambda number: None
        for timer in self._timers:
            timer.join()


@pytest.mark.parametrize(
    ("kills", "seed"), [(8, 1), pytest.param(50, 2, marks=pytest.mark.thorough)], ids=["8 kills", "50 kills"]
)
def test_a_killed_pull_goes_on_to_the_same_archive(kills: int, seed: int, tmp_path: Path) -> None:
    with hosting(World(SIZE, seed)) as hosted:
        undisturbed = pulled(hosted, tmp_path / "undisturbed")
        needed = len(hosted.requests)
        draw, killer = random.Random(seed), Killer(hosted, seed)
        hosted.faults = Faults(too_many_every=31, cut_every=37)
        codes = []
        for _ in range(kills):
            started = start(hosted, tmp_path / "disturbed", tmp_path / "errors.txt")
            # Steps that are small enough for all kills to fall into one pull, with some left for its end.
            killer.aim(started.pid, draw.randint(1, max(2, needed // kills)))
            codes.append(end(started))
            killer.rest()
        code = end(start(hosted, tmp_path / "disturbed", tmp_path / "errors.txt"))
        assert code == 3, (tmp_path / "errors.txt").read_text()  # two files cannot be had
    assert undisturbed.stopped is None
    assert codes.count(-signal.SIGKILL) > 0.9 * kills  # the last ones may have been too fast
    assert contents(tmp_path / "disturbed") == contents(tmp_path / "undisturbed")
    assert not (tmp_path / "disturbed" / ".parts").exists()


def test_a_killed_pull_loses_at_most_the_pages_that_were_under_way(tmp_path: Path) -> None:
    with hosting(World(SIZE)) as hosted:
        pulled(hosted, tmp_path / "undisturbed")
        needed = len(hosted.requests)
        killer = Killer(hosted, 3)
        started = start(hosted, tmp_path / "disturbed", tmp_path / "errors.txt")
        killer.aim(started.pid, needed // 2)
        assert end(started) == -signal.SIGKILL
        killer.rest()
        assert end(start(hosted, tmp_path / "disturbed", tmp_path / "errors.txt")) == 3
        again = len(hosted.requests) - 2 * needed
    # Four are under way at once, and each eval's list of runs is looked at again.
    assert again <= 4 + SIZE.evals + 4
    assert contents(tmp_path / "disturbed") == contents(tmp_path / "undisturbed")


@pytest.mark.thorough
def test_a_second_pull_that_is_killed_ends_as_a_first_one_of_the_same_would(tmp_path: Path) -> None:
    with hosting(World(SIZE, 4)) as hosted:
        world, draw, killer = hosted.world, random.Random(4), Killer(hosted, 4)
        pulled(hosted, tmp_path / "disturbed")
        for eval_id, runs in world.runs.items():
            world.change(eval_id, name="renamed")
            world.grow(runs[1].id, 150)
            world.add_run(eval_id)
        world.add_run(world.add_eval())
        codes = []
        for _ in range(6):
            started = start(hosted, tmp_path / "disturbed", tmp_path / "errors.txt")
            killer.aim(started.pid, draw.randint(1, 14))
            codes.append(end(started))
            killer.rest()
        end(start(hosted, tmp_path / "disturbed", tmp_path / "errors.txt"))
        pulled(hosted, tmp_path / "undisturbed")
    assert codes.count(-signal.SIGKILL) >= 4
    assert contents(tmp_path / "disturbed") == contents(tmp_path / "undisturbed")
