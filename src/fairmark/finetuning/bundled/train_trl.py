"""Trains a model by this job's grader, with TRL's GRPOTrainer: python train_trl.py --model Qwen/Qwen3-0.6B

What the job asked for stands in job.json; README.md says what of it this script takes over, and how.
"""

import argparse
import json
import os
import sys
from typing import Any

import torch
from datasets import Dataset
from reward import HERE, load_reward, load_rows
from trl import GRPOConfig, GRPOTrainer
from trl import __version__ as trl_version

BASE_LEARNING_RATE = 1e-6
BASE_GENERATIONS = 8
MASKS_SINCE = (1, 6)
"""Since this version a reward of None leaves a completion out; before, TRL takes it for 0."""


def read_arguments(job: dict[str, Any]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a model by this job's grader.")
    # A hosted model's name is no model that could be loaded here.
    hub_name = job["model"] if "/" in job["model"] else None
    parser.add_argument("--model", default=hub_name, required=hub_name is None, help="a model of the hub, or a folder")
    parser.add_argument("--output", default=job["id"], help="where checkpoints and the trained model go")
    parser.add_argument("--max-completion-length", type=int, default=1024, help="tokens")
    parser.add_argument("--ignore-tools", action="store_true", help="train although the model is offered no tools")
    return parser.parse_args()


def to_dataset(name: str, ignore_tools: bool) -> Dataset:
    """A column `prompt` for the trainer, and `row` with the whole item as JSON for the reward."""
    rows = []
    for number, row in enumerate(load_rows(name), 1):
        if row["item"].get("tools") and not ignore_tools:
            sys.exit(
                f"{name}, row {number}: it has tools, which this script does not offer to the model. See README.md."
            )
        prompt = [plain_message(message) for message in row["item"]["messages"]]
        rows.append({"prompt": prompt, "row": json.dumps(row["item"])})
    return Dataset.from_list(rows)


def plain_message(message: dict[str, Any]) -> dict[str, Any]:
    """With a text as its content: the parts of a list, joined. Images and sounds are no text, and stop it here."""
    content = message.get("content")
    if isinstance(content, list):
        other = [part for part in content if not isinstance(part, str) and not isinstance(part.get("text"), str)]
        if other:
            sys.exit(f"a message has a part of type {other[0].get('type')}. This script trains on texts only.")
        content = "".join(part if isinstance(part, str) else part["text"] for part in content)
    return {**message, "content": content or ""}


def to_config(job: dict[str, Any], arguments: argparse.Namespace, has_validation: bool) -> GRPOConfig:
    asked = job["method"]["reinforcement"]["hyperparameters"]

    def chosen(name: str, default: Any) -> Any:
        return default if asked[name] == "auto" else asked[name]

    generations = max(2, round(BASE_GENERATIONS * chosen("compute_multiplier", 1)))
    eval_generations = max(2, int(chosen("eval_samples", 2)))
    on_cpu = not torch.accelerator.is_available()
    return GRPOConfig(
        output_dir=arguments.output,
        seed=job["seed"],
        num_train_epochs=float(chosen("n_epochs", 1)),
        learning_rate=BASE_LEARNING_RATE * float(chosen("learning_rate_multiplier", 1)),
        # A device takes the completions of one prompt at a time; a step has batch_size prompts.
        num_generations=generations,
        per_device_train_batch_size=generations,
        gradient_accumulation_steps=int(chosen("batch_size", 8)),
        num_generations_eval=eval_generations,
        per_device_eval_batch_size=eval_generations,
        eval_strategy="steps" if has_validation else "no",
        eval_steps=int(chosen("eval_interval", 10)),
        max_completion_length=arguments.max_completion_length,
        logging_steps=1,
        use_cpu=on_cpu,
        bf16=False if on_cpu else None,  # None: as TRL would have it
        report_to=["wandb"] if job["integrations"] else "none",
    )


def main() -> None:
    job = json.loads((HERE / "job.json").read_text("utf-8"))
    arguments = read_arguments(job)
    if tuple(int(part) for part in trl_version.split(".")[:2]) < MASKS_SINCE:
        sys.exit(f"TRL {trl_version}: before 1.6 a row that could not be graded counts as 0. Install a newer one.")
    if job["integrations"]:
        os.environ.setdefault("WANDB_PROJECT", job["integrations"][0]["wandb"]["project"])
    has_validation = (HERE / "validation.jsonl").exists()
    trainer = GRPOTrainer(
        model=arguments.model,
        reward_funcs=load_reward(),
        args=to_config(job, arguments, has_validation),
        train_dataset=to_dataset("train.jsonl", arguments.ignore_tools),
        eval_dataset=to_dataset("validation.jsonl", arguments.ignore_tools) if has_validation else None,
    )
    trainer.train()
    trainer.save_model(arguments.output)


if __name__ == "__main__":
    main()
