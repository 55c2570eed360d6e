"""The environment with TRL, as tests start programs in it."""

import fcntl
import functools
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".venv-clients" / "trl"
PYTHON = FOLDER / "bin" / "python"
LIMIT_S = 280


def require() -> None:
    assert (FOLDER / ".ready").exists(), f"{FOLDER} is missing: make test-all creates it"


def environment(**more: str) -> dict[str, str]:
    """One thread for torch: those of a tiny model only wait for one another."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        **more,
    }


class Warm:
    """A process in which TRL is imported, and what it forks; it ends with this one."""

    def __init__(self) -> None:
        require()
        self._process = subprocess.Popen(
            [str(PYTHON), "-m", "tests.training.real.warm"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
        """Its exit code, what it said and what it complained about."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.NamedTemporaryFile("r") as said, tempfile.NamedTemporaryFile("r") as complained:
            order = {
                "arguments": arguments,
                "cwd": str(cwd),
                "env": env,
                "stdout": said.name,
                "stderr": complained.name,
            }
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            pid = int(self._process.stdout.readline())
            guard = threading.Timer(LIMIT_S, os.kill, (pid, signal.SIGKILL))
            guard.start()
            code = int(self._process.stdout.readline())
            guard.cancel()
            return code, said.read(), complained.read()


@functools.cache
def warm() -> Warm:
    return Warm()


def run(*arguments: str, cwd: Path, enter: Sequence[str] = (), **more: str) -> str:
    """What a program said; its errors fail the test. `enter`: the command that starts it, for one in a namespace."""
    env = environment(**{"FAIRMARK_HOME": str(cwd / "home"), **more})
    if enter:
        done = subprocess.run(
            [*enter, str(PYTHON), *arguments],
            cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        code, said, complained = done.returncode, done.stdout, done.stderr
    else:
        code, said, complained = warm().run(arguments, cwd, env)
    assert code == 0, complained[-5000:]
    return said


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model. The first worker that asks makes it; the others wait."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if os.environ.get("PYTEST_XDIST_WORKER") else shared
    folder = shared / "tiny"
    with (shared / "tiny.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            run("-m", "tests.training.real.tiny", str(folder), cwd=folder)
    return folder
