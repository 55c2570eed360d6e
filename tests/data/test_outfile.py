"""Outputs: written beside and renamed, and never one that is read at the same time."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fairmark.data.outfile import refuse_input, write_whole, writing
from fairmark.errors import InvalidData


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_bytes(b"old and longer")
    target.chmod(0o640)
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_may_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "out.json", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.json"
    target.write_bytes(b"old")

    def fails(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        write_whole(f"/dev/fd/{writing}", b"new")
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("way", ["itself", "relative", "symlink", "hardlink", "number"])
def test_one_file_as_input_and_output_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "d.jsonl"
    data.write_bytes(b"{}")
    output: Path = {"relative": Path("./d.jsonl")}.get(way, data if way in ("itself", "number") else tmp_path / "other")
    if way == "symlink":
        output.symlink_to(data)
    elif way == "hardlink":
        output.hardlink_to(data)
    with data.open("rb") as opened:
        given = opened.fileno() if way == "number" else data
        with pytest.raises(InvalidData, match="this is the file that is read"):
            refuse_input(output, [tmp_path / "missing", given])


def test_a_database_is_no_output(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "fairmark.db")) as database:
        database.execute("create table runs (id)")
    with pytest.raises(InvalidData, match="this is an SQLite database, and writing to it would destroy it"):
        refuse_input(tmp_path / "fairmark.db", [])
    with pytest.raises(InvalidData, match="this is an SQLite database"):
        write_whole(tmp_path / "fairmark.db", b"{}")


def test_other_files_and_files_that_are_not_there_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"same")
    (tmp_path / "b").write_bytes(b"same")
    refuse_input(tmp_path / "b", [tmp_path / "a"])
    refuse_input(tmp_path / "new", [tmp_path / "a"])
    refuse_input("/dev/null", ["/dev/null", '{"type": "string_check"}', "x" * 5000])


def test_what_is_raised_between_pieces_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_bytes(b"old")

    def stopped() -> None:
        with writing(target) as file:
            file.write(b"first piece")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
