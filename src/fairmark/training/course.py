"""One training of a job as it goes on: its rewards, its steps, how long they took, and what is told of them. It knows
no TRL."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from fairmark import jsontext
from fairmark.result import Result
from fairmark.trainers.trl import TrlReward
from fairmark.training.recorder import Mode, Recorder, StepTally, metrics

DEAD_STEPS = 5
"""After so many steps in a row in which no row was graded, training ends: nothing is learnt any more."""
Tell = Callable[..., None]
"""Called with what it is that is told, and its fields."""


class TrainingFailed(Exception):  # a message to whoever runs this process
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class JobReward(TrlReward):
    """The job's grader as a reward function that notes what it gave."""

    recorder: Recorder
    is_training: Any

    @property
    def _tally(self) -> StepTally:
        return self.recorder.of("train" if self.is_training() else "valid")

    def grade(self, rows: Any) -> list[Result]:
        begun = time.perf_counter()
        results = super().grade(rows)
        self.seconds = time.perf_counter() - begun
        self._tally.add(results)
        return results

    def __call__(self, prompts: Any, completions: Any, *arguments: Any, **columns: Any) -> list[float | None]:
        self._tally.add_tokens([len(ids) for ids in columns.get("completion_ids") or ()])
        return super().__call__(prompts, completions, *arguments, **columns)


def item_of(fields: dict[str, Any]) -> dict[str, Any]:
    """The whole row of the job, which stands as JSON in one column: columns of a data set are all of one shape."""
    item: dict[str, Any] = jsontext.decode(fields["row"])
    return item


class Course:
    """What goes on, for the callbacks: how far it is, how long it took, and whether it is to end."""

    def __init__(self, tell: Tell, reward: JobReward, recorder: Recorder) -> None:
        self.tell = tell
        self.reward = reward
        self.recorder = recorder
        self.stop = threading.Event()
        self.total_steps: int | None = None
        self.loss: float | None = None
        self._step_began = self._validation_began = 0.0
        self._sampling_s = 0.0
        self._step_s: float | None = None
        self._validation_s: float | None = None
        self._logs: dict[str, Any] = {}
        self._train: StepTally | None = None
        self._dead_steps = 0

    def begin_step(self) -> None:
        self._step_began, self._sampling_s, self._validation_s = time.perf_counter(), 0.0, None

    @contextlib.contextmanager
    def sampling(self, mode: Mode) -> Iterator[None]:
        begun = time.perf_counter()
        if mode == "valid" and self._validation_s is None:
            self._validation_began, self._validation_s = begun, 0.0
        self.reward.seconds = 0.0
        yield
        if mode == "train":
            self._sampling_s += time.perf_counter() - begun - self.reward.seconds

    def end_step(self) -> None:
        self._step_s = time.perf_counter() - self._step_began
        self._train = self.recorder.take("train")
        if self._train is not None:
            self._dead_steps = 0 if self._train.graded else self._dead_steps + 1
        if self._dead_steps >= DEAD_STEPS:
            raise TrainingFailed(
                "grader_failed",
                f"in {self._dead_steps} steps in a row the grader graded none of the answers. Most often: "
                f"{self._train.reason if self._train else None}",
            )

    def note_logs(self, logs: dict[str, Any]) -> None:
        self._logs = {name: value for name, value in logs.items() if not name.startswith("eval_")}
        loss = logs.get("loss")
        self.loss = loss if isinstance(loss, (int, float)) else self.loss

    def end_validation(self) -> None:
        if self._validation_s is not None:
            self._validation_s = time.perf_counter() - self._validation_began

    def tell_step(self, step: int) -> None:
        valid = self.recorder.take("valid")
        seconds = {
            "sampling": self._sampling_s,
            "training": None if self._step_s is None else self._step_s - self._sampling_s - self.reward.seconds,
            "eval": self._validation_s,
            "full_iteration": None if self._step_s is None else self._step_s + (self._validation_s or 0.0),
        }
        tallies: dict[Mode, StepTally | None] = {"train": self._train, "valid": valid}
        data = metrics(self.reward.spec, step, self.total_steps, tallies, seconds, self._logs)
        self.tell("step", step=step, total_steps=self.total_steps, message=_words(step, self._train, valid), data=data)
        self._train = None


def _words(step: int, train: StepTally | None, valid: StepTally | None) -> str:
    told = []
    for name, tally in (("training", train), ("validation", valid)):
        if tally is not None:
            mean = "none" if tally.mean is None else f"{tally.mean:.6g}"
            failed = tally.rows - tally.graded
            left = f" ({failed} of {tally.rows} rows not graded: {tally.reason})" if failed else ""
            told.append(f"{name} mean reward={mean}{left}")
    return f"Step {step}: {', '.join(told)}"
