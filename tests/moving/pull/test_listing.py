"""Lists on their way to disk."""

from pathlib import Path

import pytest

from fairmark.moving.archive import Archive
from fairmark.moving.pull.listing import ListPart
from fairmark.moving.pull.pages import ListedObject, read_object


def objects(*texts: str) -> list[ListedObject]:
    return [read_object(text.encode()) for text in texts]


def named(*ids: str) -> list[ListedObject]:
    return objects(*(f'{{"id": "{id_}"}}' for id_ in ids))


@pytest.fixture
def part(tmp_path: Path) -> ListPart:
    part = ListPart(tmp_path / ".parts" / "x")
    part.begin()
    return part


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


def settled(part: ListPart, archive: Archive, *ids: str) -> list[str]:
    part.begin()
    part.add(named(*ids))
    return part.settle(archive, "evals.jsonl").vanished


def ids(archive: Archive) -> list[str]:
    return [read_object(line).id for line in archive.lines("evals.jsonl")]


def test_an_object_that_comes_twice_is_there_once(part: ListPart, archive: Archive) -> None:
    assert len(part.add(named("a", "b"))) == 2
    assert [received.id for received in part.add(named("b", "c"))] == ["c"]
    assert part.settle(archive, "evals.jsonl").objects == 3
    assert ids(archive) == ["a", "b", "c"]


def test_who_goes_on_cuts_off_what_was_not_saved_and_knows_what_was(part: ListPart, archive: Archive) -> None:
    part.add(named("a"))
    saved = part.bytes
    part.add(named("b"))
    again = ListPart(archive.folder / ".parts" / "x")
    assert again.go_on(saved)
    again.add(named("a", "c"))
    again.settle(archive, "evals.jsonl")
    assert ids(archive) == ["a", "c"]


def test_who_cannot_go_on_says_so(part: ListPart, tmp_path: Path) -> None:
    part.add(named("a"))
    assert not ListPart(tmp_path / ".parts" / "x").go_on(part.bytes + 1)
    assert not ListPart(tmp_path / ".parts" / "y").go_on(0)
    (tmp_path / ".parts" / "x").write_bytes(b"garbage\n")
    assert not ListPart(tmp_path / ".parts" / "x").go_on(8)


def test_what_is_no_longer_shown_stays_in_its_place_and_new_things_come_behind(
    part: ListPart, archive: Archive
) -> None:
    assert settled(part, archive, "a", "b", "c") == []
    assert settled(part, archive, "c", "d") == ["a", "b"]
    assert ids(archive) == ["a", "b", "c", "d"]


def test_a_whole_list_in_another_order_is_taken_as_it_is(part: ListPart, archive: Archive) -> None:
    settled(part, archive, "b", "a")
    assert settled(part, archive, "c", "b", "a") == []
    assert ids(archive) == ["c", "b", "a"]


def test_what_changed_is_replaced(part: ListPart, archive: Archive) -> None:
    settled(part, archive, "a", "b")
    part.begin()
    part.add(objects('{"id": "a", "name": "new"}'))
    part.settle(archive, "evals.jsonl")
    assert list(archive.lines("evals.jsonl")) == [b'{"id": "a", "name": "new"}', b'{"id": "b"}']


def test_an_equal_list_is_not_written_again(part: ListPart, archive: Archive) -> None:
    settled(part, archive, "a", "b")
    before = archive.path("evals.jsonl").stat().st_ino
    settled(part, archive, "a", "b")
    assert archive.path("evals.jsonl").stat().st_ino == before
