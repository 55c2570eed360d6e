"""Trainers themselves, unmodified, each in an environment of its own: they call Fairmark, and print what they saw."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
ENVIRONMENTS = ROOT / ".venv-clients"
LIMIT_S = 300
Facts = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They stand on torch, and are in the thorough test run alone."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Facts]:
    def call(trainer: str, *arguments: str) -> Facts:
        environment, folder = ENVIRONMENTS / trainer, tmp_path_factory.mktemp(trainer)
        assert (environment / ".ready").exists(), f"{environment} is missing: make test-all"
        done = subprocess.run(
            [environment / "bin" / "python", "-m", f"tests.trainers.real.peers.{trainer}_calls", folder, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "FAIRMARK_HOME": str(folder),
                "PYTHONPATH": str(ROOT / "src"),
                "HF_HUB_OFFLINE": "1",
            },
        )
        assert done.returncode == 0, done.stderr[-4000:]
        facts = json.loads(done.stdout.splitlines()[-1])
        assert isinstance(facts, dict)
        return {**facts, "log": done.stderr}

    return call
