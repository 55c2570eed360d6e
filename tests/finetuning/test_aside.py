"""Work on files in threads: stopped when nobody waits, and shared by projects."""

import asyncio
import threading
from pathlib import Path

import pytest

from fairmark.finetuning.aside import AT_ONCE, SPARE, Aside, Stopped, write_file
from fairmark.store import StoreUnavailable


async def test_whoever_is_cancelled_waits_for_the_end_of_the_work() -> None:
    began, ended = threading.Event(), threading.Event()

    def work(stopped: Stopped) -> None:
        began.set()
        while not stopped():
            pass
        ended.set()

    task = asyncio.create_task(Aside().run("default", work))
    await asyncio.to_thread(began.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_project_that_holds_all_keeps_no_other_waiting() -> None:
    aside, let_go = Aside(), threading.Event()
    held = [asyncio.create_task(aside.run("greedy", lambda _: let_go.wait(30))) for _ in range(AT_ONCE + SPARE + 2)]
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        assert await aside.run("other", lambda _: 5) == 5
    let_go.set()
    assert await asyncio.gather(*held) == [True] * len(held)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "files" / "file-1"
    assert write_file(path, lambda write: write(b"abc")) == 3
    assert path.read_bytes() == b"abc"

    def fail(write: object) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        write_file(path, fail)
    assert [each.name for each in path.parent.iterdir()] == ["file-1"]
    assert path.read_bytes() == b"abc"
    (tmp_path / "no folder").write_bytes(b"")
    with pytest.raises(StoreUnavailable):
        write_file(tmp_path / "no folder" / "file-1", lambda write: write(b"abc"))
