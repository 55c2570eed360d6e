"""Images: the packages that python graders may import, as a folder of their own, built once by an explicit command.

<data folder>/images/<tag>/site-packages/   the packages, for the interpreter that runs Fairmark
                          /nltk_data/       what nltk reads
                          /ready            written last: what is in there, and for which Python
"""

import fcntl
import json
import os
import re
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import FairmarkError
from fairmark.sandbox.catalogue import KNOWN, KnownImage

ABI = str(sysconfig.get_config_var("SOABI"))
"""Compiled packages run in this Python only: its minor version, machine and C library."""

READY = "ready"
LOCK = ".lock"
SCRATCH_PREFIX = ".building-"


class NoSuchImage(FairmarkError, LookupError):
    """There is no image of that tag. The message names those there are."""


class BuildFailed(FairmarkError):
    """The image could not be built; what was there before still is. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a ready image holds, as its `ready` file tells."""

    tag: str
    python: str
    """The version of the Python it was built by."""
    abi: str
    packages: dict[str, str]
    missing_packages: dict[str, str]
    """Packages it should have, and why it has not."""
    corpora: list[str]
    missing_corpora: list[str]
    size_bytes: int

    @property
    def is_usable(self) -> bool:
        """Whether this Python can import what is in it."""
        return self.abi == ABI


class Images:
    """The images in a data folder."""

    def __init__(self, data_folder: Path, known: Mapping[str, KnownImage] = KNOWN) -> None:
        self.folder = data_folder / "images"
        self._known = known

    def find(self, tag: str) -> Path | None:
        """The folder of an image that is ready and made for this Python."""
        image = self._read(tag)
        return self.folder / tag if image and image.is_usable else None

    def installed(self) -> list[Image]:
        """All that are ready, also those made for another Python."""
        tags = sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []
        return [image for tag in tags if (image := self._read(tag))]

    def install(self, tag: str, say: Callable[[str], None], rebuild: bool = False) -> Image:
        """The image, built unless it is there and lacks no package. `say` hears of every step.

        Raises NoSuchImage or BuildFailed. Where single packages cannot be had, the image is built without them.
        """
        from fairmark.sandbox.build import build

        if tag not in self._known:
            raise NoSuchImage(f"no image {jsontext.quote(tag)}. Use one of: {', '.join(self._known)}.")
        with self._changing(say), self._scratch() as scratch:
            there = self._read(tag)
            if there and there.is_usable and not there.missing_packages and not rebuild:
                return there
            image = build(tag, self._known[tag], scratch, say)
            (scratch / "image" / READY).write_text(json.dumps(asdict(image), indent=2) + "\n", "utf-8")
            _open_to_everybody(scratch / "image")
            self._move_away(tag, scratch)
            (scratch / "image").rename(self.folder / tag)
            return image

    def remove(self, tag: str, say: Callable[[str], None] = lambda step: None) -> None:
        """Delete an image, ready or not. Raises NoSuchImage."""
        if not re.fullmatch(r"\w[\w.-]*", tag) or not (self.folder / tag).is_dir():
            tags = [image.tag for image in self.installed()]
            there = f"There is: {', '.join(tags)}." if tags else "There is none."
            raise NoSuchImage(f"no image {jsontext.quote(tag)} in {self.folder}. {there}")
        with self._changing(say), self._scratch() as scratch:
            self._move_away(tag, scratch)

    def _read(self, tag: str) -> Image | None:
        try:
            told: Any = json.loads((self.folder / tag / READY).read_bytes())
            return Image(**told)
        except (OSError, ValueError, TypeError):
            return None

    @contextmanager
    def _changing(self, say: Callable[[str], None]) -> Iterator[None]:
        """Alone among all processes that change images. Who comes second waits."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BuildFailed(f"{self.folder}: {(error.strerror or str(error)).lower()}.") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("Waiting for another process that is changing images")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A folder beside the images that is gone afterwards, as are those that killed builds left."""
        for left in self.folder.glob(f"{SCRATCH_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        try:
            with tempfile.TemporaryDirectory(
                prefix=SCRATCH_PREFIX, dir=self.folder, ignore_cleanup_errors=True
            ) as scratch:
                yield Path(scratch)
        except OSError as error:
            where = error.filename or self.folder
            raise BuildFailed(f"{where}: {(error.strerror or str(error)).lower()}.") from None

    def _move_away(self, tag: str, scratch: Path) -> None:
        """In one step, so that nobody finds half of it."""
        if (self.folder / tag).exists():
            (self.folder / tag).rename(scratch / "removed")


def _open_to_everybody(folder: Path) -> None:
    """Inside the sandbox an unprivileged user reads it, whatever the umask was here."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o777 | (0o755 if path.is_dir() else 0o644))
