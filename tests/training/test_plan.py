"""What a job asks for, as arguments of TRL."""

from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.training.plan import TrainingOptions, make_plan, read_more

NAMES = "batch_size learning_rate_multiplier n_epochs eval_interval eval_samples compute_multiplier".split()
AUTO = dict.fromkeys(NAMES, "auto")


def job(**asked: Any) -> dict[str, Any]:
    more = {name: asked.pop(name) for name in ("response_format",) if name in asked}
    hyperparameters = {**AUTO, "reasoning_effort": "default", **asked}
    return {"seed": 7, "method": {"reinforcement": {"hyperparameters": hyperparameters, **more}}}


def test_what_is_not_said_is_as_in_the_bundle() -> None:
    arguments, remarks = make_plan(job(), 100, 0, TrainingOptions())
    assert remarks == []
    assert (arguments["num_train_epochs"], arguments["learning_rate"], arguments["seed"]) == (1.0, 1e-6, 7)
    assert (arguments["num_generations"], arguments["gradient_accumulation_steps"]) == (8, 8)
    assert (arguments["eval_strategy"], arguments["save_steps"]) == ("no", 10)


def test_what_is_said_counts() -> None:
    asked = job(batch_size=4, learning_rate_multiplier=3.0, n_epochs=2, eval_interval=5, eval_samples=4)
    arguments, _ = make_plan(asked, 100, 9, TrainingOptions(64, 25, {"learning_rate": 0.5, "bf16": True}))
    assert arguments["learning_rate"] == 1.5
    assert (arguments["gradient_accumulation_steps"], arguments["num_train_epochs"]) == (4, 2.0)
    assert (arguments["eval_strategy"], arguments["eval_steps"], arguments["num_generations_eval"]) == ("steps", 5, 4)
    assert (arguments["max_completion_length"], arguments["save_steps"], arguments["bf16"]) == (64, 25, True)
    assert make_plan(job(compute_multiplier=0.01), 9, 0, TrainingOptions()).arguments["num_generations"] == 2


def test_what_cannot_be_had_is_told() -> None:
    asked = job(batch_size=8, reasoning_effort="high", response_format={"type": "json_object"})
    arguments, remarks = make_plan({**asked, "integrations": [{"type": "wandb"}]}, 3, 0, TrainingOptions())
    assert arguments["gradient_accumulation_steps"] == 3
    assert [remark.split()[0] for remark in remarks] == [
        "batch_size",
        "response_format",
        "reasoning_effort",
        "integrations",
    ]
    assert make_plan(job(), 3, 0, TrainingOptions()).remarks == []


@pytest.mark.parametrize(
    ("text", "words"), [("{", "not JSON"), ("[]", "It takes an object"), ('{"seed": 1}', "seed is not for it")]
)
def test_wrong_arguments_are_told(text: str, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        read_more(text)
    assert read_more('{"beta": 0.1}') == {"beta": 0.1}
