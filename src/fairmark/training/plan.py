"""What a job asks for as arguments of TRL's GRPOConfig, and what of it cannot be had. It knows no TRL."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData

BASE_LEARNING_RATE = 1e-6
BASE_GENERATIONS = 8
BATCH_SIZE, EVAL_INTERVAL, EVAL_SAMPLES = 8, 10, 2
"""What `auto` is."""
KEPT_CHECKPOINTS = 3
OURS = frozenset(
    "output_dir resume_from_checkpoint seed num_train_epochs max_steps eval_strategy eval_steps save_strategy "
    "save_steps save_total_limit logging_strategy logging_steps remove_unused_columns overwrite_output_dir "
    "load_best_model_at_end push_to_hub do_train do_eval".split()
)
"""Arguments that a worker needs for itself, or that a job decides."""


class TrainingOptions(NamedTuple):
    """What whoever starts a worker decides for all its jobs."""

    max_completion_length: int = 1024
    checkpoint_every: int = 10
    more: Mapping[str, Any] = {}
    """Further arguments of GRPOConfig."""
    ignores_tools: bool = False


class TrainingPlan(NamedTuple):
    arguments: dict[str, Any]
    remarks: list[str]
    """What is done otherwise than was asked."""


def read_more(text: str) -> dict[str, Any]:
    """Further arguments of GRPOConfig, from JSON. Raises InvalidData."""
    try:
        more = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise InvalidData(f"--grpo: not JSON: {error}.") from None
    if not isinstance(more, dict):
        raise InvalidData(f"--grpo: found {jsontext.describe(more)}. It takes an object with arguments of GRPOConfig.")
    for name in more:
        if name in OURS:
            raise InvalidData(f"--grpo: {name} is not for it: the worker or the job decides it.")
    return more


def make_plan(job: Mapping[str, Any], rows: int, valid_rows: int, options: TrainingOptions) -> TrainingPlan:
    """`rows`, `valid_rows`: how many there are."""
    reinforcement = job["method"]["reinforcement"]
    asked = reinforcement["hyperparameters"]
    remarks = []

    def chosen(name: str, default: Any) -> Any:
        return default if asked[name] == "auto" else asked[name]

    generations = max(2, round(BASE_GENERATIONS * chosen("compute_multiplier", 1)))
    eval_generations = max(2, int(chosen("eval_samples", EVAL_SAMPLES)))
    batch_size = int(chosen("batch_size", BATCH_SIZE))
    if batch_size > rows:  # TRL drops a batch that is not full
        if asked["batch_size"] != "auto":
            remarks.append(f"batch_size is {rows}, for there are no more rows.")
        batch_size = rows
    if reinforcement.get("response_format"):
        remarks.append("response_format is not enforced while sampling: TRL has no such option.")
    if asked.get("reasoning_effort", "default") != "default":
        remarks.append("reasoning_effort is left to the model's chat template: TRL has no such option.")
    if job.get("integrations"):
        remarks.append("integrations are not told anything by this worker: follow the job's events.")
    arguments: dict[str, Any] = {
        "num_train_epochs": float(chosen("n_epochs", 1)),
        "learning_rate": BASE_LEARNING_RATE,
        # A device takes the completions of one prompt at a time; a step has batch_size prompts.
        "num_generations": generations,
        "per_device_train_batch_size": generations,
        "gradient_accumulation_steps": batch_size,
        "num_generations_eval": eval_generations,
        "per_device_eval_batch_size": eval_generations,
        "eval_strategy": "steps" if valid_rows else "no",
        "eval_steps": int(chosen("eval_interval", EVAL_INTERVAL)),
        "max_completion_length": options.max_completion_length,
        "seed": job["seed"],
        "logging_strategy": "steps",
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": options.checkpoint_every,
        "save_total_limit": KEPT_CHECKPOINTS,
        "report_to": "none",
        "disable_tqdm": True,
        **options.more,
    }
    arguments["learning_rate"] *= float(chosen("learning_rate_multiplier", 1))
    return TrainingPlan(arguments, remarks)
