"""The bundle: a zip file that trains a job elsewhere. Its grader, its rows, a reward function and a script for TRL."""

import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from fairmark import jsontext
from fairmark.finetuning.aside import Stopped, WorkStopped, write_file
from fairmark.finetuning.baseline import grader_of
from fairmark.finetuning.rows import TrainingRow, read_rows
from fairmark.store import Job, ids

FOLDER = Path(__file__).with_name("bundled")
SOURCES = ("README.md", "reward.py", "train_trl.py")
PURPOSE = "fine-tune-results"
_JOB_FIELDS = ("model", "seed", "method", "integrations", "user_provided_suffix", "training_file", "validation_file")
_WHEN = (1980, 1, 1, 0, 0, 0)
"""The same bundle is the same bytes."""

Rows = Mapping[str, tuple[Path, Path | None]]
"""The name of a file in the bundle -> where its rows are, and where its answers are."""


def bundle_id(job: Job) -> str:
    return ids.made_by(job.id, "file-", "bundle")


def bundle_name(job: Job) -> str:
    return f"{job.id}.zip"


def write_bundle(path: Path, job: Job, rows: Rows, stopped: Stopped) -> int:
    """How many bytes. Blocks; raises WorkStopped, and StoreUnavailable or DiskFull where the disk takes no more."""

    def fill(write: Callable[[bytes], None]) -> None:
        with zipfile.ZipFile(_Sink(write), "w") as bundle:
            for name, content in _texts(job):
                with _entry(bundle, name) as entry:
                    entry.write(content)
            for name, (lines, answers) in rows.items():
                with _entry(bundle, name) as entry:
                    for line in _lines(lines, answers):
                        if stopped():
                            raise WorkStopped
                        entry.write(line)

    return write_file(path, fill)


def _texts(job: Job) -> Iterator[tuple[str, bytes]]:
    yield "grader.json", jsontext.write(grader_of(job)).encode("utf-8", "backslashreplace") + b"\n"
    shown: dict[str, Any] = {"id": job.id, **{name: job.body[name] for name in _JOB_FIELDS}}
    yield "job.json", jsontext.encode(shown) + b"\n"
    for name in SOURCES:
        yield name, (FOLDER / name).read_bytes()


def _lines(data: Path, answers: Path | None) -> Iterator[bytes]:
    for row in read_rows(data, answers):
        if isinstance(row, TrainingRow):
            yield jsontext.encode({"item": row.item, "answer": row.answer}) + b"\n"


def _entry(bundle: zipfile.ZipFile, name: str) -> IO[bytes]:
    info = zipfile.ZipInfo(name, _WHEN)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return bundle.open(info, "w", force_zip64=True)


class _Sink:
    """What a zip file is written to: it only goes forward. What follows a failure is dropped: a zip file that is left
    early still writes its end."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._failed = False

    def write(self, data: bytes) -> int:
        if not self._failed:
            self._failed = True
            self._write(bytes(data))
            self._failed = False
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
