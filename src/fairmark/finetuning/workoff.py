"""One job being worked off: its files are checked, its baseline graded, its bundle written. What is done is noted on
the job, and every part has an id that follows from the job's, so that whoever goes on does nothing twice."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from fairmark.evals.engine import Engine
from fairmark.finetuning.aside import Aside
from fairmark.finetuning.asking import GRADER
from fairmark.finetuning.baseline import (
    ANSWERS,
    PARTS,
    BaselineFigures,
    eval_id,
    grader_of,
    make_eval,
    make_run,
    measure,
    metrics,
    run_id,
    run_ids,
)
from fairmark.finetuning.bundle import PURPOSE, Rows, bundle_id, bundle_name, write_bundle
from fairmark.finetuning.paths import variables
from fairmark.finetuning.rows import Checked, check_file
from fairmark.parse import aparse
from fairmark.settings import settings
from fairmark.store import Job, NewEvent, Run, Store, UnknownEval

LOOK_FIRST_S, LOOK_LAST_S = 0.05, 1.0
"""How long until it is looked again whether a run has ended: longer each time."""
PROGRESS = "_progress"
"""What of the work is done; stands in a job's body and is not shown."""
_IN_BUNDLE = {"training_file": "train.jsonl", "validation_file": "validation.jsonl"}


class JobLost(Exception):  # a message to the engine, not an error
    """The job was cancelled or paused, or is another's."""


class JobFailed(Exception):  # a message to the engine, not an error
    """The job cannot go on: the `error` that it ends with, and what else there is to tell."""

    def __init__(self, code: str, message: str, param: str | None = None, told: list[NewEvent] | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "param": param}
        self.told = told or []


class JobWork:
    def __init__(self, store: Store, runs: Engine, aside: Aside, job: Job) -> None:
        self._store = store
        self._runs = runs
        self._aside = aside
        self._job = job

    async def do(self) -> None:
        """All that is not done yet. Raises JobLost, and StoreUnavailable where it has to be tried again."""
        try:
            await self._check()
            await self._grade_baseline()
            await self._write_bundle()
            await self._end()
        except JobFailed as failure:
            await self._fail(failure)
        except (JobLost, asyncio.CancelledError):
            await self._leave_no_run()
            raise

    async def fail(self, code: str, message: str) -> None:
        await self._fail(JobFailed(code, message))

    @property
    def _progress(self) -> dict[str, Any]:
        progress: dict[str, Any] = self._job.body.get(PROGRESS) or {}
        return progress

    async def _note(self, events: list[NewEvent], done: dict[str, Any] | None = None, **changes: Any) -> None:
        """What was done, all of it or nothing."""
        if done:
            changes[PROGRESS] = {**self._progress, **done}
        job = await self._store.jobs.advance(self._job, changes, events)
        if job is None:
            raise JobLost
        self._job = job

    async def _fail(self, failure: JobFailed) -> None:
        end = NewEvent(f"The job failed: {failure}", "error")
        changes = {"error": failure.error}
        if await self._store.jobs.advance(self._job, changes, [*failure.told, end], status="failed") is None:
            raise JobLost

    async def _files(self, name: str) -> tuple[Path, Path | None]:
        """Where the rows of a file are, and its answers."""
        paths: list[Path | None] = []
        for member in (name, ANSWERS[name]):
            file_id = self._job.body.get(member)
            path = None if file_id is None else await self._store.files.path(self._job.project, file_id)
            if file_id is not None and path is None:
                raise JobFailed("file_not_found", f"{member}: {file_id} is not there any more.", member)
            paths.append(path)
        rows, answers = paths
        assert rows is not None  # noqa: S101  # only asked of files that the job has
        return rows, answers

    @property
    def _given_files(self) -> list[str]:
        return [name for name in PARTS if self._job.body.get(name) is not None]

    # The files.

    async def _check(self) -> None:
        if "answers" in self._progress:
            return
        spec = await aparse(grader_of(self._job))
        asked = variables(spec)
        checked: dict[str, Checked] = {}
        for name in self._given_files:
            rows, answers = await self._files(name)
            try:
                checked[name] = await self._aside.run(self._job.project, partial(check_file, rows, answers, asked))
            except FileNotFoundError:
                raise JobFailed("file_not_found", f"{name}: it was deleted meanwhile.", name) from None
        _refuse_wrong(checked)
        counts = ", ".join(f"{_words(name)} has {_rows(file)}" for name, file in checked.items())
        events = [NewEvent(f"Files validated: the {counts}.")]
        events += [NewEvent(f"{GRADER}{warning.removeprefix('$')}", "warn") for warning in spec.all_warnings]
        shared = len(set.intersection(*(file.hashes for file in checked.values()))) if len(checked) > 1 else 0
        if shared:
            message = f"{shared:,} rows have the same messages in the training file and in the validation file."
            events.append(NewEvent(message, "warn"))
        await self._note(events, {"answers": {name: file.answers for name, file in checked.items()}})

    # The baseline.

    async def _grade_baseline(self) -> None:
        if "graded" in self._progress:
            return
        with_answers = [name for name in self._given_files if self._progress["answers"][name]]
        if not with_answers:
            message = "There is no baseline: no row brings an answer along, and there is no answers_file."
            await self._note([NewEvent(message)], {"graded": True})
            return
        if self._job.body.get("eval_id") is None:
            await make_eval(self._store, self._job)
            told = f"The baseline is graded by eval {eval_id(self._job)}."
            await self._note([NewEvent(told)], eval_id=eval_id(self._job))
        begun = {PARTS[name]: await self._run(name) for name in with_answers}
        measured = {}
        for part, begun_run in begun.items():
            run = await self._ended(begun_run)
            if run.status != "completed":
                reason = (run.error or {}).get("message", "somebody cancelled it.")
                raise JobFailed("baseline_failed", f"run {run.id} of the baseline is {run.status}: {reason}")
            measured[part] = await measure(self._store, run)
        events = [
            _told_ungraded(part, measures)
            for part, measures in measured.items()
            if measures.graded < _count(measures.run)
        ]
        means = {part: measures.mean for part, measures in measured.items() if measures.mean is not None}
        if means:
            shown = ", ".join(f"{part} mean reward={mean:.6g}" for part, mean in means.items())
            message = f"Step 0, the answers that came with the rows: {shown}. Nothing was trained."
            events.append(NewEvent(message, data=metrics(self._job, measured)))
        else:
            message = "the grader graded none of the answers that came with the rows."
            skipped = sum(measures.run.skipped for measures in measured.values())
            if skipped:
                limit_s = settings().job_baseline_s
                message += (
                    f" {skipped:,} of them were not graded within {limit_s:g} s: it takes too long, or never ends."
                )
            raise JobFailed("grader_failed", message, GRADER, events)
        await self._note(events, {"graded": True})

    async def _run(self, name: str) -> Run:
        part = PARTS[name]
        if part in self._progress:
            run = await self._store.runs.get(
                self._job.project, eval_id(self._job), run_id(self._job, part), with_source=False
            )
            if run is None:
                raise JobFailed("baseline_failed", f"run {run_id(self._job, part)} of the baseline was deleted.")
            return run
        rows, answers = await self._files(name)
        try:
            run = await make_run(self._store, self._aside, self._job, part, rows, answers)
        except UnknownEval:
            raise JobFailed("baseline_failed", f"eval {eval_id(self._job)} of the baseline was deleted.") from None
        await self._note([NewEvent(f"Grading the baseline: run {run.id}, {_words(name)}.")], {part: run.id})
        self._runs.wake()
        return run

    async def _ended(self, run: Run) -> Run:
        """The run once it has. Raises JobLost where the job is cancelled or paused meanwhile."""
        pause_s = LOOK_FIRST_S
        while run.status in ("queued", "in_progress"):
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LOOK_LAST_S)
            job = await self._store.jobs.get(self._job.project, self._job.id)
            if job is None or not job.is_active or job.paused:
                raise JobLost
            now = await self._store.runs.get(run.project, run.eval_id, run.id, with_source=False)
            if now is None:
                raise JobFailed("baseline_failed", f"run {run.id} of the baseline was deleted.")
            run = now
        return run

    async def _leave_no_run(self) -> None:
        """Of a job that was cancelled while one of its runs was being made."""
        job = await self._store.jobs.get(self._job.project, self._job.id)
        if job is not None and job.status == "cancelled":
            for run_id in run_ids(job):
                await self._store.runs.cancel(job.project, eval_id(job), run_id)
                self._runs.cancel(run_id)

    # The bundle.

    async def _write_bundle(self) -> None:
        if self._job.body.get("result_files"):
            return
        job, file_id = self._job, bundle_id(self._job)
        if await self._store.files.get(job.project, file_id) is None:
            rows: Rows = {_IN_BUNDLE[name]: await self._files(name) for name in self._given_files}
            path = self._store.files.content(file_id)
            try:
                size = await self._aside.run(job.project, lambda stopped: write_bundle(path, job, rows, stopped))
            except FileNotFoundError:
                raise JobFailed("file_not_found", "a file of the job was deleted meanwhile.") from None
            await self._store.files.create(job.project, file_id, bundle_name(job), PURPOSE, size, None)
        message = f"The bundle that trains this job elsewhere is file {file_id}, {bundle_name(job)}."
        await self._note([NewEvent(message)], result_files=[file_id])

    async def _end(self) -> None:
        job = self._job
        trained = await self._store.leases.models(job.project)
        if job.body["model"] in trained:
            if await self._store.jobs.advance(job, None, [NewEvent("Queued for a worker.")], status="queued") is None:
                raise JobLost
            return
        others = ", ".join(sorted(trained))
        who = f"no worker trains {job.body['model']}, only {others}" if trained else "this server has no worker"
        raise JobFailed(
            "no_trainer",
            f"everything was checked and nothing was trained: {who}. To train it, start fairmark train worker with "
            "this model and create the job again; or get the bundle from "
            f"/v1/files/{bundle_id(job)}/content, unzip it where there is a GPU, and follow its README.md: "
            'pip install fairmark "trl>=1.6" datasets; python train_trl.py --model MODEL.',
        )


def _refuse_wrong(checked: dict[str, Checked]) -> None:
    """Raises JobFailed with all that is wrong with the rows."""
    events: list[NewEvent] = []
    first: JobFailed | None = None
    for name, file in checked.items():
        code, message = f"invalid_{name}", ""
        told = file.problems.told()
        if not file.rows and not told:
            told = ["there are no rows in it."]
        if told:
            message = f"{name}: {told[0]}"
        elif file.unfilled:
            told = file.unfilled.told()
            message = f"{name}: {told[0]}"
            if file.never_filled:
                code = "invalid_grader"
                message = f"no row has what {', '.join(file.never_filled[:5])} asks for. {told[0]}"
        events += [NewEvent(f"{name}: {text}", "error") for text in told]
        if message and first is None:
            first = JobFailed(code, message, GRADER if code == "invalid_grader" else name)
    if first is not None:
        first.told = events
        raise first


def _words(name: str) -> str:
    return name.replace("_", " ")


def _rows(checked: Checked) -> str:
    tools = f", {checked.with_tools:,} with tools" if checked.with_tools else ""
    return f"{checked.rows:,} row{'' if checked.rows == 1 else 's'} ({checked.answers:,} with an answer{tools})"


def _count(run: Run) -> int:
    return run.passed + run.failed + run.errored + run.skipped


def _told_ungraded(part: str, measured: BaselineFigures) -> NewEvent:
    run = measured.run
    reasons = sorted((run.reasons or {}).items(), key=lambda reason: -reason[1])
    why = f" Most often: {reasons[0][0]}" if reasons and reasons[0][0] else ""
    left = _count(run) - measured.graded
    return NewEvent(
        f"{left:,} of {_count(run):,} answers ({part}) could not be graded and have no reward.{why}", "warn"
    )
