"""The cache of judges' answers: files that cannot be used harm nobody."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fairmark.judges.cache import Cache, key_of
from tests.judges.caching import LARGE, file, finished, found, keep, log, python

__all__ = ["file", "log"]


# What cannot be used


def spoil_by_folder(file: Path) -> None:
    file.mkdir(parents=True)


def spoil_by_file_above(file: Path) -> None:
    file.parent.write_text("a file where the folder should be")


def spoil_by_noise(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is no database " * 1000)


def spoil_by_other_tables(file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("create table answers (a, b)")
    connection.close()


def spoil_by_damage(file: Path) -> None:
    keep(file, {key_of(index): "x" * 500 for index in range(2000)})
    content = bytearray(file.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 200] = b"\xff" * 200
    file.write_bytes(content)


def spoil_by_values(file: Path) -> None:
    keep(file, {key_of(0): 1})
    with sqlite3.connect(file) as connection:
        connection.execute("update answers set value = ?", (b"\xc1 no msgpack",))
    connection.close()


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_by_folder,
        spoil_by_file_above,
        spoil_by_noise,
        spoil_by_other_tables,
        spoil_by_damage,
        spoil_by_values,
    ],
)
def test_a_file_that_cannot_be_used_is_logged_once_and_everything_is_asked(
    file: Path, log: list[str], spoil: Any
) -> None:
    spoil(file)
    cache = Cache(file, "on", LARGE)
    for index in range(5):
        assert cache.find([key_of(index)]) == {}
        cache.keep({key_of(index): 1})
        cache.flush()
    cache.close()
    assert len(log) == 1
    assert log[0].startswith(f"the cache of judges' answers cannot be used: {file}: ")


def test_writing_into_what_cannot_be_used_is_logged_once_too(file: Path, log: list[str]) -> None:
    spoil_by_folder(file)
    cache = Cache(file, "refresh", LARGE)
    for index in range(5):
        cache.keep({key_of(index): 1})
        cache.flush()
    cache.close()
    assert len(log) == 1


def test_a_full_disk_is_logged_once_and_what_was_stored_before_is_still_found(file: Path) -> None:
    """No file may grow beyond a bound in that process, which is what a full disk looks like."""
    code = """
        import logging, pathlib, resource, signal, sys
        from fairmark.judges.cache import Cache, key_of
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        cache = Cache(pathlib.Path(sys.argv[1]), "on", 10**9)
        for index in range(2000):
            cache.keep({key_of(index): "x" * 1000})
            if index % 100 == 0:
                cache.flush()
        cache.close()
    """
    (out,) = finished(python(code, file))
    assert out.count("\n") == 1
    assert out.startswith(f"the cache of judges' answers cannot be used: {file}: ")
    assert found(file, [key_of(0), key_of(1999)]) == {key_of(0): "x" * 1000}


def test_a_file_that_vanishes_under_way_harms_nobody(file: Path) -> None:
    cache = Cache(file, "on", LARGE)
    cache.keep({b"a": 1})
    cache.flush()
    assert cache.find([b"a"]) == {b"a": 1}
    shutil.rmtree(file.parent)
    cache.keep({b"b": 1})
    cache.flush()
    cache.find([b"a", b"b"])
    cache.close()
