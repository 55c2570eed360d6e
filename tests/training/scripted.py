"""A program that speaks as the process that trains does, and does what it is told: python scripted.py SCRIPT FOLDER

SCRIPT is a JSON file with a list of actions for each attempt; the last list is for all further ones.
"""

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from fairmark.training.folder import JobFolder


def tell(kind: str, **told: Any) -> None:
    print(json.dumps({"type": kind, **told}), flush=True)  # noqa: T201  # that is how it speaks


def stop_asked(within_s: float) -> bool:
    """Whether it was; where the worker is gone, the process ends."""
    readable, _, _ = select.select([0], [], [], within_s)
    if readable and not os.read(0, 100):
        os._exit(1)
    return bool(readable)


def step(number: int, total: int = 4) -> None:
    data = {"step": number, "train_mean_reward": number / 10}
    tell("step", step=number, total_steps=total, message=f"Step {number}", data=data)


def checkpoint(folder: JobFolder, number: int) -> None:
    place = folder.output / f"checkpoint-{number}"
    place.mkdir(exist_ok=True)
    folder.mark(place, {"step": number})
    tell("checkpoint", step=number, model=f"m:ckpt-step-{number}", metrics={"step": number})


def act(folder: JobFolder, action: list[Any]) -> None:
    match action:
        case ["step", number]:
            step(number)
        case ["checkpoint", number]:
            checkpoint(folder, number)
        case ["tell", told]:
            tell(**told)
        case ["say", text]:
            print(text, file=sys.stderr, flush=True)  # noqa: T201
        case ["die", number]:
            os.kill(os.getpid(), number)
            signal.pause()
        case ["exit", code]:
            sys.exit(code)
        case ["until", name]:  # a file that the test makes
            while not (folder.path / name).exists():
                if stop_asked(0.05):
                    checkpoint(folder, 77)
                    tell("stopped", step=77)
                    sys.exit()
        case ["hang"]:
            while not stop_asked(0.1) or True:
                time.sleep(0.01)
        case ["done"]:
            (folder.models / "done").mkdir(exist_ok=True)
            tell("done", step=4, trained_tokens=1234)


def main() -> None:
    script, folder = json.loads(Path(sys.argv[1]).read_text()), JobFolder.at(Path(sys.argv[2]))
    with (folder.path / "attempts").open("a") as attempts:
        attempts.write(f"{os.getpid()}\n")
    attempt = len((folder.path / "attempts").read_text().split())
    tell("began", step=next((number for number, _ in folder.checkpoints()), 0), total_steps=4)
    for action in script[min(attempt, len(script)) - 1]:
        act(folder, action)


if __name__ == "__main__":
    main()
