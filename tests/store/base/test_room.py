"""Whether the disk takes any more, found out without a trace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairmark.store import DiskFull
from fairmark.store.base import room
from tests.disk import no_room, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as small:
        yield small.path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*"))


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_room_is_found_out_without_a_trace(disk: Path) -> None:
    before = descriptors()
    for _ in range(200):
        room.check(disk)
        room.check(disk / "not" / "there" / "yet")
    with no_room(disk):
        for _ in range(200):
            with pytest.raises(DiskFull):
                room.check(disk)
    room.check(disk)
    assert names(disk) == []
    assert descriptors() == before
