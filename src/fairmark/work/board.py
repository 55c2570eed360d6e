"""Numbers that the processes of one server share, so that a limit holds for all of them together.

A file in memory with a row for each process and a column for each name. A process writes its own row alone, so that
nothing has to be undone when it is killed: whoever started it clears the row. Who looks and then takes does it under a
lock of the system's, which ends with the process that holds it.
"""

import contextlib
import fcntl
import hashlib
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator

COLUMNS = 4096
"""How many names there may be. What comes later is counted by each process for itself."""
_NUMBER = 8


class SharedNumber:
    """One number of each process."""

    def __init__(self, board: "Board", place: int) -> None:
        self._board = board
        self._place = place

    def add(self, amount: float) -> None:
        """To this process's own."""
        self._board.write(self._place, self.own + amount)

    @property
    def own(self) -> float:
        return self._board.read(self._board.row, self._place)

    @property
    def others(self) -> list[float]:
        board = self._board
        return [board.read(row, self._place) for row in range(board.rows) if row != board.row]

    @property
    def total(self) -> float:
        board = self._board
        return sum(board.read(row, self._place) for row in range(board.rows))


class Board:
    """Seen by the process of one row."""

    def __init__(self, fileno: int, rows: int, row: int) -> None:
        self.fileno = fileno
        self.rows = rows
        self.row = row
        self._numbers = mmap.mmap(fileno, _size(rows))
        self._places: dict[str, int] = {}

    @classmethod
    def make(cls, rows: int) -> "Board":
        """A new one, for whoever starts the processes; it has no row itself."""
        with tempfile.TemporaryFile() as file:
            file.truncate(_size(rows))
            return cls(os.dup(file.fileno()), rows, -1)

    def close(self) -> None:
        self._numbers.close()
        os.close(self.fileno)

    def column(self, name: str) -> SharedNumber | None:
        """The column of this name, the same in all processes; None where there are too many."""
        place = self._places.get(name)
        if place is None:
            with self.locked():
                place = self._find(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=_NUMBER).digest())
            if place < 0:
                return None
            self._places[name] = place
        return SharedNumber(self, place)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else is in here meanwhile. For a few microseconds: the others wait with their event loops."""
        fcntl.lockf(self.fileno, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.fileno, fcntl.LOCK_UN)

    def clear(self, row: int) -> None:
        """The process of this row is gone, and holds nothing any more."""
        start = self._offset(row, 0)
        self._numbers[start : start + COLUMNS * _NUMBER] = bytes(COLUMNS * _NUMBER)

    def read(self, row: int, place: int) -> float:
        number: float = struct.unpack_from("d", self._numbers, self._offset(row, place))[0]
        return number

    def write(self, place: int, number: float) -> None:
        struct.pack_into("d", self._numbers, self._offset(self.row, place), number)

    def _offset(self, row: int, place: int) -> int:
        return (COLUMNS * (1 + row) + place) * _NUMBER

    def _find(self, digest: bytes) -> int:
        """Where the name is, or is from now on; -1 where there is no room. The first row holds the names."""
        first = int.from_bytes(digest) % COLUMNS
        for step in range(COLUMNS):
            place = (first + step) % COLUMNS
            start = place * _NUMBER
            kept = self._numbers[start : start + _NUMBER]
            if kept == bytes(_NUMBER):
                self._numbers[start : start + _NUMBER] = digest
                return place
            if kept == digest:
                return place
        return -1


def _size(rows: int) -> int:
    return COLUMNS * (1 + rows) * _NUMBER


_shared: Board | None = None


def share(board: Board | None) -> None:
    """From now on this process shares its numbers with the others of its server."""
    global _shared  # one a process, as the processes' limits are
    _shared = board


def shared() -> Board | None:
    """None where this process is a server by itself."""
    return _shared
