"""A program that ends with whoever started it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.client import wait_for
from tests.test_command import is_alive

STARTER = """
import subprocess, sys
tied = subprocess.Popen([sys.executable, "-m", "fairmark.training.tied", sys.executable, "-c",
    "import os, time; open(os.sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)", sys.argv[1]],
    stdin=subprocess.PIPE)
tied.wait()
"""


def test_a_program_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(told)])
    try:
        wait_for(lambda: told.exists() and told.read_text() != "")
        pid = int(told.read_text())
        assert is_alive(pid)
    finally:
        starter.kill()
        starter.wait()
    wait_for(lambda: not is_alive(pid))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_ends_when_what_ties_it_is_asked_to_end(tmp_path: Path, number: int) -> None:
    told = tmp_path / "pid"
    source = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    program = [sys.executable, "-c", source]
    with subprocess.Popen(
        [sys.executable, "-m", "fairmark.training.tied", *program], stdin=subprocess.PIPE, start_new_session=True
    ) as tied:
        wait_for(lambda: told.exists() and told.read_text() != "")
        os.kill(tied.pid, number)
        assert tied.wait(30) != 0
    wait_for(lambda: not is_alive(int(told.read_text())))


def test_its_exit_code_is_the_programs() -> None:
    program = [sys.executable, "-c", "raise SystemExit(7)"]
    # Its input stays open: where it ends, the program is ended.
    with subprocess.Popen([sys.executable, "-m", "fairmark.training.tied", *program], stdin=subprocess.PIPE) as tied:
        assert tied.wait(60) == 7
