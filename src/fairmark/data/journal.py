"""What `fairmark eval` keeps of a run until a store takes it in: who and what it was, and a line a row.

A command that grades ten thousand rows a second cannot wait for a database, nor for whoever holds its lock. So it only
writes two files into `<home>/journals`: `<run>.json` says what was run, `<run>.jsonl` has the lines of the results
file. Whoever opens the store to look at runs takes in what lies there (`evals/journals.py`). A lock on the rows says
that somebody is at them: the eval that still writes them, or one that takes them in.
"""

import fcntl
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from fairmark import jsontext
from fairmark.data.outfile import write_whole

FOLDER = "journals"
WRITE_BYTES = 262_144
FLUSH_EVERY_S = 0.5
"""As of the results file: what a kill can cost."""


class DataNamed(msgspec.Struct, frozen=True):
    """The data that was graded."""

    name: str
    """What the eval is called where nobody named it."""
    path: str
    """As it was given, without a password."""
    bytes: int | None = None
    sha256: str | None = None
    """None of what cannot be read twice, and of a run that was stopped."""
    sql: str | None = None


class JournalledRun(msgspec.Struct, frozen=True):
    """A run of `fairmark eval`."""

    id: str
    project: str
    eval_name: str
    name: str
    graders: dict[str, dict[str, Any]]
    """By label, each as it was when it graded: a registered one with its version."""
    mark: str
    """`results.fingerprint` of them."""
    data: DataNamed
    started_at: float
    store: str = ""
    """`store_mark` of the database that takes it in."""
    output: str | None = None
    """The results file, by which a run that was stopped is found when it goes on."""
    ended_at: float | None = None
    """None while it is running, and of one that was killed."""
    by: str = ""
    """Who ran it, and on which machine; empty where nobody knows."""
    is_whole: bool = False
    """Whether all rows were graded or, by a budget, skipped."""
    goes_on: bool = True
    """Whether --resume has something to do: it was stopped, or rows were skipped."""
    is_taken: bool = False
    """Whether a store has it, of one that may go on: then under its own id."""


def store_mark(url: str) -> str:
    """What tells databases apart without telling their passwords; "" is the one in the home."""
    return hashlib.sha256(url.encode()).hexdigest()[:12] if url else ""


class Journal:
    """Of the run that is going on. What goes wrong with it is told by `failure` and concerns nobody else."""

    def __init__(self, home: Path, kept: JournalledRun) -> None:
        self.kept = kept
        self.failure: str | None = None
        """Why the run is not kept."""
        self._folder = home / FOLDER
        self._waiting: list[bytes] = []
        self._size = 0
        self._flushed = time.monotonic()
        self._stream: IO[bytes] | None = None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._stream = _rows(self._folder, kept.id).open("wb", buffering=0)
            _rows(self._folder, kept.id).chmod(0o600)
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _save(self._folder, kept)
        except OSError as error:
            self._give_up(error)

    def add(self, line: bytes) -> None:
        """A row's line of results, without its end."""
        self._waiting.append(line)
        self._size += len(line)
        if self._size > WRITE_BYTES or time.monotonic() - self._flushed > FLUSH_EVERY_S:
            self._write()

    def end(self, *, whole: bool, goes_on: bool, data: DataNamed | None = None) -> None:
        """No more rows come. `data`: what is known of it now."""
        self._write()
        if self._stream is None:
            return
        self.kept = msgspec.structs.replace(
            self.kept,
            ended_at=time.time(),
            is_whole=whole,
            goes_on=goes_on,
            data=data if data is not None else self.kept.data,
        )
        try:
            _save(self._folder, self.kept)
        except OSError as error:
            self._give_up(error)
            return
        self._stream.close()
        self._stream = None

    def discard(self) -> None:
        """Nothing of it is kept."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        remove(self._folder, self.kept.id)

    def _write(self) -> None:
        if self._stream is not None and self._waiting:
            left = memoryview(b"\n".join((*self._waiting, b"")))
            try:
                while left:
                    left = left[self._stream.write(left) :]
            except OSError as error:
                self._give_up(error)
        self._waiting.clear()
        self._size = 0
        self._flushed = time.monotonic()

    def _give_up(self, error: OSError) -> None:
        """A full disk must have room for the results: what was written here is removed."""
        self.failure = f"{self._folder}: {(error.strerror or str(error)).lower()}"
        with suppress(OSError):
            self.discard()


def pending(home: Path) -> list[JournalledRun]:
    """What lies in a home, the oldest first; also what is running. What cannot be read is left alone."""
    runs = []
    with suppress(OSError):
        for path in (home / FOLDER).glob("*.json"):
            with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
                runs.append(msgspec.json.decode(path.read_bytes(), type=JournalledRun))
    return sorted(runs, key=lambda kept: (kept.started_at, kept.id))


def has_some_for(home: Path, db: str) -> bool:
    """Whether runs wait here for the database of this URL."""
    mark = store_mark(db)
    return any(kept.store == mark and not kept.is_taken for kept in pending(home))


def find_stopped(home: Path, output: str, mark: str) -> JournalledRun | None:
    """The run that stopped while it wrote this results file, by these graders."""
    stopped = [kept for kept in pending(home) if kept.output == output and kept.mark == mark and kept.goes_on]
    return stopped[-1] if stopped else None


def forget_stopped(home: Path, output: str) -> None:
    """Runs that a store has, and that could have gone on with this results file: it is another's now."""
    for kept in pending(home):
        if kept.output == output and kept.is_taken:
            remove(home / FOLDER, kept.id)


@contextmanager
def opened(home: Path, kept: JournalledRun) -> Iterator[IO[bytes] | None]:
    """Its rows, for us alone; None where somebody else is at them, or they are gone."""
    try:
        stream = _rows(home / FOLDER, kept.id).open("rb")
    except OSError:
        yield None
        return
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        yield stream


def taken(home: Path, kept: JournalledRun) -> None:
    """A store has it. Of one that may go on the header stays."""
    folder = home / FOLDER
    if not kept.goes_on or kept.output is None:
        remove(folder, kept.id)
        return
    _save(folder, msgspec.structs.replace(kept, is_taken=True))
    _rows(folder, kept.id).unlink(missing_ok=True)


def set_aside(home: Path, kept: JournalledRun) -> Path:
    """One that cannot be read: it stays for whoever wants to look, and nobody tries it again."""
    path = home / FOLDER / f"{kept.id}.json"
    return path.rename(path.with_suffix(".broken"))


def remove(folder: Path, id_: str) -> None:
    for path in (_rows(folder, id_), folder / f"{id_}.json"):
        path.unlink(missing_ok=True)


class Digest:
    """The SHA-256 of a file, worked out beside everything else: hashing holds no interpreter."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._found: str | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def result(self, wait_s: float) -> str | None:
        """None where the file cannot be read, or takes longer."""
        self._thread.join(wait_s)
        return self._found

    def _read(self) -> None:
        with suppress(OSError), Path(self._path).open("rb") as file:
            self._found = hashlib.file_digest(file, "sha256").hexdigest()


def _rows(folder: Path, id_: str) -> Path:
    return folder / f"{id_}.jsonl"


def _save(folder: Path, kept: JournalledRun) -> None:
    path = folder / f"{kept.id}.json"
    write_whole(path, jsontext.encode(msgspec.to_builtins(kept)))
    path.chmod(0o600)
