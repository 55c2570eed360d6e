"""GRPO, RLOO and the rollout process of AsyncGRPO with one grader, a quarter of whose rows fail on purpose; prints what
was seen as JSON: python -m tests.training.real.learning MODEL"""

import itertools
import json
import math
import random
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from fairmark.trainers import trl
from tests.training.real.rewarding import GRADER
from tests.training.real.tiny import TOKENS

STEPS = 16
ROWS = [{"prompt": [{"role": "user", "content": f"{number} ?"}], "n": number} for number in range(8)]


def trained(config: Any, trainer: Any, model: str) -> dict[str, Any]:
    """What the trainer logged, the advantages of the rows that failed and of those that did not, and their rewards."""
    reward = trl.reward(GRADER)
    advantages: dict[str, list[float]] = {"failed": [], "graded": []}
    rewarded: dict[str, list[bool]] = {"failed": [], "graded": []}

    class Looking(trainer):  # type: ignore[misc]  # one of two classes
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            made = super()._generate_and_score_completions(inputs)
            for row, advantage in zip(inputs, made["advantages"].tolist(), strict=True):
                advantages[kind_of(row["n"])].append(advantage)
            return made

        def _calculate_rewards(self, inputs: Any, *more: Any) -> Any:
            rewards = super()._calculate_rewards(inputs, *more)
            for row, (value,) in zip(inputs, rewards.tolist(), strict=True):
                rewarded[kind_of(row["n"])].append(not math.isnan(value))
            return rewards

    arguments = config(
        output_dir="out",
        learning_rate=2e-2,
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
        seed=3,
    )
    learning = Looking(model=model, reward_funcs=reward, args=arguments, train_dataset=Dataset.from_list(ROWS))
    learning.train()
    logs = [entry for entry in learning.state.log_history if "reward" in entry]
    return {
        "rewards": [entry["reward"] for entry in logs],
        "logged": sorted(name for name in logs[0] if name.startswith("both/")),
        "failed_share": [entry["both/failed"] for entry in logs],
        "advantages": advantages,
        "rewarded": {kind: sorted(set(seen)) for kind, seen in rewarded.items()},
    }


def kind_of(number: int) -> str:
    return "failed" if number % 4 == 0 else "graded"


class Sampler(BaseHTTPRequestHandler):
    """Answers as vLLM does, with random tokens, of which in every second answer one is what the grader looks for."""

    turns = itertools.count()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        ids = [random.randrange(3, len(TOKENS)) for _ in range(8)]
        ids[0] = TOKENS.index("e" if next(self.turns) % 2 else "a")
        choice = {"token_ids": ids, "logprobs": {"token_logprobs": [-1.0] * 8}}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the library's name
        pass


def rolled_out(model: str) -> dict[str, Any]:
    """Samples that came out of the process that AsyncGRPO spawns, whose vLLM is the sampler above."""
    from trl.experimental.async_grpo import async_rollout_worker

    async_rollout_worker.is_vllm_available = lambda: True
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sampler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tokenizer = AutoTokenizer.from_pretrained(model)
    # What a model of the hub brings along: how its answers are read.
    content = {"close_pattern": "<eos>|$", "content": "text"}
    read = {"defaults": {"role": "assistant"}, "start_anchor": "a:", "fields": {"content": content}}
    tokenizer.response_schema = tokenizer.response_template = read
    worker = async_rollout_worker.AsyncRolloutWorker(
        model_name=model,
        dataset=Dataset.from_list(ROWS),
        reward_funcs=[trl.reward(GRADER)],
        processing_class=tokenizer,
        eos_token_ids=[1],
        num_generations=4,
        max_inflight_tasks=8,
        max_tokens=8,
        vllm_server_url=f"http://127.0.0.1:{server.server_address[1]}",
        queue_maxsize=64,
    )
    worker.start()
    seen: dict[str, list[list[float]]] = {"failed": [], "graded": []}
    try:
        while min(len(samples) for samples in seen.values()) < 8:
            sample = worker.rollout_buffer.get(timeout=120)
            number = int(sample.prompt[0]["content"].split()[0])
            facts = [sample.advantage, sample.metrics["reward"]]
            seen[kind_of(number)].append(facts)
    finally:
        worker.stop()
        server.shutdown()
    return {
        "failed": [advantage for advantage, _ in seen["failed"]],
        "failed_have_no_reward": all(reward != reward for _, reward in seen["failed"]),  # NaN
        "graded": seen["graded"],
    }


if __name__ == "__main__":
    folder = sys.argv[1]
    facts = {"grpo": trained(GRPOConfig, GRPOTrainer, folder), "rloo": trained(RLOOConfig, RLOOTrainer, folder)}
    facts["asynchronous"] = rolled_out(folder)
    print(json.dumps(facts))  # noqa: T201  # that is what it is for
