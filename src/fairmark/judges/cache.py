"""Judges' answers on disk: asked once, known from then on. One SQLite file that many processes share.

Named by their content: a hash over the model, the messages, the parameters and the form of the answer. Only good
answers come in. What was used longest ago goes first when the file grows too large.
"""

import atexit
import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

import msgspec

from fairmark import jsontext

Mode = Literal["on", "off", "read_only", "refresh"]

_SCHEMA = """
create table if not exists answers (
  key blob primary key, value blob not null, size integer not null, used integer not null
);
create index if not exists answers_by_use on answers (used, size);
"""
_Write = tuple[bytes, bytes] | bytes
"""An answer under its name, or the name of one that was used."""
_Queue = SimpleQueue[_Write | None]
_AT_ONCE = 500
BUSY_S = 10.0
WRITE_EVERY_S = 0.1
LOOK_AT_SIZE_EVERY = 2_000
"""Writes between two looks at how large the file is."""
TOUCH_AFTER_S = 3600


def key_of(*parts: Any) -> bytes:
    """The name of whatever was asked for with these parts."""
    return hashlib.sha256(jsontext.encode(parts)).digest()


class Cache:
    """Reads at once, where it is asked; writes a moment later, in a thread of its own.

    A cache that cannot be used is none: it says so in the log once, and everything is asked for.
    """

    def __init__(self, file: Path, mode: Mode, most_bytes: int) -> None:
        self._file = file
        self._mode = mode
        self._most_bytes = most_bytes
        self._reading: sqlite3.Connection | None = None
        # Who needs both takes them in this order.
        self._reading_lock = threading.Lock()
        self._writing_lock = threading.Lock()
        self._writer: tuple[threading.Thread, _Queue] | None = None
        self._on_the_way: dict[bytes, bytes] = {}
        """Answers that the writer has and the file has not: who asks again meanwhile must not pay again."""
        self._broken = mode == "off"
        if not self._broken:
            _caches.add(self)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """What is known under these names."""
        if self._broken or self._mode == "refresh" or not keys:
            return {}
        with self._reading_lock:
            return self._find(keys)

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        try:
            if self._reading is None:
                self._reading = self._open()
            ours = {key: self._on_the_way.get(key) for key in keys} if self._on_the_way else {}
            values = {key: msgspec.msgpack.decode(value) for key, value in ours.items() if value is not None}
            now = int(time.time())
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"select key, value, used from answers where key in ({marks})"  # noqa: S608  # only marks
                for key, value, used in self._reading.execute(query, some):
                    values[key] = msgspec.msgpack.decode(value)
                    if now - used > TOUCH_AFTER_S and self._mode != "read_only":
                        self._write(key)
            return values
        except (sqlite3.Error, OSError, msgspec.MsgspecError, UnicodeError) as error:
            self._give_up(error)
            return {}

    def keep(self, answers: Mapping[bytes, Any]) -> None:
        if self._broken or self._mode == "read_only":
            return
        for key, value in answers.items():
            try:
                encoded = msgspec.msgpack.encode(value)
            except (UnicodeEncodeError, OverflowError, TypeError):
                continue  # what cannot be written is asked for again
            self._on_the_way[key] = encoded
            self._write((key, encoded))

    def flush(self) -> None:
        """Returns when all that was to be kept is kept."""
        with self._writing_lock:
            self._end_writer()

    def close(self) -> None:
        self.hold()
        self.let_go()

    def hold(self) -> None:
        """Closes every connection, and lets nobody open one before `let_go`."""
        self._reading_lock.acquire()
        self._writing_lock.acquire()
        self._end_writer()
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def let_go(self) -> None:
        self._writing_lock.release()
        self._reading_lock.release()

    def _end_writer(self) -> None:
        if self._writer is not None:
            thread, queue = self._writer
            self._writer = None
            queue.put(None)
            thread.join()
            atexit.unregister(self.flush)

    def _open(self) -> sqlite3.Connection:
        if self._mode == "read_only":
            return _open_to_read(self._file)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self._file.exists()
        connection = sqlite3.connect(self._file, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        if is_new:
            os.chmod(self._file, 0o600)  # noqa: PTH101  # answers quote users' data
        _use_log(connection)
        connection.execute("pragma synchronous = normal")
        connection.executescript(_SCHEMA)
        return connection

    def _write(self, what: _Write) -> None:
        with self._writing_lock:
            if self._writer is None or not self._writer[0].is_alive():
                # Each writer has a queue of its own, so that it cannot miss its end to a later one.
                queue: _Queue = SimpleQueue()
                thread = threading.Thread(target=self._work, args=(queue,), name="fairmark-cache", daemon=True)
                self._writer = thread, queue
                thread.start()
                atexit.register(self.flush)
            self._writer[1].put(what)

    def _work(self, queue: _Queue) -> None:
        try:
            with contextlib.closing(self._open()) as connection:
                written, ended = LOOK_AT_SIZE_EVERY, False
                while not ended:
                    batch, ended = _batch(queue)
                    written += _store(connection, batch)
                    self._arrived(batch)
                    if written >= LOOK_AT_SIZE_EVERY:
                        written = 0
                        _shrink(connection, self._most_bytes)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _arrived(self, batch: Iterable[_Write]) -> None:
        for entry in batch:
            if isinstance(entry, tuple) and self._on_the_way.get(entry[0]) is entry[1]:
                self._on_the_way.pop(entry[0], None)

    def _give_up(self, error: Exception) -> None:
        self._on_the_way.clear()
        if not self._broken:
            self._broken = True
            logging.getLogger("fairmark").warning(
                "the cache of judges' answers cannot be used: %s: %s", self._file, error
            )


def _open_to_read(file: Path) -> sqlite3.Connection:
    """Touches nothing. Where nobody can write, not even SQLite's own files beside it, the file is taken as it is."""
    try:
        return _connect_to_read(file, "mode=ro")
    except sqlite3.OperationalError:
        return _connect_to_read(file, "mode=ro&immutable=1")


def _connect_to_read(file: Path, how: str) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?{how}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("select 1 from answers limit 1")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _use_log(connection: sqlite3.Connection) -> None:
    """Readers and a writer do not wait for each other from then on."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            # Another process does the same just now, and SQLite does not wait for that by itself.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _batch(queue: _Queue) -> tuple[list[_Write], bool]:
    """All that comes within a moment after the first, and whether that is the end."""
    batch: list[_Write] = []
    first = queue.get()
    until = time.monotonic() + WRITE_EVERY_S
    while first is not None:
        batch.append(first)
        try:
            first = queue.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            return batch, False
    return batch, True


def _store(connection: sqlite3.Connection, batch: Iterable[_Write]) -> int:
    now = int(time.time())
    kept = [(entry[0], entry[1], len(entry[1]) + 80, now) for entry in batch if isinstance(entry, tuple)]
    used = [(now, entry) for entry in batch if isinstance(entry, bytes)]
    connection.execute("begin immediate")
    connection.executemany("insert or replace into answers values (?, ?, ?, ?)", kept)
    connection.executemany("update answers set used = ? where key = ?", used)
    connection.execute("commit")
    return len(kept)


def _shrink(connection: sqlite3.Connection, most_bytes: int) -> None:
    """Drops what was used longest ago, until nine tenths of the room are taken."""
    (size,) = connection.execute("select coalesce(sum(size), 0) from answers").fetchone()
    if size <= most_bytes:
        return
    while size > 0.9 * most_bytes:
        oldest = connection.execute("select key, size from answers order by used limit 100").fetchall()
        if not oldest:
            return
        gone = []
        for key, its_size in oldest:
            if size > 0.9 * most_bytes:
                gone.append((key,))
                size -= its_size
        connection.execute("begin immediate")
        connection.executemany("delete from answers where key = ?", gone)
        connection.execute("commit")


# SQLite keeps its locks in the memory of the process. A child that is forked while its parent writes would inherit a
# lock that nobody ever releases, so at that moment there is no connection at all; each side opens its own afterwards.
_caches: "weakref.WeakSet[Cache]" = weakref.WeakSet()
_forking = threading.Lock()
_held: list[Cache] = []


def _before_fork() -> None:
    _forking.acquire()
    for cache in list(_caches):
        cache.hold()
        _held.append(cache)


def _after_fork() -> None:
    while _held:
        _held.pop().let_go()
    _forking.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
