"""A real server, and the unmodified client packages of others talking to it, each in an environment of its own."""

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.clients.judge import RuleBasedModel
from tests.judges.faults import FaultServer

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".venv-clients"
LIMIT_S = 240
EVERY_TIME = ["test_openai_evals.py", "test_openai_errors.py"]
Facts = dict[str, Any]
Client = Callable[..., Facts]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One of the client packages is in every test run, the others in the thorough one."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and item.path.name not in EVERY_TIME:
            item.add_marker(pytest.mark.thorough)


class Server:
    """A `fairmark serve` process with a home of its own, whose every model is the rule-based one."""

    def __init__(self, home: Path, model_url: str) -> None:
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "FAIRMARK_HOME": str(home),
            "FAIRMARK_JUDGE_CACHE": "off",  # tokens are counted: whoever asks the same again has to pay again
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "sk-rule-based",
        }
        self._home = home
        self.new_key()  # a server with keys in its database lets nobody in without one
        self._log = (home / "log").open("w")
        self._process = command.start(["serve", "--port", "0"], cwd=home, env=self._environment, stderr=self._log)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert "http://" in said, (home / "log").read_text()
        self.url = said.split()[-1]

    def new_key(self) -> str:
        """A key of a project of its own, so that lists hold only what their reader made."""
        project = f"project-{uuid.uuid4().hex[:12]}"
        made = command.run(["keys", "create", "--project", project], cwd=self._home, env=self._environment)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def stop(self) -> str:
        """Ends the process, and gives what it logged."""
        self._process.terminate()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()
        return (self._home / "log").read_text()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with FaultServer() as model:
        model.always(RuleBasedModel())
        running = Server(tmp_path_factory.mktemp("server"), model.url)
        try:
            yield running
        finally:
            log = running.stop()
        assert "Traceback" not in log


class Started:
    """A client at work."""

    def __init__(self, server: Server, environment: str, script: str, *arguments: str) -> None:
        folder = ENVIRONMENTS / environment
        assert (folder / ".ready").exists(), f"{folder} is missing: make setup"
        if script.endswith(".cjs"):
            program = ["node", str(Path(__file__).parent / "scripts" / script)]
        else:
            program = [str(folder / "bin" / "python"), "-m", f"tests.clients.scripts.{script}"]
        self._process = subprocess.Popen(
            [*program, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                "PATH": os.environ["PATH"],
                "HOME": os.environ.get("HOME", "/"),
                "NODE_PATH": str(folder / "node_modules"),
                "SERVER": server.url,
                "OPENAI_BASE_URL": f"{server.url}/v1",
                "OPENAI_API_KEY": server.new_key(),
            },
        )

    def facts(self) -> Facts:
        """What it found out."""
        try:
            said, complaint = self._process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            said, complaint = self._process.communicate()
        assert self._process.returncode == 0, complaint
        found: Facts = json.loads(said.splitlines()[-1])
        return found


@pytest.fixture
def client(server: Server) -> Client:
    """Runs a script of tests/clients/scripts in an environment, with a key of its own, and gives what it found out."""

    def run(environment: str, script: str, *arguments: str) -> Facts:
        return Started(server, environment, script, *arguments).facts()

    return run
