"""An openai package, newest or oldest: the whole life of reinforcement jobs, synchronous and asynchronous."""
# mypy: disable-error-code="import-not-found"

import asyncio
import io
import json
import time
import zipfile
from typing import Any

import openai
from openai import AsyncOpenAI, OpenAI

from tests.clients.scripts.facts import caught, name_of, tell

client = OpenAI()
jobs = client.fine_tuning.jobs
EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{sample.output_text}}",
    "reference": "{{item.reference_answer}}",
    "operation": "eq",
}
CAPITALS = {"France?": ("Paris", "Paris"), "Italy?": ("Milan", "Rome")}
SLOW = {
    "type": "python",
    "name": "slow",
    "source": "import time\ndef grade(sample, item):\n    time.sleep(20)\n    return 1.0\n",
}


def lines() -> bytes:
    rows = [
        {
            "messages": [{"role": "user", "content": question}, {"role": "assistant", "content": said}],
            "reference_answer": right,
        }
        for question, (said, right) in CAPITALS.items()
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def method(grader: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "reinforcement", "reinforcement": {"grader": grader, **more}}


def finished(job_id: str) -> Any:
    until = time.monotonic() + 120
    while (job := jobs.retrieve(job_id)).status not in ("succeeded", "failed", "cancelled"):
        assert time.monotonic() < until, job
        time.sleep(0.1)
    return job


file = client.files.create(file=("train.jsonl", lines()), purpose="fine-tune")
created = jobs.create(
    model="o4-mini-2025-04-16",
    training_file=file.id,
    validation_file=file.id,
    suffix="capitals",
    seed=42,
    method=method(EXACT, hyperparameters={"n_epochs": 2, "reasoning_effort": "medium"}),
    integrations=[{"type": "wandb", "wandb": {"project": "capitals", "tags": ["a"]}}],
    metadata={"team": "geography"},
)
done = finished(created.id)
events = list(jobs.list_events(created.id, limit=3))
bundle = client.files.retrieve(done.result_files[0])
with zipfile.ZipFile(io.BytesIO(client.files.content(bundle.id).read())) as opened:
    inside = sorted(opened.namelist())
more = [jobs.create(model="m", training_file=file.id, method=method(SLOW)) for _ in range(2)]
cancelled = jobs.cancel(more[0].id)
eval_id = done.to_dict()["eval_id"]


async def asynchronous() -> list[str]:
    async with AsyncOpenAI() as other:
        return [job.id async for job in other.fine_tuning.jobs.list(limit=2)]


facts = {
    "version": openai.__version__,
    "class": name_of(created),
    "created": created.to_dict(),
    "done": done.to_dict(),
    "method": name_of(done.method.reinforcement.grader),
    "error": [done.error.code, done.error.message, done.error.param],
    "events": [event.to_dict() for event in events],
    "event_class": name_of(events[0]),
    "checkpoints": list(jobs.checkpoints.list(created.id)),
    "bundle": [bundle.purpose, inside],
    "runs": [run.result_counts.to_dict() for run in client.evals.runs.list(eval_id)],
    "cancelled": cancelled.status,
    "all": [created.id, *(job.id for job in more)],
    "listed": [job.id for job in jobs.list(limit=1)],
    "listed_asynchronously": asyncio.run(asynchronous()),
    "of_team": [job.id for job in jobs.list(metadata={"team": "geography"})],
    "without_metadata": [job.id for job in jobs.list(extra_query={"metadata": "null"})],
    "supervised": caught(lambda: jobs.create(model="m", training_file=file.id)),
    "unknown_file": caught(lambda: jobs.create(model="m", training_file="file-none", method=method(EXACT))),
    "unknown_job": caught(lambda: jobs.retrieve("ftjob-none")),
}
facts["paused"] = [jobs.pause(more[1].id).to_dict()["paused"], jobs.resume(more[1].id).to_dict()["paused"]]
jobs.cancel(more[1].id)
tell(facts)
