"""Files out of an archive, with their contents. One that was rebuilt from rows says so, as the archive does."""

import asyncio
import re
from pathlib import Path
from typing import Any, Final

from fairmark.moving.archive import part_name
from fairmark.moving.bodies import file_body, with_members
from fairmark.moving.load.loading import Loading, read_list, text_of, whole_of
from fairmark.moving.load.parts import is_better_here
from fairmark.store.base.contents import NewContent, sweep
from fairmark.store.received import Present, ReceivedFile

KIND: Final = "files"
LIST = "files.jsonl"
_PIECE_BYTES = 1_000_000
_PURPOSE = re.compile(r"[A-Za-z0-9_.-]{1,100}")


async def load_files(loading: Loading) -> None:
    await asyncio.to_thread(sweep, loading.store.files.folder)  # what a killed load left would be in our way
    readable = await read_list(loading, KIND, LIST)
    for body, value in sorted(readable, key=lambda pair: whole_of(pair[1].get("created_at"))):
        await _load(loading, body, value)


async def _load(loading: Loading, body: bytes, value: dict[str, Any]) -> None:
    id_ = text_of(value.get("id"))
    if await is_better_here(loading, value):
        loading.report.of(KIND).unchanged += 1
        return
    path = loading.archive.path(part_name("files", id_))
    size = await asyncio.to_thread(lambda: path.stat().st_size if path.is_file() else None)
    if size is None:
        loading.report.problem(KIND, id_, "its content is not in the archive.")
        loading.report.of(KIND).skipped += 1
        return

    async def is_same(target: str, there: Present) -> bool:
        now = await loading.store.files.get(loading.project, target)
        wanted = body if target == id_ else with_members(body, {"id": target})
        return now is not None and file_body(now) == wanted and now.bytes == size

    place = await loading.place(KIND, id_, is_same)
    if place is None:
        return
    loading.count(KIND, place)
    if place.is_same or loading.dry_run:
        return
    await asyncio.to_thread(_copy, path, loading.store.files.content(place.id))
    purpose = text_of(value.get("purpose"))
    await loading.store.received.put_file(
        loading.project,
        ReceivedFile(
            id=place.id,
            filename=text_of(value.get("filename")) or id_,
            purpose=purpose if _PURPOSE.fullmatch(purpose) else "evals",
            bytes=size,
            created_at=whole_of(value.get("created_at")),
            body=body if place.id == id_ else with_members(body, {"id": place.id}),
        ),
        loading.imported(place.there),
    )


def _copy(source: Path, target: Path) -> None:
    """Raises StoreUnavailable, or DiskFull; what was at `target` stays then."""
    content = NewContent(target)
    content.open()
    with source.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            content.write(piece)
    content.finish()
