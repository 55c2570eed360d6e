"""A small disk of its own for a folder, and one that is full for a while. Who may not mount gets it in a namespace."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

MOUNT_AND_STAY = 'mount -t tmpfs -o "$1" small-disk "$2" && echo mounted && exec cat'


class Disk(NamedTuple):
    """`path`: where the tests find it. Programs that resolve links, as SQLite does, find it at `folder` alone, and have
    to be started by `enter`."""

    path: Path
    folder: Path
    enter: tuple[str, ...] = ()


@contextlib.contextmanager
def mounted(folder: Path, megabytes: int = 6) -> Iterator[bool]:
    """The new folder is a disk of so many megabytes. False where we may not mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", _options(megabytes), "small-disk", str(folder)]
    may = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield may
    finally:
        if may:
            subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = 6) -> Iterator[Disk]:
    """The same, in a namespace where we may not mount one. Skips the test where that may not be had either: then the
    sandbox does not work there."""
    with mounted(folder, megabytes) as may:
        if may:
            yield Disk(folder, folder)
            return
        unshare = ["unshare", "--user", "--map-root-user", "--mount"]
        command = [*unshare, "sh", "-c", MOUNT_AND_STAY, "sh", _options(megabytes), str(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            try:
                assert holder.stdout is not None
                if holder.stdout.readline() != "mounted\n":
                    pytest.skip("we may not mount a small disk, not even in a namespace")
                enter = ("nsenter", f"--target={holder.pid}", "--user", "--mount", "--preserve-credentials", "--")
                yield Disk(Path(f"/proc/{holder.pid}/root{folder}"), folder, enter)
            finally:
                holder.kill()


def _options(megabytes: int) -> str:
    return f"size={megabytes}m,mode=777"


@contextlib.contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """While it lasts, nothing more goes onto a small disk."""
    assert folder.stat().st_dev != folder.parent.stat().st_dev
    filler = folder / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    try:
        yield
    finally:
        filler.unlink()
