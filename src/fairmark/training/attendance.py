"""One job that is ours: its data is fetched, a process trains it, and the server hears how it goes, to its end.

Whatever happens to the process is told. Where it was killed, another goes on from the last checkpoint; where it fails
by itself, so does the job. Where the job is cancelled, paused or another's, the process is stopped.
"""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairmark.errors import InvalidData, LeaseLost, ServerFailed
from fairmark.training.door import JobDoor, Taken
from fairmark.training.folder import JobFolder, model_name
from fairmark.training.outbox import Outbox
from fairmark.training.plan import TrainingOptions, make_plan
from fairmark.training.process import COMMAND, TrainerProcess, ended_in_words

LOOK_EVERY_S = 0.5
TELL_EVERY_S = 1.0
CRASHES = 3
"""So often a process may crash without a new checkpoint; then the job fails."""
STOPS_WITHIN_S = 120.0
"""What a step may take after a process was asked to stop. Then it is killed, and goes on from the last checkpoint."""


class Failed(Exception):  # a message inside this module
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class WorkerTerms:
    """What holds for all jobs of a worker."""

    def __init__(
        self,
        home: Path,
        offers: dict[str, Path],
        options: TrainingOptions,
        *,
        lease_s: int = 60,
        patience_s: float = 3600.0,
        silence_s: float = 3600.0,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.home, self.offers, self.options = home, offers, options
        self.lease_s = lease_s
        self.patience_s = patience_s
        """How long training goes on while the server is away."""
        self.silence_s = silence_s
        """How long the process that trains may say nothing: a step or a validation takes less."""
        self.command = command


class Attendance:
    def __init__(
        self, door: JobDoor, terms: WorkerTerms, taken: Taken, say: Callable[[str], None], stopping: threading.Event
    ) -> None:
        self._door, self._terms, self._say, self._stopping = door, terms, say, stopping
        self._job = taken.job
        self._id: str = taken.job["id"]
        self._folder = JobFolder(terms.home, self._id)
        self._model = model_name(taken.job)
        self._outbox = Outbox(door, self._id, taken.lease, terms.lease_s)
        self._began_at = time.time()
        self._first_step = 0

    def attend(self) -> str | None:
        """Until the job ends, is not ours any more, or we are to stop. The trained model's name, where there is one."""
        try:
            self._prepare()
            outcome = self._train()
            if outcome is None:
                self._say(f"{self._id} is given back.")
                self._outbox.end(10.0, release=True)
                return None
            self._outbox.add(f"The job has been trained: the model is {self._model}.")
            done = {"fine_tuned_model": self._model, "trained_tokens": outcome["trained_tokens"]}
            if self._outbox.end(self._terms.patience_s, status="succeeded", **done):
                self._say(f"{self._id} succeeded: {self._model}")
                self._folder.tidy()
            return self._model
        except LeaseLost as lost:
            self._say(f"{self._id}: {lost}")
            self._leave(was_cancelled="cancelled" in str(lost))
        except Failed as failure:
            self._say(f"{self._id} failed: {failure}")
            self._outbox.add(f"The job failed: {failure}", "error")
            error = {"code": failure.code, "message": str(failure)[:20_000]}
            try:
                self._outbox.end(self._terms.patience_s, status="failed", error=error)
            except LeaseLost as lost:
                self._say(f"{self._id}: {lost}")
        return None

    def _leave(self, *, was_cancelled: bool) -> None:
        """A job that is not ours any more: whoever goes on with it here tells what we cannot."""
        try:
            if was_cancelled:
                self._folder.tidy()
            else:
                self._folder.keep_untold(self._outbox.untold())
        except OSError as error:
            self._say(f"{self._id}: {error}")

    # Before.

    def _prepare(self) -> None:
        """What the process needs. Raises Failed or LeaseLost."""
        self._say(f"{self._id}: {self._job['model']}")
        try:
            self._folder.make()
            if not self._folder.plan.exists():
                self._fetch()
            rows, valid_rows = _lines(self._folder.train), _lines(self._folder.valid)
            plan = make_plan(self._job, rows, valid_rows, self._terms.options)
            self._folder.write_plan(
                {
                    "model": str(self._terms.offers[self._job["model"]]),
                    "arguments": plan.arguments,
                    "fine_tuned_model": self._model,
                    "ignores_tools": self._terms.options.ignores_tools,
                }
            )
        except OSError as error:
            raise Failed("disk_full" if error.errno == 28 else "worker_failed", f"{error}") from None
        except InvalidData as error:
            raise Failed("worker_failed", str(error)) from None
        if self._job["status"] != "running":
            for remark in plan.remarks:
                self._outbox.add(remark, "warn")
        if (untold := self._folder.take_untold()) is not None:
            self._outbox.take_over(untold)
        self._outbox.change(status="running")
        self._outbox.send()

    def _fetch(self) -> None:
        files = self._job.get("result_files") or []
        if not files:
            raise Failed("worker_failed", "the job has no bundle.")
        until, pause_s = time.monotonic() + self._terms.patience_s, 0.5
        while True:
            try:
                self._door.save(files[0], self._folder.bundle)
                break
            except ServerFailed as error:
                if time.monotonic() + pause_s > until:
                    raise Failed("worker_failed", f"the bundle could not be fetched: {error}") from None
                if self._stopping.wait(pause_s):
                    raise LeaseLost("we are to stop.") from None
                pause_s = min(2 * pause_s, 15.0)
                self._outbox.send()
        self._folder.unpack()

    # Meanwhile.

    def _train(self) -> dict[str, Any] | None:
        """What the process told at its end; None where we are to stop. Raises Failed or LeaseLost."""
        crashes = 0
        while True:
            last = self._folder.last_checkpoint()
            if last is not None:
                self._outbox.add(f"Training goes on from the checkpoint of step {last[0]}.")
            elif self._job["status"] == "running" or crashes:
                self._outbox.add("Training begins anew: there is no checkpoint here.", "warn")
            process = TrainerProcess(self._folder, self._terms.command)
            try:
                told = self._follow(process)
                if told is not None:
                    return None if told["type"] == "stopped" else told
                code = process.end()
                tail = process.tail()
            finally:
                process.end()
            now = self._folder.last_checkpoint()
            crashes = crashes + 1 if (now and now[0]) == (last and last[0]) else 1
            why = f"The process that trains crashed: {ended_in_words(code)}."
            if crashes >= CRASHES:
                said = f" It said last: {tail}" if tail else ""
                raise Failed("trainer_crashed", f"{why} That was {crashes} times without a new checkpoint.{said}")
            self._outbox.add(why, "warn")

    def _follow(self, process: TrainerProcess) -> dict[str, Any] | None:
        """What it told at its end; None where it ended without a word. Raises Failed or LeaseLost."""
        stop_by: float | None = None
        heard_at = time.monotonic()
        while not process.has_ended:
            told = process.next(LOOK_EVERY_S)
            if told is not None:
                heard_at = time.monotonic()
                if told["type"] in ("done", "stopped"):
                    return told
                self._pass_on(told)
            if stop_by is None and self._stopping.is_set():
                stop_by = time.monotonic() + STOPS_WITHIN_S
                process.ask_to_stop()
            if stop_by is not None and time.monotonic() > stop_by:
                return {"type": "stopped"}
            if time.monotonic() - heard_at > self._terms.silence_s:
                message = f"the process that trains said nothing for {self._terms.silence_s:g} s and was ended."
                raise Failed("trainer_hung", message)
            try:
                self._keep_in_touch()
            except LeaseLost as lost:
                if "paused" in str(lost):
                    self._let_save(process)
                raise
        return None

    def _let_save(self, process: TrainerProcess) -> None:
        """A checkpoint after the step it is in, so that nothing is lost by a pause."""
        process.ask_to_stop()
        until = time.monotonic() + STOPS_WITHIN_S
        while not process.has_ended and time.monotonic() < until:
            told = process.next(LOOK_EVERY_S)
            if told is not None:
                if told["type"] in ("done", "stopped", "failed"):
                    return
                self._pass_on(told)

    def _pass_on(self, told: dict[str, Any]) -> None:
        match told:
            case {"type": "began", "step": step, "total_steps": total}:
                self._began_at, self._first_step = time.time(), step
                self._outbox.add(f"Training has begun at step {step} of {total}.")
            case {"type": "step", "step": step, "total_steps": total, "message": message, "data": data}:
                self._outbox.add(message, "info", data)
                if total and step > self._first_step:
                    left_s = (time.time() - self._began_at) / (step - self._first_step) * (total - step)
                    self._outbox.change(estimated_finish=int(time.time() + left_s))
            case {"type": "checkpoint", "step": step, "model": model, "metrics": metrics}:
                self._outbox.add_checkpoint(model, step, metrics)
                self._outbox.add(f"Checkpoint created at step {step}: {model}.")
            case {"type": "event", "level": level, "message": message}:
                self._outbox.add(message, level)
            case {"type": "failed", "code": code, "message": message}:
                raise Failed(code, message)

    def _keep_in_touch(self) -> None:
        """Tells what is new, and that we are alive. Raises LeaseLost, and Failed where the server is away for long."""
        due_s = self._terms.lease_s / 3 if self._outbox.is_empty else TELL_EVERY_S
        if self._outbox.silent_s < due_s:
            return
        is_there = self._outbox.send()
        if self._outbox.refused is not None:
            self._say(f"{self._id}: the server did not take an event: {self._outbox.refused}")
            self._outbox.refused = None
        if not is_there and self._outbox.silent_s > self._terms.patience_s:
            raise LeaseLost(f"the server has been away for {self._outbox.silent_s:.0f} s: training stops.")


def _lines(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())
