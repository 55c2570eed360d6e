"""Images: the packages that python graders may import, as a folder of their own, built once by an explicit command.

<data folder>/images/<tag>/site-packages/   the packages, for the interpreter that runs Fairmark
                          /nltk_data/       what nltk reads
                          /ready            written last: what is in there, and for which Python

An environment may bring images along in its own share/fairmark/images; those of the data folder go first.
"""

import fcntl
import importlib.util
import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import BuildFailed, NoSuchImage
from fairmark.sandbox import look
from fairmark.sandbox.catalogue import DEFAULT_TAG, KNOWN, KnownImage, how_to_get, line_of_images

ABI = str(sysconfig.get_config_var("SOABI"))
"""Compiled packages run in this Python only: its minor version, machine and C library."""

OF_THE_ENVIRONMENT = Path(sys.prefix, "share", "fairmark", "images")
"""Where the images lie that came with the environment which Fairmark is installed in."""

INSIDE = Path(__file__).with_name("inside")
"""Modules of ours that graders may import too."""

READY = "ready"
LOCK = ".lock"
SCRATCH_PREFIX = ".building-"


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
    """The images in a data folder, and those that the environment brings."""

    def __init__(self, data_folder: Path, known: Mapping[str, KnownImage] = KNOWN) -> None:
        self.folder = data_folder / "images"
        self._brought = OF_THE_ENVIRONMENT
        self._known = known

    def find(self, tag: str) -> Path | None:
        """The folder of an image that is ready and made for this Python: of this one, or of one that stands in."""
        for name in line_of_images(tag, self._known):
            for folder in (self.folder, self._brought):
                image = _read(folder / name)
                if image and image.is_usable:
                    return folder / name
        return None

    def installed(self) -> list[Image]:
        """All that are ready, also those made for another Python."""
        images = _installed(self._brought) | _installed(self.folder)
        return [images[tag] for tag in sorted(images)]

    def lacking(self, modules: Iterable[str], tag: str | None) -> dict[str, str]:
        """Those modules that a grader of this image would not find, each with what to do about it.

        None is the image of graders that have the standard library alone.
        """
        place = self.find(tag) if tag else None
        folders = [INSIDE, *([place / "site-packages"] if place else [])]
        return {
            module: how_to_get(module, tag, self._known) or _in_no_image(module, tag)
            for module in sorted(modules)
            if module not in sys.stdlib_module_names and not any(_holds(folder, module) for folder in folders)
        }

    def install(self, tag: str, say: Callable[[str], None], rebuild: bool = False) -> Image:
        """The image, built unless it is there and lacks no package. `say` hears of every step.

        Raises NoSuchImage or BuildFailed. Where single packages cannot be had, the image is built without them.
        """
        from fairmark.sandbox.build import build

        if tag not in self._known:
            raise NoSuchImage(f"no image {jsontext.quote(tag)}. Use one of: {', '.join(self._known)}.")
        with self._changing(say), self._scratch() as scratch:
            there = _read(self.folder / tag)
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
            tags = sorted(_installed(self.folder))
            there = f"There is: {', '.join(tags)}." if tags else "There is none."
            raise NoSuchImage(f"no image {jsontext.quote(tag)} in {self.folder}. {there}")
        with self._changing(say), self._scratch() as scratch:
            self._move_away(tag, scratch)

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
                yield Path(scratch).resolve()  # programs run in there, to whom a relative name would mean another
        except OSError as error:
            where = error.filename or self.folder
            raise BuildFailed(f"{where}: {(error.strerror or str(error)).lower()}.") from None

    def _move_away(self, tag: str, scratch: Path) -> None:
        """In one step, so that nobody finds half of it."""
        if (self.folder / tag).exists():
            (self.folder / tag).rename(scratch / "removed")


def missing_imports(source: str, tag: str | None = DEFAULT_TAG) -> dict[str, str]:
    """What a grader's source imports and will not find on this machine: each module, with what to do about it.

    Nothing is run, so that an import which the source never comes to counts too; one inside `try` does not. Raises
    SyntaxError for what is not Python. Without a sandbox (FAIRMARK_SANDBOX=none) Fairmark's own packages are there too.
    """
    from fairmark.settings import settings

    chosen = settings()
    modules: Iterable[str] = look.imports(look.parse(look.dedent(source)))
    if chosen.sandbox == "none":
        modules = [module for module in modules if importlib.util.find_spec(module) is None]
    return Images(chosen.data_folder).lacking(modules, tag)


def _installed(folder: Path) -> dict[str, Image]:
    places = folder.iterdir() if folder.is_dir() else []
    return {place.name: image for place in places if (image := _read(place))}


def _read(place: Path) -> Image | None:
    try:
        told: Any = json.loads((place / READY).read_bytes())
        return Image(**told)
    except (OSError, ValueError, TypeError):
        return None


def _holds(folder: Path, module: str) -> bool:
    return (folder / module).is_dir() or (folder / f"{module}.py").is_file() or any(folder.glob(f"{module}.*.so"))


def _in_no_image(module: str, tag: str | None) -> str:
    has = f"the standard library and the packages of the image {tag}" if tag else "the standard library alone"
    return f"there is no module {module} in the sandbox: graders of this kind have {has}."


def _open_to_everybody(folder: Path) -> None:
    """Inside the sandbox an unprivileged user reads it, whatever the umask was here."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o777 | (0o755 if path.is_dir() else 0o644))
