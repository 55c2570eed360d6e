"""The folders of a worker: one for each job, with what it trains on and its checkpoints, and one with the models.

A checkpoint counts once it is marked, which happens when all of it is on disk: whoever is killed while one is written
goes on from the one before. A model's folder is called as the model is, so that a server of models that is started
beside them finds it by its name.
"""

import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.data.outfile import write_whole
from fairmark.errors import InvalidData

MARK = "fairmark.json"
"""In a checkpoint that is whole."""
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_NEEDED = ("grader.json", "job.json", "train.jsonl")
_IN_BUNDLE = (*_NEEDED, "validation.jsonl")
_UNTOLD = "untold.json"
_TO_GO_ON = ("optimizer.pt", "scheduler.pt", "rng_state.pth", "scaler.pt")
MOST_BYTES = 8 << 30


def model_name(job: dict[str, Any]) -> str:
    """What the trained model of a job is called: ft:MODEL:SUFFIX:ID."""
    suffix = _UNFIT.sub("-", job.get("user_provided_suffix") or "").strip("-.")
    return f"ft:{job['model']}:{suffix}:{job['id'].removeprefix('ftjob-')[:8]}"


def checkpoint_name(model: str, step: int) -> str:
    return f"{model}:ckpt-step-{step}"


class JobFolder:
    """Of one job."""

    def __init__(self, home: Path, job_id: str) -> None:
        self.path = home / "jobs" / job_id
        self.models = home / "models"
        self.output = self.path / "output"
        self.log = self.path / "log.txt"
        self.plan = self.path / "plan.json"
        self.train, self.valid = self.path / "train.jsonl", self.path / "validation.jsonl"
        self.grader = self.path / "grader.json"

    @classmethod
    def at(cls, path: Path) -> "JobFolder":
        """The one that is there."""
        return cls(path.parents[1], path.name)

    @property
    def bundle(self) -> Path:
        return self.path / "bundle.zip"

    def make(self) -> None:
        self.output.mkdir(parents=True, exist_ok=True)
        self.models.mkdir(parents=True, exist_ok=True)

    def unpack(self) -> None:
        """The bundle's data; nothing that could be run. Raises InvalidData."""
        try:
            with zipfile.ZipFile(self.bundle) as bundle:
                sizes = {info.filename: info.file_size for info in bundle.infolist()}
                if not all(name in sizes for name in _NEEDED) or sum(sizes.values()) > MOST_BYTES:
                    raise InvalidData(f"the bundle holds {', '.join(sizes)}. It takes {', '.join(_NEEDED)}.")
                for name in _IN_BUNDLE:
                    if name in sizes:
                        with bundle.open(name) as packed, (self.path / name).open("wb") as file:
                            shutil.copyfileobj(packed, file)
        except zipfile.BadZipFile as error:
            raise InvalidData(f"the bundle cannot be read: {error}") from None

    def write_plan(self, plan: dict[str, Any]) -> None:
        write_whole(self.plan, jsontext.encode(plan))

    def keep_untold(self, untold: dict[str, Any]) -> None:
        """What happened and could not be told, until somebody goes on with the job here."""
        write_whole(self.path / _UNTOLD, jsontext.encode(untold))

    def take_untold(self) -> dict[str, Any] | None:
        """None where there is none, or where it cannot be read: it is only told."""
        place = self.path / _UNTOLD
        try:
            untold = jsontext.decode(place.read_bytes())
            place.unlink()
        except (OSError, jsontext.NotJson):
            return None
        return untold if isinstance(untold, dict) else None

    def checkpoints(self) -> Iterator[tuple[int, Path]]:
        """Those that are whole, the newest first."""
        there = [(int(match[1]), path) for path in self.output.iterdir() if (match := _CHECKPOINT.fullmatch(path.name))]
        for step, path in sorted(there, reverse=True):
            if (path / MARK).exists():
                yield step, path

    def last_checkpoint(self) -> tuple[int, Path] | None:
        """The newest that is whole. What is not whole is removed: nobody can go on from it."""
        whole = dict(self.checkpoints())
        for path in list(self.output.iterdir()):
            if path.name.startswith("checkpoint-") and path not in whole.values():
                shutil.rmtree(path, ignore_errors=True)
        return next(iter(whole.items()), None)

    def mark(self, checkpoint: Path, facts: dict[str, Any]) -> None:
        """Says that it is whole: all of it is on disk before the mark is."""
        for path in checkpoint.rglob("*"):
            if path.is_file():
                sync(path)
        write_whole(checkpoint / MARK, jsontext.encode(facts))
        sync(self.output)

    def offer_checkpoints(self, model: str) -> None:
        """Checkpoints that are there can be asked for as models, by links; those that are gone cannot."""
        steps = dict(self.checkpoints())
        place = (self.models / model).parent
        place.mkdir(parents=True, exist_ok=True)
        start = checkpoint_name(Path(model).name, 0).removesuffix("0")
        for link in list(place.iterdir()):
            if link.name.startswith(start) and link.is_symlink() and not link.exists():
                link.unlink()
        for step, path in steps.items():
            link = self.models / checkpoint_name(model, step)
            if not link.is_symlink():
                link.symlink_to(path)

    def tidy(self) -> None:
        """Of a job that has ended: without what only going on needs, which is most of a checkpoint."""
        for _, checkpoint in self.checkpoints():
            for name in _TO_GO_ON:
                (checkpoint / name).unlink(missing_ok=True)
        self.bundle.unlink(missing_ok=True)

    def put_model(self, made: Path, model: str) -> Path:
        """A folder with a trained model, moved to where it is found: whole, or not at all."""
        for path in made.rglob("*"):
            if path.is_file():
                sync(path)
        place = self.models / model
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():  # of an attempt that was killed before it could tell
            shutil.rmtree(place)
        made.rename(place)
        sync(place.parent)
        return place


def sync(path: Path) -> None:
    """What was written there is on disk after this."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
