"""What an eval keeps of itself until a store takes it in."""

import hashlib
import json
from pathlib import Path

import pytest

from fairmark.data import journal
from fairmark.data.journal import DataNamed, Digest, Journal, JournalledRun

RUN = JournalledRun(
    "evalrun_1", "default", "capitals", "main", {"exact": {"type": "x"}}, "mark", DataNamed("capitals", "/c.jsonl"), 1.0
)


def stopped(home: Path, id_: str = "evalrun_1", output: str | None = "/out.jsonl", mark: str = "mark") -> JournalledRun:
    kept = JournalledRun(id_, "default", "capitals", "", {}, mark, DataNamed("c", "/c"), 1.0, output=output)
    begun = Journal(home, kept)
    begun.add(b"{}")
    begun.end(whole=False, goes_on=True)
    return begun.kept


def test_rows_are_there_when_it_has_ended_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    begun = Journal(tmp_path, RUN)
    begun.add(b'{"row":1}')
    begun.add(b'{"row":2}')
    begun.end(whole=True, goes_on=False, data=DataNamed("capitals", "/c.jsonl", sha256="ab"))
    (kept,) = journal.pending(tmp_path)
    assert (kept.is_whole, kept.data.sha256, kept.graders) == (True, "ab", {"exact": {"type": "x"}})
    assert kept.ended_at is not None
    with journal.opened(tmp_path, kept) as rows:
        assert rows is not None
        assert rows.read() == b'{"row":1}\n{"row":2}\n'
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / journal.FOLDER).iterdir()} == {0o600}


def test_nobody_takes_in_a_run_that_is_going_on(tmp_path: Path) -> None:
    begun = Journal(tmp_path, RUN)
    with journal.opened(tmp_path, begun.kept) as rows:
        assert rows is None
    begun.add(b"{}")
    begun.end(whole=True, goes_on=False)
    with journal.opened(tmp_path, begun.kept) as rows, journal.opened(tmp_path, begun.kept) as others:
        assert rows is not None
        assert others is None


def test_what_is_not_flushed_yet_is_written_within_half_a_second_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Journal(tmp_path, RUN)
    rows = tmp_path / journal.FOLDER / "evalrun_1.jsonl"
    begun.add(b"first")
    assert rows.read_bytes() == b""
    monkeypatch.setattr(journal, "FLUSH_EVERY_S", -1.0)
    begun.add(b"second")
    assert rows.read_bytes() == b"first\nsecond\n"
    begun.discard()


def test_a_full_disk_ends_the_journal_alone_and_leaves_nothing(tmp_path: Path) -> None:
    begun = Journal(tmp_path, RUN)
    assert begun._stream is not None
    begun._stream.close()
    begun._stream = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115  # it closes it
    begun.add(b"x" * journal.WRITE_BYTES * 2)
    begun.add(b"more")
    begun.end(whole=True, goes_on=False)
    assert begun.failure == f"{tmp_path / journal.FOLDER}: no space left on device"
    assert list((tmp_path / journal.FOLDER).iterdir()) == []


def test_a_home_that_is_none_is_told_and_nothing_is_raised(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    begun = Journal(tmp_path / "file", RUN)
    begun.add(b"{}")
    begun.end(whole=True, goes_on=False)
    assert begun.failure == f"{tmp_path / 'file' / journal.FOLDER}: not a directory"


def test_what_was_taken_in_is_gone_unless_it_may_go_on(tmp_path: Path) -> None:
    begun = Journal(tmp_path, RUN)
    begun.end(whole=True, goes_on=False)
    journal.taken(tmp_path, begun.kept)
    assert journal.pending(tmp_path) == []
    journal.taken(tmp_path, stopped(tmp_path))
    (kept,) = journal.pending(tmp_path)
    assert kept.is_taken
    assert [path.name for path in (tmp_path / journal.FOLDER).iterdir()] == ["evalrun_1.json"]


def test_a_stopped_run_is_found_by_its_results_file_and_graders(tmp_path: Path) -> None:
    stopped(tmp_path)
    assert journal.find_stopped(tmp_path, "/other.jsonl", "mark") is None
    assert journal.find_stopped(tmp_path, "/out.jsonl", "others") is None
    found = journal.find_stopped(tmp_path, "/out.jsonl", "mark")
    assert found is not None
    assert found.id == "evalrun_1"
    journal.taken(tmp_path, found)
    journal.forget_stopped(tmp_path, "/out.jsonl")
    assert journal.find_stopped(tmp_path, "/out.jsonl", "mark") is None


def test_what_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / journal.FOLDER
    folder.mkdir()
    for name, text in (("a.json", "{"), ("b.json", json.dumps({"id": 1})), ("c.txt", "")):
        (folder / name).write_text(text)
    assert journal.pending(tmp_path) == []
    assert len(list(folder.iterdir())) == 3


def test_a_database_is_marked_without_its_password() -> None:
    assert journal.store_mark("") == ""
    mark = journal.store_mark("postgresql://me:secret@host/db")
    assert "secret" not in mark
    assert mark != journal.store_mark("postgresql://me:secret@host/other")


def test_a_file_is_hashed_beside_everything_else(tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(b"data" * 1000)
    assert Digest(str(tmp_path / "d")).result(60) == hashlib.sha256(b"data" * 1000).hexdigest()
    assert Digest(str(tmp_path / "none")).result(60) is None
