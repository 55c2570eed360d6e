"""The baseline: the answers that rows bring along, graded by an ordinary eval of the job's own, a run for each file.

Everything here has an id that follows from the job's, so that whoever does it again finds what is there.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.evals.criteria import DEFAULT_THRESHOLD, new_criteria
from fairmark.finetuning.aside import Aside, Stopped, WorkStopped, write_file
from fairmark.finetuning.rows import TrainingRow, read_rows
from fairmark.graders import find
from fairmark.parse import parse
from fairmark.settings import settings
from fairmark.store import Eval, Job, Run, Store, ids

PARTS = {"training_file": "train", "validation_file": "valid"}
ANSWERS = {"training_file": "answers_file", "validation_file": "validation_answers_file"}
_ROW_SCHEMA = {
    "type": "object",
    "properties": {"item": {"type": "object"}, "sample": {}},
    "required": ["item", "sample"],
}
_PIECE_BYTES = 1_000_000


def run_id(job: Job, part: str) -> str:
    return ids.made_by(job.id, "evalrun_", part)


def run_ids(job: Job) -> list[str]:
    return [run_id(job, part) for part in PARTS.values()]


def eval_id(job: Job) -> str:
    return ids.made_by(job.id, "eval_", "baseline")


def grader_of(job: Job) -> dict[str, Any]:
    grader: dict[str, Any] = job.body["method"]["reinforcement"]["grader"]
    return grader


async def make_eval(store: Store, job: Job) -> Eval:
    """The job's eval, made where it is not there yet."""
    known = await store.evals.get(job.project, eval_id(job))
    if known is not None:
        return known
    grader = grader_of(job)
    if find(grader["type"]).needs_threshold and grader.get("pass_threshold") is None:
        grader = {**grader, "pass_threshold": DEFAULT_THRESHOLD}  # a run has to say pass or fail, a job need not
    criteria = await new_criteria([grader], _nothing_to_expand)
    config = {"type": "custom", "schema": _ROW_SCHEMA}
    name, metadata = f"Baseline of {job.id}", {"fine_tuning_job_id": job.id}
    return await store.evals.create(job.project, name, metadata, config, criteria, eval_id(job))


async def _nothing_to_expand(grader: dict[str, Any]) -> dict[str, Any]:
    return grader


async def make_run(store: Store, aside: Aside, job: Job, part: str, rows: Path, answers: Path | None) -> Run:
    """The run over the rows of a file that have an answer, made where it is not there yet. Raises UnknownEval."""
    known = await store.runs.get(job.project, eval_id(job), run_id(job, part), with_source=False)
    if known is not None:
        return known
    file_id = ids.made_by(job.id, "file-", part)
    if await store.files.get(job.project, file_id) is None:
        path = store.files.content(file_id)
        written = await aside.run(job.project, lambda stopped: _write(path, rows, answers, stopped))
        name = f"{job.id}-{part}-baseline.jsonl"
        await store.files.create(job.project, file_id, name, "evals", written, None)
    creating = asyncio.ensure_future(
        store.runs.create(
            job.project,
            eval_id(job),
            f"Baseline, {part}",
            {"fine_tuning_job_id": job.id},
            {"type": "jsonl", "source": {"type": "file_id", "id": file_id}},
            None,
            None,
            {"deadline_s": settings().job_baseline_s},
            run_id=run_id(job, part),
        )
    )
    try:
        return await asyncio.shield(creating)
    except asyncio.CancelledError:
        await asyncio.wait([creating])  # so that whoever looks for the run of a cancelled job finds it
        raise


def _write(path: Path, rows: Path, answers: Path | None, stopped: Stopped) -> int:
    def fill(write: Callable[[bytes], None]) -> None:
        for piece in _pieces(rows, answers, stopped):
            write(piece)

    return write_file(path, fill)


def _pieces(rows: Path, answers: Path | None, stopped: Stopped) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for row in read_rows(rows, answers):
        if stopped():
            raise WorkStopped
        if isinstance(row, TrainingRow) and row.answer is not None:
            gathered.append(jsontext.encode({"item": row.item, "sample": row.answer}) + b"\n")
            size += len(gathered[-1])
        if size >= _PIECE_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


class BaselineFigures(NamedTuple):
    """What a run of the baseline came to."""

    run: Run
    graded: int
    mean: float | None
    """Over the rows that were graded; None without any: there is no reward then, not a reward of 0."""
    part_means: dict[str, float]
    """By the key of the grader inside a multi."""


async def measure(store: Store, run: Run) -> BaselineFigures:
    total = 0.0
    graded = 0
    sums: dict[str, float] = {}
    async for items in store.rows.stream(run):
        for score, parts in await asyncio.to_thread(_scores, [item.body for item in items]):
            graded += 1
            total += score
            for key, value in parts.items():
                sums[key] = sums.get(key, 0.0) + value
    mean = total / graded if graded else None
    return BaselineFigures(run, graded, mean, {key: value / graded for key, value in sums.items()})


def _scores(bodies: list[bytes]) -> list[tuple[float, dict[str, float]]]:
    results = [jsontext.decode(body)["results"][0] for body in bodies]
    return [(result["score"], result["sub_rewards"]) for result in results if result["status"] == "graded"]


def metrics(job: Job, measured: dict[str, BaselineFigures]) -> dict[str, Any]:
    """The data of the event for step 0, by `train` and `valid`. What nobody knows before training is null."""
    train, valid = measured.get("train"), measured.get("valid")
    means = {"train_reward_mean": train and train.mean, "valid_reward_mean": valid and valid.mean}
    return {
        "step": 0,
        "total_steps": None,
        "train_mean_reward": means["train_reward_mean"],
        "full_valid_mean_reward": means["valid_reward_mean"],
        "full_valid_mean_parse_error": None,
        "mean_unresponsive_rewards": None,
        "reasoning_tokens_mean": None,
        "completion_tokens_mean": None,
        "scores": {**means, "graders": list(_by_grader(job, train, valid))},
        "model_graders_token_usage": _usage(train, valid),
        "baseline": {part: _counts(measures) for part, measures in measured.items()},
    }


def _by_grader(job: Job, train: BaselineFigures | None, valid: BaselineFigures | None) -> Iterator[dict[str, Any]]:
    spec = parse(grader_of(job))
    for key, child in spec.children.items():
        means = {
            "train_reward_mean": train and train.part_means.get(key),
            "valid_reward_mean": valid and valid.part_means.get(key),
        }
        yield {"name": child.name, "type": child.type, **means}
    if not spec.children:
        means = {"train_reward_mean": train and train.mean, "valid_reward_mean": valid and valid.mean}
        yield {"name": spec.name, "type": spec.type, **means}


def _usage(train: BaselineFigures | None, valid: BaselineFigures | None) -> dict[str, dict[str, int]]:
    usage: dict[str, dict[str, int]] = {}
    for prefix, measured in (("train", train), ("eval", valid)):
        for model, (_, prompt, completion, _, cached) in (measured.run.usage if measured else {}).items():
            counts = usage.setdefault(model, {})
            tokens = {"prompt": prompt, "completion": completion, "cached": cached}
            counts |= {f"{prefix}_{name}_tokens": count for name, count in tokens.items()}
    return usage


def _counts(measured: BaselineFigures) -> dict[str, Any]:
    """How much stands behind a mean."""
    run = measured.run
    return {
        "run_id": run.id,
        "rows": run.passed + run.failed + run.errored + run.skipped,
        "graded": measured.graded,
        "errored": run.errored,
        "skipped": run.skipped,
    }
