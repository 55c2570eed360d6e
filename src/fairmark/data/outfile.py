"""Files that users name as outputs: written beside and renamed, and never one that is read at the same time.

Whatever ends a command before its output is whole, what stood under that name before is still there.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fairmark.errors import InvalidData

_SQLITE = b"SQLite format 3\0"


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """The file with this content, or as it was. Raises OSError."""
    with writing(path) as file:
        file.write(content)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """To be written piece by piece. The file is then what was written, or as it was where anything is raised.

    A symbolic link stays one, and what it leads to is replaced. What is no plain file, such as /dev/stdout, is written
    straight to. Raises OSError, and InvalidData for a database.
    """
    _refuse_database(path)
    if is_special(Path(path)):
        with Path(path).open("wb") as file:
            yield file
        return
    target = Path(path).resolve()
    number, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        adopt_mode(Path(name), target)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def adopt_mode(new: Path, target: Path) -> None:
    """Who may read the file that is to take another's place: as it was, or as any new file."""
    if target.exists():
        shutil.copymode(target, new)
    else:
        mask = os.umask(0)
        os.umask(mask)
        new.chmod(0o666 & ~mask)


def is_special(path: Path) -> bool:
    """Whether there is something that is no plain file: a device or a pipe, which must not be renamed over."""
    return path.exists() and not path.is_file()


def refuse_input(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str] | int]) -> None:
    """Raises InvalidData where one file is to be read and written: by its path, another path, or a link to it.

    A number is an open file, such as standard input's. A database is read by somebody, and never an output.
    """
    _refuse_database(output)
    for source in inputs:
        if _is_one(source, output):
            named = "standard input" if isinstance(source, int) else os.fspath(source)
            raise InvalidData(
                f"{os.fspath(output)}: this is the file that is read ({named}), and writing to it would destroy it. "
                "Name another output."
            )


def _refuse_database(output: str | os.PathLike[str]) -> None:
    if not Path(output).is_file():  # to read a pipe would take from it
        return
    try:
        with Path(output).open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError:  # whoever writes it says why not
        return
    if start == _SQLITE:
        raise InvalidData(
            f"{os.fspath(output)}: this is an SQLite database, and writing to it would destroy it. Name another output."
        )


def _is_one(source: str | os.PathLike[str] | int, output: str | os.PathLike[str]) -> bool:
    try:
        first, second = os.stat(source), os.stat(output)  # noqa: PTH116  # a number is no path
    except (OSError, ValueError):  # one of them is not there
        return False
    # Two names of a device are no danger to one another.
    return os.path.samestat(first, second) and Path(output).is_file()
