"""A small disk of its own for a folder, and one that is full for a while."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = 6) -> Iterator[bool]:
    """The folder is a disk of so many megabytes. False where we may not mount one."""
    folder.mkdir()
    size = f"size={megabytes}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], capture_output=True, check=False)
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """While it lasts, nothing more goes onto a small disk."""
    assert os.path.ismount(folder)
    filler = folder / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    try:
        yield
    finally:
        filler.unlink()
