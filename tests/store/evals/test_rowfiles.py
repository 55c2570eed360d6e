"""Files of rows that runs have for their own."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from fairmark.store import DiskFull, Store
from fairmark.store.evals.rowfiles import RowFiles
from tests.disk import no_room, small_disk
from tests.store.conftest import new_run


async def given(lines: Sequence[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


def left(files: RowFiles) -> list[str]:
    return sorted(path.name for path in files.folder.glob("*"))


async def test_a_file_holds_its_lines_and_is_none_of_the_uploaded_ones(store: Store) -> None:
    name = await store.row_files.write(given([b"1", b"x" * 2_000_000, b"3"]))
    assert store.row_files.path(name).read_bytes() == b"1\n" + b"x" * 2_000_000 + b"\n3\n"
    assert left(store.row_files) == [name]
    run = await new_run(store, rows_file=name)
    assert (await store.files.list("default")).data == []
    assert await store.files.get("default", name) is None
    found = await store.runs.get("default", run.eval_id, run.id)
    assert found is not None
    assert (found.rows_file, run.rows_file) == (name, name)


async def test_a_file_goes_with_its_run_and_with_its_runs_eval(store: Store) -> None:
    runs = [await new_run(store, rows_file=await store.row_files.write(given([b"{}"]))) for _ in range(2)]
    assert len(left(store.row_files)) == 2
    assert await store.runs.delete("default", runs[0].eval_id, runs[0].id)
    assert left(store.row_files) == [runs[1].rows_file]
    assert await store.evals.delete("default", runs[1].eval_id)
    assert left(store.row_files) == []


async def test_nothing_is_left_where_the_lines_end_with_an_error(store: Store) -> None:
    async def failing() -> AsyncIterator[bytes]:
        yield b"x" * 2_000_000
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        await store.row_files.write(failing())
    assert left(store.row_files) == []


async def test_nothing_is_left_where_its_writer_is_cancelled(store: Store) -> None:
    began = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * 2_000_000
        began.set()
        await asyncio.Event().wait()

    writing = asyncio.create_task(store.row_files.write(endless()))
    await began.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert left(store.row_files) == []


async def test_a_full_disk_is_told_and_nothing_is_left(store: Store, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        files = RowFiles(store._database, disk.path)
        files.folder.mkdir()
        with no_room(disk.path), pytest.raises(DiskFull):
            await files.write(given([b"x" * 3_000_000]))
        assert left(files) == []


async def test_files_that_no_run_names_are_swept_once_they_are_old(store: Store) -> None:
    used, lost, fresh = [await store.row_files.write(given([b"{}"])) for _ in range(3)]
    await new_run(store, rows_file=used)
    (store.row_files.folder / "file-1").write_bytes(b"uploaded")
    for name in (used, lost, "file-1"):
        os.utime(store.row_files.path(name), (1, 1))
    assert await store.row_files.sweep() == 1
    assert left(store.row_files) == sorted([used, fresh, "file-1"])
