"""GRPO while a sandbox is killed, a judge dies and the disk is full; prints what each step came to as JSON:
python -m tests.training.real.faults MODEL DISK. FAIRMARK_HOME is on DISK, which is a small one."""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SLOW = (
    "import time\n\ndef grade(sample, item):\n    time.sleep(0.02)\n    return sample['output_text'].count('e') / 8\n"
)
GRADER = {
    "type": "multi",
    "name": "both",
    "graders": {
        "code": {"type": "python", "name": "code", "source": SLOW},
        "judge": {
            "type": "score_model",
            "name": "judge",
            "model": "judge",
            "input": [{"role": "user", "content": "How good is {{ sample.output_text }}?"}],
            "range": [0, 1],
        },
    },
    "calculate_output": "0.5 * code + 0.5 * judge",
}
KILLED, DEAD, FULL, STEPS = 3, 5, 7, 9


class HalfJudge(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": '{"steps": [], "result": 0.5}'}
        usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"id": "c", "model": "judge", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the library's name
        pass


class Judge:
    """A judge that can be switched off and on, at the same address."""

    def __init__(self) -> None:
        self.port = 0
        self.on()

    def on(self) -> None:
        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), HalfJudge)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def off(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def sandboxes(pid: int) -> list[int]:
    """All processes that descend from one."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *sandboxes(child)]
    return found


def kill_sandboxes() -> None:
    for pid in sandboxes(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 65536)


def main() -> None:
    model, disk, judge = sys.argv[1], Path(sys.argv[2]), Judge()
    os.environ |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{judge.port}/v1", "OPENAI_API_KEY": "none"}
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from fairmark.trainers import trl

    reward = trl.reward(GRADER, deadline_s=60)
    steps: list[dict[str, Any]] = []

    class Disturbed:
        __name__ = "both"

        def __call__(self, **columns: Any) -> list[float | None]:
            number = len(steps) + 1
            if number == KILLED:
                threading.Timer(0.1, kill_sandboxes).start()
            if number == DEAD:
                judge.off()
            if number == FULL:
                fill(disk)
            begun = time.monotonic()
            rewards = reward(**columns)
            if number == DEAD:
                judge.on()
            if number == FULL:
                (disk / "ballast").unlink()
            masked = sum(value is None for value in rewards)
            steps.append({"rows": len(rewards), "masked": masked, "seconds": time.monotonic() - begun})
            return rewards

    config = GRPOConfig(
        output_dir="out",
        learning_rate=1e-3,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=8,
        max_steps=STEPS,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    )
    rows = [{"prompt": [{"role": "user", "content": f"{number} ?"}]} for number in range(8)]
    trainer = GRPOTrainer(model=model, reward_funcs=Disturbed(), args=config, train_dataset=Dataset.from_list(rows))
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    print(json.dumps({"steps": steps, "losses": losses}))  # noqa: T201  # that is what it is for


if __name__ == "__main__":
    main()
