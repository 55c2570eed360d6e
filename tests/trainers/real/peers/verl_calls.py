"""veRL's own reward managers load our function by their configuration and call it. Prints what came of it as JSON."""
# mypy: disable-error-code="import-not-found, misc, no-any-unimported, untyped-decorator, no-any-return, arg-type"

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker, migrate_legacy_reward_impl
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.workers.reward_manager import get_reward_manager_cls

from tests.trainers.real.peers.grader import both, written
from tests.trainers.real.peers.tokens import END, WORDS, tokenizer

ANSWERS = ["Paris", "Rome", "fail"]
BY_PATH = "pkg://fairmark.trainers.verl"


def batch(answers: list[str]) -> DataProto:
    """As a rollout gives it."""
    count = len(answers)
    tensors = {
        "prompts": torch.tensor([[7, 8]] * count),
        "responses": torch.tensor([[WORDS.index(answer), END] for answer in answers]),
        "attention_mask": torch.ones(count, 4, dtype=torch.long),
    }
    columns = {
        "data_source": ["capitals"] * count,
        "reward_model": [{"ground_truth": "Paris"} for _ in answers],
        "extra_info": [{"index": index, "array": numpy.arange(2)} for index in range(count)],
    }
    return DataProto(
        batch=TensorDict(tensors, batch_size=count),
        non_tensor_batch={name: numpy.array(values, dtype=object) for name, values in columns.items()},
    )


class Calls:
    def __init__(self, folder: Path) -> None:
        self.tokenizer = tokenizer(folder / "tokenizer")
        self.grader = str(written(folder, "{{item.ground_truth}}"))
        self.own_file = folder / "my_reward.py"
        self.own_file.write_text(
            f"from fairmark.trainers import verl\ncompute_score = verl.reward({self.grader!r})\n"
            f"compute_score_sync = verl.reward({self.grader!r}, awaited=False, on_error='zero')\n"
        )
        self.folder = folder

    def config(self, manager: str, path: str, name: str = "compute_score", **reward_kwargs: Any) -> Any:
        function = {"path": path, "name": name, "reward_kwargs": reward_kwargs}
        return OmegaConf.create({
            "reward": {
                "num_workers": 1,
                "custom_reward_function": function,
                "reward_manager": {"source": "register", "name": manager},
                "reward_model": {"enable": False},
            },
            "actor_rollout_ref": {"model": {"tokenizer_path": None, "path": str(self.folder / "tokenizer")}},
            "trainer": {"experiment_name": "capitals"},
        })  # fmt: skip

    def of_loop(self, config: Any, answers: list[str]) -> list[Any]:
        """What the reward loop's manager makes of each answer: its score and what it logs, or what was raised."""
        rows = batch(answers)

        async def score() -> list[Any]:
            worker = RewardLoopWorker(config)
            each = (worker.compute_score(rows[index : index + 1]) for index in range(len(answers)))
            return await asyncio.gather(*each, return_exceptions=True)

        return [told(outcome) for outcome in asyncio.run(score())]

    def of_batch(self, config: Any, answers: list[str]) -> list[Any]:
        async def score() -> list[Any]:
            return await RewardLoopWorker(config).compute_score_batch(batch(answers))

        return [told(outcome) for outcome in asyncio.run(score())]

    def of_older(self, manager: str) -> dict[str, Any]:
        """The managers before the reward loop: the whole batch, in the trainer's own thread."""
        function = get_custom_reward_fn(self.config(manager, str(self.own_file), "compute_score_sync"))
        made = get_reward_manager_cls(manager)(tokenizer=self.tokenizer, num_examine=0, compute_score=function)
        answer = made(batch(ANSWERS), return_dict=True)
        return {
            "last_tokens": answer["reward_tensor"][:, -1].tolist(),
            "failed": answer["reward_extra_info"]["both_failed"],
        }


def told(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        return f"{type(outcome).__name__}: {str(outcome).splitlines()[-1]}"
    return {"score": outcome["reward_score"], "logs": outcome["reward_extra_info"]}


def migrated(calls: Calls) -> dict[str, Any]:
    """The older key of the configuration, as veRL moves it."""
    config = calls.config("naive", None)
    nothing = dict.fromkeys(["num_workers", "reward_manager", "reward_loop_source"])
    more = {
        "reward_model": {**nothing, "model": {"path": None}, "rollout": {}},
        "custom_reward_function": {"path": BY_PATH, "name": "compute_score", "reward_kwargs": {"grader": calls.grader}},
        "sandbox_fusion": {"url": None},
    }
    moved = migrate_legacy_reward_impl(OmegaConf.merge(config, more))
    return calls.of_loop(moved, ["Paris"])[0]


def main(folder: Path) -> dict[str, Any]:
    calls = Calls(folder)
    zero = {"grader": calls.grader, "on_error": "zero"}
    inline = {"grader": both("{{item.label}}"), "item": {"label": "ground_truth"}, "on_error": "zero"}
    many = calls.of_batch(calls.config("naive", BY_PATH, **zero), ["Paris", "Rome", "fail", "Paris"] * 256)
    return {
        "by_path": {
            name: calls.of_loop(calls.config(name, BY_PATH, grader=calls.grader), ANSWERS)
            for name in ("naive", "dapo", "gdpo")
        },
        "own_file": calls.of_loop(calls.config("naive", str(calls.own_file)), ANSWERS),
        "rate_limited": calls.of_loop(calls.config("rate_limited", BY_PATH, **zero), ANSWERS),
        "inline": calls.of_loop(calls.config("naive", BY_PATH, **inline), ANSWERS),
        "bad_luck": calls.of_batch(calls.config("naive", BY_PATH, **zero, deadline_s=2), ["Paris", "loop", "die"]),
        "many": [len(many), sum(outcome["score"] for outcome in many), sum(row["logs"]["both_failed"] for row in many)],
        "no_grader": calls.of_loop(calls.config("naive", BY_PATH), ["Paris"]),
        "older": {name: calls.of_older(name) for name in ("naive", "dapo")},
        "older_key": migrated(calls),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
