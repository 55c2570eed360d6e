"""Workers at a real server, whose processes do what a script says instead of training."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark.training.attendance import WorkerTerms
from fairmark.training.door import JobDoor
from fairmark.training.plan import TrainingOptions
from fairmark.training.worker import Worker
from tests.server.client import Server, wait_for
from tests.server.conftest import server, start
from tests.server.test_finetuning import JOBS, body, created, events
from tests.test_command import is_alive
from tests.training.real.environment import tiny

__all__ = ["Desk", "desk", "server", "start", "tiny"]
TAKE = "/v1/fine_tuning/workers/take"


class Desk:
    """One worker, its server and its folder."""

    def __init__(self, server: Server, home: Path, model: str) -> None:
        self.server, self.home, self.model = server, home, model
        self.said: list[str] = []
        self.failure: BaseException | None = None
        self._script = home / "script.json"
        self._worker: Worker | None = None
        self._thread: threading.Thread | None = None
        home.mkdir(exist_ok=True)

    def script(self, *attempts: list[Any]) -> None:
        self._script.write_text(json.dumps(attempts))

    def terms(self, **more: Any) -> WorkerTerms:
        command = (sys.executable, str(Path(__file__).with_name("scripted.py")), str(self._script))
        options = TrainingOptions()
        return WorkerTerms(self.home, {self.model: self.home}, options, **{"lease_s": 3, "command": command, **more})

    def begin(self, key: str | None = None, **more: Any) -> None:
        """The worker begins to work."""
        door = JobDoor(self.server.url, key)
        self._worker = Worker(door, self.terms(**more), f"w-{id(self)}", self.said.append)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        assert self._worker is not None
        try:
            self._worker.work()
        except BaseException as failure:
            self.failure = failure

    def stop(self) -> None:
        if self._worker is not None and self._thread is not None:
            self._worker.stopping.set()
            self._thread.join(60)
            assert not self._thread.is_alive()

    def create(self, **more: Any) -> dict[str, Any]:
        self.server.post(TAKE, {"worker": "here", "models": [self.model], "lease_s": 2})  # so that it is queued
        return created(self.server, {**body(self.server), "model": self.model, **more})

    def now(self, job: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.server.get(f"{JOBS}/{job['id']}").json()
        return found

    def until(self, job: dict[str, Any], *statuses: str) -> dict[str, Any]:
        wait_for(lambda: self.now(job)["status"] in statuses, 60)
        return self.now(job)

    def until_told(self, job: dict[str, Any], text: str) -> None:
        wait_for(lambda: any(text in message for message in self.messages(job)), 60)

    def messages(self, job: dict[str, Any]) -> list[str]:
        return [event["message"] for event in events(self.server, job)]

    def call(self, job: dict[str, Any], call: str) -> None:
        assert self.server.post(f"{JOBS}/{job['id']}/{call}", {}).status == 200

    def folder(self, job: dict[str, Any]) -> Path:
        return self.home / "jobs" / str(job["id"])

    def pids(self, job: dict[str, Any]) -> list[int]:
        return [int(pid) for pid in (self.folder(job) / "attempts").read_text().split()]

    def go_on(self, job: dict[str, Any], name: str = "go") -> None:
        """What a script waits for."""
        (self.folder(job) / name).touch()

    def nothing_is_left(self, job: dict[str, Any]) -> None:
        wait_for(lambda: not any(map(is_alive, self.pids(job))))


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def new(where: Server | None = None, home: Path | None = None, model: str | None = None) -> Desk:
        name = f"model-{tmp_path.name}"  # a model of the test's own: others' jobs are not taken
        made.append(Desk(where or server, home or tmp_path / f"worker{len(made)}", model or name))
        return made[-1]

    yield new
    for one in made:
        one.stop()
