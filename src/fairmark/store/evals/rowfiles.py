"""Rows that a run has for its own: copied when it is created, from what may change or go, and deleted with the run.

They lie beside the uploaded files, in `<home>/files/rows-…`, and are none: no list shows them, no id names them.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterable, Callable, Collection
from pathlib import Path

from sqlalchemy import select

from fairmark.store.base.contents import PART, NewContent
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import runs

PREFIX = "rows-"
WRITE_BYTES = 1_000_000
LEFT_AFTER_S = 3_600.0
"""A file that no run names was left by a server that died; a younger one may be on its way to its run."""


class RowFiles:
    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self.folder = home / "files"

    def path(self, name: str) -> Path:
        return self.folder / name

    async def write(self, lines: AsyncIterable[bytes]) -> str:
        """The name of a new file of these lines, which is on disk. Nothing is left of one that fails or is cancelled.

        Raises StoreUnavailable, or DiskFull, where the disk takes no more. Whoever creates no run with it deletes it.
        """
        name = f"{PREFIX}{secrets.token_hex(12)}"
        content = NewContent(self.path(name))
        try:
            await _finished(content.open)
            waiting: list[bytes] = []
            size = 0
            async for line in lines:
                waiting += (line, b"\n")
                size += len(line) + 1
                if size >= WRITE_BYTES:
                    await _finished(content.write, b"".join(waiting))
                    waiting, size = [], 0
            await _finished(content.write, b"".join(waiting))
            await _finished(content.finish)
        except BaseException:
            await _finished(content.discard)
            raise
        return name

    async def delete(self, names: Collection[str]) -> None:
        for name in names:
            await asyncio.to_thread(self.path(name).unlink, missing_ok=True)

    @uninterrupted
    async def sweep(self, left_after_s: float = LEFT_AFTER_S) -> int:
        """Removes what servers that were killed left behind; how many files that were."""
        old = await asyncio.to_thread(_older_than, self.folder, time.time() - left_after_s)
        if not old:
            return 0
        async with self._database.read() as connection:
            used = set(await connection.scalars(select(runs.c.rows_file).where(runs.c.rows_file.is_not(None))))
        left = [name for name in old if name not in used]
        await self.delete(left)
        return len(left)


def _older_than(folder: Path, moment: float) -> list[str]:
    return [
        path.name
        for path in folder.glob(f"{PREFIX}*")
        if not path.name.endswith(PART) and path.stat().st_mtime < moment
    ]


async def _finished(work: Callable[..., None], *args: bytes) -> None:
    """What the disk does, in a thread; whoever is cancelled meanwhile waits for its end."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
