"""A job for real: OpenAI's own client creates it, a worker trains a tiny model on a CPU and serves it, a run samples
from it. The process that trains is killed on the way."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Server, wait_for
from tests.server.test_finetuning import JOBS, events
from tests.training.real.environment import PYTHON, ROOT, environment

pytestmark = pytest.mark.thorough
GRPO = {"learning_rate": 0.02, "per_device_train_batch_size": 32, "gradient_accumulation_steps": 1}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class RealWorker:
    def __init__(self, server: Server, home: Path, model: Path, port: int) -> None:
        options = [
            "--max-completion-length",
            "8",
            "--checkpoint-every",
            "2",
            "--lease",
            "4",
            "--grpo",
            json.dumps(GRPO),
        ]
        self.home = home
        with (home.parent / f"{home.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(str(PYTHON), "-m", "fairmark", "train", "worker", "--server", server.url),
                    *("--model", f"tiny={model}", "--home", str(home), "--serve", str(port), *options),
                    *("--grpo", json.dumps(GRPO)),
                ],
                env=environment(FAIRMARK_HOME=str(home)),
                stderr=log,
            )

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        try:
            return self.process.wait(90)
        finally:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("real")
    (folder / "fairmark.toml").write_text(
        f'[providers.trained]\nbase_url = "http://127.0.0.1:{port}/v1"\n\n[models."ft:*"]\nprovider = "trained"\n'
    )
    server = Server(folder / "home")
    yield server
    server.stop()


def trainer_pid(worker: RealWorker) -> int | None:
    """The process that trains for this worker."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if b"fairmark.training.grpo" in line and str(worker.home).encode() in line:
            return int(path.parent.name)
    return None


def test_openais_client_creates_a_job_and_a_run_samples_from_what_was_trained(
    real_server: Server, tiny: Path, port: int, tmp_path: Path
) -> None:
    worker = RealWorker(real_server, tmp_path / "worker", tiny, port)
    script = [str(ROOT / ".venv-clients" / "openai" / "bin" / "python"), "-m", "tests.training.real.client"]
    try:
        client = subprocess.Popen(
            script,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "OPENAI_BASE_URL": f"{real_server.url}/v1", "OPENAI_API_KEY": "none"},
        )
        job = {"id": ""}

        def has_begun() -> bool:
            listed = real_server.get(JOBS).json()["data"]
            job.update(listed[0] if listed else {})
            return bool(listed) and any("Checkpoint created" in event["message"] for event in events(real_server, job))

        wait_for(has_begun, 200)
        trainer = trainer_pid(worker)
        if trainer is not None:
            os.kill(trainer, signal.SIGKILL)  # the job goes on all the same
        try:
            said, _ = client.communicate(timeout=250)
        except subprocess.TimeoutExpired:
            client.kill()
            said, _ = client.communicate()
        assert client.returncode == 0, (said, [event["message"] for event in events(real_server, job)])
        facts: dict[str, Any] = json.loads(said.splitlines()[-1])
    finally:
        assert worker.stop() == 0
    assert (facts["status"], facts["error"]) == ("succeeded", None)
    assert facts["model"].startswith("ft:tiny:letters:")
    assert facts["trained_tokens"] > 0
    assert facts["steps"][-1] == 12
    assert sorted(set(facts["steps"])) == list(range(1, 13))
    assert facts["checkpoint"] == f"{facts['model']}:ckpt-step-12"
    assert facts["validated"]
    assert facts["parts"] == ["many", "any"]
    assert facts["last_reward"] > facts["first_reward"]
    assert facts["run"] == ["completed", 2, 0]
    assert facts["sampled_model"].startswith(facts["model"])
    told = "\n".join(event["message"] for event in events(real_server, job))
    assert trainer is None or "Training goes on from the checkpoint of step" in told
    wait_for(lambda: trainer_pid(worker) is None)
