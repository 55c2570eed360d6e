"""Trains a model to answer sums, with a grader as the reward: python train.py MODEL

MODEL is a folder, or a model of the hub. docs/reward-in-grpo.md goes through it line by line.
"""

import argparse
from pathlib import Path

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from fairmark.trainers import trl

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a model to answer sums, with a grader as the reward.")
    parser.add_argument("model", help="a folder, or a model of the hub")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=1e-6)
    parser.add_argument("--max-completion-length", type=int, default=64)
    parser.add_argument("--output", default="trained")
    arguments = parser.parse_args()

    # 1. Rows: a chat for the model, and whatever the grader asks for as columns.
    rows = [
        {"prompt": [{"role": "user", "content": f"{one}+{other}=?"}], "answer": str(one + other)}
        for one in range(10)
        for other in range(10)
    ]

    # 2. The grader that graded the eval is the reward. A wrong one stops here, before anything is generated.
    reward = trl.reward(HERE / "grader.json")

    # 3. TRL as ever.
    has_gpu = torch.cuda.is_available()
    trainer = GRPOTrainer(
        model=arguments.model,
        reward_funcs=reward,
        args=GRPOConfig(
            output_dir=arguments.output,
            max_steps=arguments.steps,
            learning_rate=arguments.learning_rate,
            max_completion_length=arguments.max_completion_length,
            num_generations=8,
            per_device_train_batch_size=32,
            logging_steps=1,
            report_to="none",
            use_cpu=not has_gpu,
            bf16=has_gpu,
        ),
        train_dataset=Dataset.from_list(rows),
    )
    trainer.train()
    trainer.save_model(arguments.output)

    # 4. What was logged: the reward, each part of the grader, and the share of rows that could not be graded.
    logs = [entry for entry in trainer.state.log_history if "reward" in entry]
    part = max(1, len(logs) // 4)
    for name in ("reward", "sums/right", "sums/digits", "sums/failed"):
        first = sum(entry[name] for entry in logs[:part]) / part
        last = sum(entry[name] for entry in logs[-part:]) / part
        print(f"{name}: {first:.3f} at first, {last:.3f} at last")  # noqa: T201  # that is what it is for


if __name__ == "__main__":
    main()
