"""A list on its way to disk: pages are added to a part, and the part becomes the list when it is whole.

What was read before stays: an object that a service no longer shows is kept, one that changed is replaced in its place.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from fairmark.moving.archive import Archive
from fairmark.moving.pull.pages import ListedObject, Unreadable, one_line, read_object


class Settled(NamedTuple):
    """What became of a list."""

    objects: int
    vanished: list[str]
    """Ids that were there before and are no longer shown."""


class ListPart:
    """The part of a list that has been read. Its methods wait for the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: set[str] = set()
        self.bytes = 0

    def go_on(self, size: int) -> bool:
        """Take up what was saved. False where that much is not there."""
        try:
            if self._path.stat().st_size < size:
                return False
            with self._path.open("rb+") as file:
                file.truncate(size)
                self._ids = {listed.id for listed, _ in _indexed(file)}
        except (FileNotFoundError, Unreadable):
            return False
        self.bytes = size
        return True

    def has(self, id_: str) -> bool:
        return id_ in self._ids

    def begin(self) -> None:
        """From nothing."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_bytes(b"")
        self._ids, self.bytes = set(), 0

    def add(self, objects: Iterable[ListedObject]) -> list[ListedObject]:
        """Those that were not there yet; they are on disk when this returns. Raises OSError."""
        new = []
        with self._path.open("ab") as file:
            for listed in objects:
                if listed.id not in self._ids:
                    self._ids.add(listed.id)
                    line = one_line(listed.raw) + b"\n"
                    file.write(line)
                    self.bytes += len(line)
                    new.append(listed)
            file.flush()
            os.fsync(file.fileno())
        return new

    def settle(self, archive: Archive, name: str) -> Settled:
        """Make it the list `name`. Broken off at any moment it can be done again. Raises OSError."""
        target = archive.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        count, vanished = len(self._ids), []
        if target.exists():
            with target.open("rb") as before:
                vanished = [listed.id for listed, _ in _indexed(before) if listed.id not in self._ids]
            if vanished:
                self._merge(archive, name)
                self._path.unlink()
                return Settled(count + len(vanished), vanished)
            if _same(self._path, target):
                self._path.unlink()
                return Settled(count, vanished)
        self._path.replace(target)
        return Settled(count, vanished)

    def _merge(self, archive: Archive, name: str) -> None:
        """What was there, as it is now, and behind it what is new."""
        with self._path.open("rb") as part, archive.path(name).open("rb") as before, archive.writing(name) as file:
            places = {listed.id: place for listed, place in _indexed(part)}
            for listed, _ in _indexed(before):
                place = places.pop(listed.id, None)
                file.write((listed.raw if place is None else _line(part, place)) + b"\n")
            for place in places.values():
                file.write(_line(part, place) + b"\n")


def _indexed(file: IO[bytes]) -> Iterator[tuple[ListedObject, tuple[int, int]]]:
    """The objects of a list with their places. Raises Unreadable."""
    file.seek(0)
    begin = 0
    for line in file:
        content = line.strip()
        if content:
            yield read_object(content), (begin, len(content))
        begin += len(line)


def _line(file: IO[bytes], place: tuple[int, int]) -> bytes:
    file.seek(place[0])
    return file.read(place[1])


def _same(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        while chunk := first.read(1 << 20):
            if chunk != second.read(1 << 20):
                return False
    return True
