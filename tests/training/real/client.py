"""OpenAI's own client: creates a job, follows it to its end, and samples from the model in a run of an eval."""

import json
import time
from typing import Any

from openai import OpenAI

from tests.training.real.rewarding import GRADER

WITHIN_S = 240


def main() -> None:
    client = OpenAI()
    rows = [{"messages": [{"role": "user", "content": f"{number} ?"}], "n": number} for number in range(8)]

    def upload(chosen: list[dict[str, Any]]) -> str:
        content = "".join(json.dumps(row) + "\n" for row in chosen).encode()
        file_id: str = client.files.create(file=("rows.jsonl", content), purpose="fine-tune").id
        return file_id

    files = {"training_file": upload(rows), "validation_file": upload(rows[1:4])}
    until = time.monotonic() + WITHIN_S
    asked = {"n_epochs": 6, "batch_size": 4, "eval_interval": 4}
    method = {"type": "reinforcement", "reinforcement": {"grader": GRADER, "hyperparameters": asked}}
    while True:  # until the worker is there
        job = client.fine_tuning.jobs.create(model="tiny", suffix="letters", seed=3, method=method, **files)
        while (job := client.fine_tuning.jobs.retrieve(job.id)).status not in ("succeeded", "failed", "cancelled"):
            assert time.monotonic() < until
            time.sleep(0.5)
        if job.error is None or job.error.code != "no_trainer":
            break
        assert time.monotonic() < until
    events = list(client.fine_tuning.jobs.list_events(job.id, limit=100))[::-1]
    steps: list[Any] = [event.data for event in events if event.type == "metrics"]
    facts: dict[str, Any] = {
        "status": job.status,
        "error": job.error and job.error.message,
        "model": job.fine_tuned_model,
        "trained_tokens": job.trained_tokens,
        "steps": [step["step"] for step in steps],
        "first_reward": sum(step["train_mean_reward"] for step in steps[:3]) / 3,
        "last_reward": sum(step["train_mean_reward"] for step in steps[-3:]) / 3,
        "parts": [part["name"] for part in steps[-1]["scores"]["graders"]],
        "validated": steps[-1]["full_valid_mean_reward"] is not None,
        "checkpoint": next(iter(client.fine_tuning.jobs.checkpoints.list(job.id))).fine_tuned_model_checkpoint,
    }
    evaluation = client.evals.create(
        name="sampled",
        data_source_config={"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True},
        testing_criteria=[
            {
                "type": "string_check",
                "name": "says something",
                "input": "{{ sample.output_text }}",
                "reference": "",
                "operation": "like",
            }
        ],
    )
    source = {
        "type": "completions",
        "model": job.fine_tuned_model,
        "source": {"type": "file_content", "content": [{"item": {"n": "1"}}, {"item": {"n": "2"}}]},
        "input_messages": {"type": "template", "template": [{"role": "user", "content": "{{ item.n }} ?"}]},
        "sampling_params": {"max_completion_tokens": 8},
    }
    run = client.evals.runs.create(evaluation.id, data_source=source)
    while (run := client.evals.runs.retrieve(run.id, eval_id=evaluation.id)).status in ("queued", "in_progress"):
        assert time.monotonic() < until
        time.sleep(0.5)
    items = list(client.evals.runs.output_items.list(run.id, eval_id=evaluation.id))
    facts["run"] = [run.status, run.result_counts.passed, run.result_counts.errored]
    facts["sampled_model"] = items[0].sample.model
    print(json.dumps(facts))  # noqa: T201  # that is what it is for


if __name__ == "__main__":
    main()
