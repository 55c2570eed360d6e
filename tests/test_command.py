"""Programs that the tests start: nothing of them is left, however the tests end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import command
from tests.server.client import wait_for

ROOT = Path(__file__).parents[1]
SMALL_SUITE = """
import json, os, signal
from pathlib import Path

from tests import command
from tests.postgres import Postgres, initialise
from tests.server.client import Server


def test_that_is_killed(tmp_path):
    servers = [Server(tmp_path / "warm"), Server(tmp_path / "cold", cold=True)]
    answer = servers[0].post("/v1/fine_tuning/alpha/graders/run", {
        "grader": {"type": "python", "source": "def grade(sample, item):\\n    return 1.0"}, "model_sample": ""})
    assert answer.json()["reward"] == 1.0
    initialise(tmp_path / "template")
    postgres = Postgres(tmp_path / "template")
    postgres.start()
    pids = [*(server.process.pid for server in servers), postgres._process.pid, command._zygote()._process.pid]
    told = Path(os.environ["TOLD"])
    told.with_suffix(".new").write_text(json.dumps({"pids": pids, "folder": str(postgres.folder)}))
    told.with_suffix(".new").rename(told)
    signal.pause()
"""


def family(pid: int) -> set[int]:
    """The process and all that descend from it."""
    found = {pid}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found |= family(int(child))
    return found


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.thorough
def test_a_killed_test_run_leaves_no_server_behind(tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(SMALL_SUITE)
    told = tmp_path / "told"
    arguments = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", f"--basetemp={tmp_path / 'base'}"]
    with (tmp_path / "said").open("w") as said:
        suite = subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments, str(tmp_path / "test_small.py")],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TOLD": str(told)},
            cwd=ROOT, stdout=said, stderr=said,
        )  # fmt: skip
    try:
        wait_for(lambda: told.exists() or suite.poll() is not None, 120)
        assert told.exists(), (tmp_path / "said").read_text()
        started = json.loads(told.read_text())
        all_of_it = family(suite.pid)
        assert all_of_it > set(started["pids"])
    finally:
        suite.kill()
        suite.wait(60)
    try:
        wait_for(lambda: not any(map(is_alive, all_of_it)))
    finally:
        subprocess.run(["rm", "-rf", started["folder"]], check=True)


def test_a_program_that_the_zygote_has_started_dies_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = command.ZYGOTE.read_text().replace("    warm()\n", "")
    assert "warm()\n" not in cold
    (tmp_path / "zygote.py").write_text(cold)
    monkeypatch.setattr(command, "ZYGOTE", tmp_path / "zygote.py")
    zygote = command.Zygote()
    with (tmp_path / "said").open("w") as said:
        pid, end = zygote.start(["/bin/sleep", "600"], tmp_path, {}, [said.fileno()] * 3)
    try:
        assert is_alive(pid)
        os.kill(zygote._process.pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(pid))
    finally:
        zygote.stop()
        os.close(end)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with (
        (tmp_path / "said").open("w+") as said,
        pytest.raises(AssertionError, match="no-such-program is not installed"),
    ):
        command.start_program(["no-such-program"], cwd=tmp_path, env={}, output=said)
