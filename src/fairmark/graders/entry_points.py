"""What other packages announce by their entry points: loaded once, and what is broken there harms nobody else.

Imported when somebody asks for what we do not have ourselves: looking through all that is installed takes time.
"""

import threading
from collections.abc import Callable, Container
from importlib import metadata
from typing import Generic, TypeVar

from fairmark import jsontext
from fairmark.failures import in_words

T = TypeVar("T")


class Unusable(Exception):
    """Something is announced and cannot be used. Says which entry point of which package, and why."""


class EntryPoints(Generic[T]):
    """The entry points of one group.

    `taken` are names that are ours and nobody else's. `check` is given a name and what it leads to, and returns what
    is wanted of it, or raises Unusable with the reason.
    """

    def __init__(self, group: str, taken: Container[str], check: Callable[[str, object], T]) -> None:
        self._taken = taken
        self._check = check
        self._loaded: dict[str, T | Unusable] = {}
        self._lock = threading.RLock()  # a package may ask for another one's while it is imported
        self._found: dict[str, list[metadata.EntryPoint]] = {}
        for point in metadata.entry_points(group=group):
            self._found.setdefault(point.name, []).append(point)

    def get(self, name: str) -> T | None:
        """What is announced under this name; None where nothing is. Raises Unusable."""
        if name not in self._found:
            return None
        with self._lock:
            if name not in self._loaded:
                try:
                    self._loaded[name] = self._load(name)
                except Unusable as why:
                    self._loaded[name] = why
            loaded = self._loaded[name]
        if isinstance(loaded, Unusable):
            raise Unusable(str(loaded)) from loaded.__cause__
        return loaded

    def all(self) -> tuple[dict[str, T], list[str]]:
        """Everything that can be used, by its name, and in words what cannot."""
        usable: dict[str, T] = {}
        problems: list[str] = []
        for name in sorted(self._found):
            try:
                loaded = self.get(name)
            except Unusable as why:
                problems.append(str(why))
            else:
                assert loaded is not None  # noqa: S101  # it was found
                usable[name] = loaded
        return usable, problems

    def _load(self, name: str) -> T:
        points = self._found[name]
        told = f"The entry point {' and '.join(sorted(map(_told, points)))}"
        if name in self._taken:
            raise Unusable(f"{told} cannot be used: {name} is Fairmark's own.")
        if len(points) > 1:
            raise Unusable(f"{told} cannot be used: they have the same name. Uninstall all but one.")
        try:
            return self._check(name, points[0].load())
        except Unusable as wrong:
            raise Unusable(f"{told} cannot be used: {wrong}.") from None
        except (Exception, SystemExit) as error:  # it is somebody else's code that is imported here
            raise Unusable(f"{told} cannot be used: {_reason(error)}.") from error


def _told(point: metadata.EntryPoint) -> str:
    return f"{point.name} = {jsontext.quote(point.value)} of {_package(point)}"


def _package(point: metadata.EntryPoint) -> str:
    try:
        name, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
    except Exception:  # its metadata may hold anything, or not be there
        name = version = ""
    return f"{name} {version}" if name else "a package without a name"


def _reason(error: BaseException) -> str:
    words = " ".join(in_words(error).split())
    return jsontext.shorten(words, 400).rstrip(".: ")
