"""The environment with TRL, as tests start programs in it."""

import os
import subprocess
from collections.abc import Sequence
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


def run(*arguments: str, cwd: Path, enter: Sequence[str] = (), **more: str) -> str:
    """What a program said; its errors fail the test. `enter`: the command that starts it, for one in a namespace."""
    done = subprocess.run(
        [*enter, str(PYTHON), *arguments],
        cwd=cwd,
        env=environment(**{"FAIRMARK_HOME": str(cwd / "home"), **more}),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model."""
    require()
    folder = tmp_path_factory.mktemp("tiny")
    run("-m", "tests.training.real.tiny", str(folder), cwd=folder)
    return folder
