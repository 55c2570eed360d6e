"""The process that trains one job, with TRL's GRPOTrainer: python -m fairmark.training.grpo FOLDER

It is started by a worker and told nothing but its folder. It tells what it does in lines of JSON, and ends when its
standard input does: with its worker. Where the folder has a checkpoint that is whole, it goes on from there.
"""

import contextlib
import fcntl
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.failures import in_words
from fairmark.training.course import Course, JobReward, TrainingFailed, item_of
from fairmark.training.folder import JobFolder
from fairmark.training.recorder import Recorder

LOCK_WITHIN_S = 60.0


class Telling:
    """Writes lines to the worker. What libraries print goes to the log instead."""

    def __init__(self) -> None:
        self._handle = os.dup(1)
        os.dup2(2, 1)

    def __call__(self, kind: str, **told: Any) -> None:
        line = jsontext.encode({"type": kind, **told}) + b"\n"
        while line:
            line = line[os.write(self._handle, line) :]


def main() -> None:
    tell = Telling()
    folder = JobFolder.at(Path(sys.argv[1]))
    stop = threading.Event()
    threading.Thread(target=_obey, args=(stop,), daemon=True).start()
    try:
        with _alone(folder):
            train(folder, tell, stop)
    except TrainingFailed as failure:
        tell("failed", code=failure.code, message=str(failure))
    except InvalidGrader as error:
        tell("failed", code="invalid_grader", message=f"the grader cannot run where training runs: {error}")
    except Exception as error:
        traceback.print_exc()
        tell("failed", code="trainer_failed", message=in_words(error))
    sys.stderr.flush()
    os._exit(0)  # what was told is told; threads of libraries may never end


def _obey(stop: threading.Event) -> None:
    """A line asks to stop after this step; the end means that the worker is gone."""
    for _ in sys.stdin:
        stop.set()
    os._exit(1)


@contextlib.contextmanager
def _alone(folder: JobFolder) -> Iterator[None]:
    """Nobody else trains in this folder: a former process may take a moment to end."""
    with (folder.path / "lock").open("w") as lock:
        until = time.monotonic() + LOCK_WITHIN_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    raise TrainingFailed("trainer_failed", f"another process trains in {folder.path}.") from None
                time.sleep(0.2)
        yield


def train(folder: JobFolder, tell: Telling, stop: threading.Event) -> None:
    plan = jsontext.decode(folder.plan.read_bytes())
    reward = JobReward(jsontext.decode(folder.grader.read_bytes()), item=item_of)
    reward.recorder, reward.seconds = Recorder(), 0.0
    course = Course(tell, reward, reward.recorder)
    course.stop = stop
    from fairmark.training.trainer import make_trainer, save  # torch and TRL, which take seconds to import

    trainer = make_trainer(folder, plan, course)
    reward.is_training = lambda: trainer.model.training
    last = folder.last_checkpoint()
    trainer.train(resume_from_checkpoint=None if last is None else str(last[1]))
    if trainer.was_stopped:
        tell("stopped", step=trainer.state.global_step)
        return
    if not trainer.state.global_step:
        raise TrainingFailed("trainer_failed", "there was no step to train: there are too few rows.")
    made = folder.path / "model.new"
    shutil.rmtree(made, ignore_errors=True)
    save(trainer, made)
    folder.put_model(made, plan["fine_tuned_model"])
    tell("done", step=trainer.state.global_step, trained_tokens=int(trainer.state.num_input_tokens_seen))


if __name__ == "__main__":
    main()
