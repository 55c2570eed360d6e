"""The cache of judges' answers: real SQLite. Names, modes, and how large it becomes."""

import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.judges import cache as module
from fairmark.judges.cache import Cache, key_of
from tests.judges.caching import LARGE, file, found, keep, log

__all__ = ["file", "log"]


# Names


def test_a_name_depends_on_every_part_and_on_nothing_else() -> None:
    parts = ["chat", "openai m", [{"role": "user", "content": "a"}], {"seed": 1}, {"type": "object"}, 0]
    names = {key_of(*parts)}
    for index, other in enumerate(("embedding", "openai n", [{"role": "user", "content": "b"}], {}, {"type": "x"}, 1)):
        names.add(key_of(*parts[:index], other, *parts[index + 1 :]))
    assert len(names) == 7
    assert key_of("a", "b") != key_of("ab")
    assert key_of("half an emoji \ud83d") != key_of("half an emoji \ud83e")


# Keeping and finding


def test_what_was_kept_is_found_by_the_next_who_opens_the_file(file: Path) -> None:
    values = {key_of(index): ["model", "words ü \n", {"steps": [], "result": index / 7}, None] for index in range(1200)}
    keep(file, {**values, b"bytes": b"\x00\x01"})
    assert found(file, [*values, b"bytes", b"nobody"]) == {**values, b"bytes": b"\x00\x01"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_is_on_its_way_to_the_file_is_known(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer waits: what was just answered is not asked for again."""
    written = threading.Event()
    store = module._store

    def late(*arguments: Any) -> int:
        assert written.wait(60)
        return store(*arguments)

    monkeypatch.setattr(module, "_store", late)
    cache = Cache(file, "on", LARGE)
    key = key_of("asked")
    cache.keep({key: "first"})
    cache.keep({key: "second"})
    assert cache.find([key, key_of("other")]) == {key: "second"}
    written.set()
    cache.flush()
    assert not cache._on_the_way
    assert cache.find([key]) == {key: "second"}
    cache.close()


def test_what_cannot_be_written_is_left_out_and_the_rest_is_kept(file: Path) -> None:
    keep(file, {b"surrogate": "\ud83d", b"number": 2**70, b"object": object(), b"good": 1})
    assert found(file, [b"surrogate", b"number", b"object", b"good"]) == {b"good": 1}


def test_a_cache_goes_on_after_a_flush(file: Path) -> None:
    before = set(threading.enumerate())  # a cache of another test may be writing still
    cache = Cache(file, "on", LARGE)
    for index in range(3):
        cache.keep({b"%d" % index: index})
        cache.flush()
        assert cache.find([b"%d" % index]) == {b"%d" % index: index}
    cache.close()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "fairmark-cache"]


def test_flushing_while_others_write_neither_hangs_nor_loses(file: Path) -> None:
    cache = Cache(file, "on", LARGE)
    keys = [[b"%d %d" % (writer, index) for index in range(300)] for writer in range(4)]

    def write(mine: list[bytes]) -> None:
        for key in mine:
            cache.keep({key: 1})

    threads = [threading.Thread(target=write, args=(mine,)) for mine in keys]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        cache.flush()
    cache.close()
    assert len(found(file, [key for mine in keys for key in mine])) == 1200


# Modes


def test_off_neither_reads_nor_writes(file: Path) -> None:
    keep(file, {b"a": 1})
    keep(file, {b"b": 1}, "off")
    assert found(file, [b"a", b"b"], "off") == {}
    assert found(file, [b"a", b"b"]) == {b"a": 1}


def test_read_only_reads_and_writes_nothing(file: Path, log: list[str]) -> None:
    keep(file, {b"a": 1})
    keep(file, {b"a": 2, b"b": 2}, "read_only")
    assert found(file, [b"a", b"b"], "read_only") == {b"a": 1}
    assert log == []
    none = file.with_name("none.db")
    assert found(none, [b"a"], "read_only") == {}
    assert not none.exists()


def test_refresh_asks_for_everything_and_stores_it(file: Path) -> None:
    keep(file, {b"a": 1})
    assert found(file, [b"a"], "refresh") == {}
    keep(file, {b"a": 2}, "refresh")
    assert found(file, [b"a"]) == {b"a": 2}


def test_read_only_reads_a_file_that_nobody_can_write(file: Path) -> None:
    """As on a read-only volume: SQLite cannot even make its own files beside it."""
    keep(file, {b"a": 1})
    code = """
        import sys, pathlib
        from fairmark.judges.cache import Cache
        cache = Cache(pathlib.Path(sys.argv[1]), "read_only", 1000)
        print(cache.find([b"a"]))
        cache.close()
    """
    bubblewrap = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    done = subprocess.run(
        [*bubblewrap, sys.executable, "-c", textwrap.dedent(code), file],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
    )
    assert (done.stdout, done.stderr) == ("{b'a': 1}\n", "")


# Its size


def total(file: Path) -> int:
    with sqlite3.connect(file) as connection:
        (size,) = connection.execute("select sum(size) from answers").fetchone()
    connection.close()
    return int(size)


def test_the_file_stays_within_its_bound_and_the_longest_unused_go_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SimpleNamespace(time=1_000_000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now.time, monotonic=time.monotonic))
    keys = [b"%02d" % index for index in range(20)]
    for key in keys:
        keep(file, {key: "x" * 920})
        now.time += 10
    now.time += 2 * module.TOUCH_AFTER_S
    cache = Cache(file, "on", LARGE)
    assert list(cache.find([keys[0], keys[5]])) == [keys[0], keys[5]]  # used again, so they are young now
    cache.close()
    now.time += 10
    keep(file, {b"new": "x" * 920}, most_bytes=10_500)
    left = found(file, [*keys, b"new"])
    assert sorted(left) == [keys[0], keys[5], *keys[14:], b"new"]
    assert total(file) <= 9_450


def test_a_long_run_keeps_to_the_bound_while_it_writes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_AT_SIZE_EVERY", 50)
    cache = Cache(file, "on", 100_000)
    for index in range(1000):
        cache.keep({key_of(index): "x" * 1000})
        if index % 100 == 99:
            cache.flush()
    cache.close()
    assert 80_000 < total(file) <= 100_000
    assert file.stat().st_size < 400_000
