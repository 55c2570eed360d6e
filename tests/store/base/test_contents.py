"""The content of a file on its way to disk: whole, or nothing of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairmark.store import DiskFull, StoreUnavailable
from fairmark.store.base.contents import PART, NewContent, sweep
from tests.disk import no_room, small_disk
from tests.store.another import another

UPLOAD = """
import signal, sys
from pathlib import Path
from fairmark.store.base.contents import NewContent

content = NewContent(Path(sys.argv[1]))
content.open()
print("open", flush=True)
signal.pause()
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk.path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*"))


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_file_appears_once_it_is_whole_and_is_its_owners_alone(tmp_path: Path) -> None:
    content = NewContent(tmp_path / "files" / "file-1")
    content.open()
    content.write(b"one ")
    assert names(tmp_path / "files") == [f"file-1{PART}"]
    content.write(b"two")
    content.finish()
    assert names(tmp_path / "files") == ["file-1"]
    kept = tmp_path / "files" / "file-1"
    assert kept.read_bytes() == b"one two"
    assert kept.stat().st_mode & 0o777 == 0o600
    content.discard()
    assert names(tmp_path / "files") == []


@pytest.mark.parametrize("size", [4_000, 100_000, 5_000_000], ids=["at its end", "while it comes", "at once"])
def test_a_full_disk_is_told_and_nothing_stays_behind(disk: Path, size: int) -> None:
    before = descriptors()
    with no_room(disk):
        for _ in range(200):
            content = NewContent(disk / "file-1")
            with pytest.raises(DiskFull, match="no space left on device"):  # noqa: PT012
                content.open()
                content.write(b"x" * size)
                content.finish()
            assert names(disk) == ["filler"]
    assert descriptors() == before
    content = NewContent(disk / "file-1")
    content.open()
    content.write(b"x" * size)
    content.finish()
    assert (disk / "file-1").stat().st_size == size


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "files").touch()
    with pytest.raises(StoreUnavailable) as error:
        NewContent(tmp_path / "files" / "file-1").open()
    assert not isinstance(error.value, DiskFull)


def test_only_what_nobody_writes_any_more_is_swept_away(tmp_path: Path) -> None:
    ours = NewContent(tmp_path / "file-1")
    ours.open()
    with another(UPLOAD, str(tmp_path / "file-2")) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        (tmp_path / "file-3").touch()
        sweep(tmp_path)
        assert names(tmp_path) == [f"file-1{PART}", f"file-2{PART}", "file-3"]
    sweep(tmp_path)
    assert names(tmp_path) == [f"file-1{PART}", "file-3"]
    ours.finish()
    assert names(tmp_path) == ["file-1", "file-3"]
