"""The content of an uploaded file on its way to disk: `<id>.part`, ours alone to read, renamed once it is whole.

What is on its way is locked, so that whoever finds a part that nobody holds knows that its server has died.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fairmark.store.base.database import unavailable

PART = ".part"
"""How the name ends of a file that is still on its way."""
_TRIES = 3


class NewContent:
    """One file's. Nothing is left at `path` or beside it unless `finish` has returned.

    Its methods block, and raise StoreUnavailable, or DiskFull, where the disk takes no more; by then nothing is left.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(path.name + PART)
        self._file: IO[bytes] | None = None

    def open(self) -> None:
        with self._all_or_nothing():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for _ in range(_TRIES):
                self._file = _create(self._part)
                if _is_still(self._file, self._part):
                    return
                self._file.close()  # somebody swept it away before it was locked
            raise OSError(errno.EAGAIN, "the file was swept away")

    def write(self, data: bytes) -> None:
        with self._all_or_nothing():
            self._opened.write(data)

    def finish(self) -> None:
        with self._all_or_nothing():
            self._opened.flush()
            os.fsync(self._opened.fileno())  # what is told to be stored survives a power cut
            self._part.rename(self._path)
            self._opened.close()

    def discard(self) -> None:
        """Also what is finished, and as often as one likes."""
        for path in (self._part, self._path):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        if self._file is not None:
            with contextlib.suppress(OSError):  # what waits to be written has no room
                self._file.close()

    @property
    def _opened(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError("open it first")
        return self._file

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.discard()
            raise unavailable(str(self._path.parent), error) from error


def _create(path: Path) -> IO[bytes]:
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    with contextlib.suppress(OSError):  # a network's file system may know no locks; then nobody sweeps there
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _is_still(file: IO[bytes], path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    return False


def sweep(folder: Path) -> None:
    """Removes what servers that were killed left behind of uploads, and nothing that is still on its way."""
    for part in folder.glob(f"*{PART}"):
        with contextlib.suppress(OSError), part.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its server lives
            part.unlink()
